"""Models in files, from configurations, and copies of them."""

from __future__ import annotations

import json
import os
from typing import Any

from tensorfleet.core import errors
from tensorfleet.keras import backend as K, nest
from tensorfleet.keras.engine import hdf5
from tensorfleet.keras.engine.input_layer import Input, InputLayer
from tensorfleet.keras.engine.sequential import Sequential
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.layer_registry import deserialize
from tensorfleet.keras.loss_classes import Loss, serialize as serialize_loss
from tensorfleet.keras.optimizer_kinds.base import Optimizer
from tensorfleet.keras.optimizer_kinds.names import deserialize as deserialize_optimizer
from tensorfleet.keras.serialization import custom_object_scope, plain

_CONFIG, _TRAINING, _WEIGHTS = "model.json", "training.json", "weights"


def model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """The model of a configuration, with new weights."""
    return deserialize(config, custom_objects=custom_objects)


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """The model of a configuration in JSON, with new weights."""
    return model_from_config(json.loads(json_string), custom_objects)


def clone_model(model: Any, input_tensors: Any = None, clone_function: Any = None) -> Any:
    """A model of new layers with the configurations of those of a model, and new weights.

    Args:
        input_tensors: tensors in place of new inputs.
        clone_function: from a layer to the new one, by default by its configuration.
    """
    if not isinstance(model, Model) or not (model.is_graph_network or isinstance(model, Sequential)):
        raise ValueError("Expected `model` argument to be a Sequential or functional model.")

    def copy(layer: Any) -> Any:
        if clone_function is not None and not isinstance(layer, InputLayer):
            return clone_function(layer)
        return clone_model(layer) if isinstance(layer, Model) else type(layer).from_config(layer.get_config())

    if isinstance(model, Sequential):
        result = Sequential(name=model.name)
        if input_tensors is not None:
            [given] = nest.to_list(input_tensors)
            result.add(Input(tensor=given)._keras_history.layer)
        elif model.inputs is not None:
            first = model.inputs[0]
            shape = tuple(first.shape.as_list())
            result.add(Input(batch_shape=shape, dtype=first.dtype.base.name)._keras_history.layer)
        for layer in model.layers:
            result.add(copy(layer))
        return result
    graph = model._graph_of_layers
    inputs = [
        Input(batch_shape=tuple(t.shape.as_list()), dtype=t.dtype.base.name, name=name)
        for t, name in zip(model.inputs, model.input_names, strict=True)
    ]
    if input_tensors is not None:
        inputs = [t if hasattr(t, "_keras_history") else Input(tensor=t) for t in nest.to_list(input_tensors)]
    made = {id(layer): copy(layer) for layer in graph.layers if not isinstance(layer, InputLayer)}
    outputs = graph.run(
        model.inputs,
        inputs,
        model.outputs,
        lambda node, given, kw: made[id(node.outbound_layer)](given, **kw),
    )
    return Model(nest.unpack_single(inputs), nest.unpack_single(outputs), name=model.name)


def _training_config(model: Any) -> dict[str, Any] | None:
    """How a model is trained, None if its optimizer has no configuration."""
    if not isinstance(model.optimizer, Optimizer) or model._arguments is None:
        return None
    given = model._arguments

    def name(loss: Any) -> Any:
        return serialize_loss(loss) if isinstance(loss, Loss) or callable(loss) else loss

    return {
        "optimizer_config": {
            "class_name": type(model.optimizer).__name__,
            "config": model.optimizer.get_config(),
        },
        "loss": nest.map_structure(name, given["loss"]),
        "metrics": nest.map_structure(name, given["metrics"]),
        "weighted_metrics": nest.map_structure(name, given["weighted_metrics"]),
        "sample_weight_mode": given["sample_weight_mode"],
        "loss_weights": given["loss_weights"],
    }


def save_model(
    model: Any,
    filepath: str,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Writes a model: an HDF5 file, or a directory with its configuration and a checkpoint.

    Args:
        include_optimizer: whether the state of the optimizer is written, too.
        save_format: "h5" (by the ending .h5, with h5py) or "tf", the directory.
    """
    filepath = os.fspath(filepath)
    training = _training_config(model) if include_optimizer and model._is_compiled else None
    if save_format == "h5" or (save_format is None and hdf5.is_hdf5_path(filepath)):
        hdf5.save_model(model, filepath, overwrite, include_optimizer, training)
        return
    config = json.dumps(plain(model._updated_config()))
    if not overwrite and os.path.exists(filepath):
        raise errors.AlreadyExistsError(
            None, None, f"There is a model {filepath} already. Give overwrite=True, or another name."
        )
    os.makedirs(filepath, exist_ok=True)
    model.save_weights(os.path.join(filepath, _WEIGHTS), save_format="tf")
    with open(os.path.join(filepath, _CONFIG), "w") as file:
        file.write(config)
    path = os.path.join(filepath, _TRAINING)
    if training is not None:
        with open(path, "w") as file:
            json.dump(plain(training), file)
    elif os.path.exists(path):
        os.remove(path)


def load_model(filepath: str, custom_objects: Any = None, compile: bool = True) -> Any:
    """The model that `save_model` wrote, compiled as it was.

    Args:
        custom_objects: classes and functions of one's own by name.
        compile: whether it shall be compiled.
    """
    filepath = os.fspath(filepath)
    is_directory = os.path.isdir(filepath)
    training: Any = None
    if is_directory:
        with open(os.path.join(filepath, _CONFIG)) as file:
            config = json.load(file)
        if os.path.exists(os.path.join(filepath, _TRAINING)):
            with open(os.path.join(filepath, _TRAINING)) as file:
                training = json.load(file)
    else:
        if not os.path.exists(filepath):
            raise OSError(f"There is no model at {filepath}")
        config, training = hdf5.read_configs(filepath)
    with custom_object_scope(custom_objects or {}):
        model = model_from_config(config, custom_objects)
        if compile and training is not None:
            arguments = dict(training)
            optimizer = deserialize_optimizer(arguments.pop("optimizer_config"), custom_objects)
            model.compile(optimizer, **arguments)
            # The slots, so that their values can be read.
            if model.outputs is not None:
                model._program_of().step("train")
        if is_directory:
            model.load_weights(os.path.join(filepath, _WEIGHTS))
            return model
        model.load_weights(filepath)
        values = hdf5.read_optimizer(filepath) if compile and training is not None else None
        if values:
            with model._session_graph().as_default():
                K.get_session()
                model.optimizer.set_weights(values)
    return model


def _save(
    self: Any,
    filepath: str,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Writes the model: see `tf.keras.models.save_model`."""
    save_model(self, filepath, overwrite, include_optimizer, save_format, signatures)


Model.save = _save  # type: ignore[attr-defined]
