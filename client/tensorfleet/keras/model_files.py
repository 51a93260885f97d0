"""Models from files, from configurations, and copies of them."""

from __future__ import annotations

import json
import os
from typing import Any

from tensorfleet.keras import backend as K, nest
from tensorfleet.keras.engine import hdf5
from tensorfleet.keras.engine.input_layer import Input, InputLayer
from tensorfleet.keras.engine.model_writing import CONFIG, TRAINING, WEIGHTS
from tensorfleet.keras.engine.sequential import Sequential
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.layer_registry import deserialize
from tensorfleet.keras.optimizer_kinds.names import deserialize as deserialize_optimizer
from tensorfleet.keras.serialization import custom_object_scope


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
        with open(os.path.join(filepath, CONFIG)) as file:
            config = json.load(file)
        if os.path.exists(os.path.join(filepath, TRAINING)):
            with open(os.path.join(filepath, TRAINING)) as file:
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
            model.load_weights(os.path.join(filepath, WEIGHTS))
            return model
        model.load_weights(filepath)
        values = hdf5.read_optimizer(filepath) if compile and training is not None else None
        if values:
            with model._session_graph().as_default():
                K.get_session()
                model.optimizer.set_weights(values)
    return model
