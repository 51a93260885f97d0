"""`tf.keras.estimator.model_to_estimator`: a compiled model as an estimator."""

from __future__ import annotations

from typing import Any

from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.export_outputs import PredictOutput
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.keras import backend as K, nest, ops
from tensorfleet.keras.backend.state import graph_state
from tensorfleet.keras.engine.program import Program
from tensorfleet.keras.model_files import clone_model, load_model
from tensorfleet.keras.optimizer_kinds.names import TFOptimizer
from tensorfleet.keras.serialization import custom_object_scope
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.step_count import get_or_create_global_step

_SERVING = "serving_default"


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    config: Any = None,
    checkpoint_format: str | None = None,
) -> Estimator:
    """An estimator that trains a copy of a compiled model, in graphs of its own.

    Its training begins with the model's weights; the state of the optimizer begins anew.

    Args:
        keras_model_path: a file of `save_model`, in place of the model.
        config: a RunConfig, for instance of a cluster of parameter servers and workers.
        checkpoint_format: ignored; the estimator's checkpoints are those of tf.train.Saver.

    Raises:
        ValueError: no model or two, or one that is not compiled, or is no graph of layers.
    """
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("Give either keras_model or keras_model_path, not both or neither.")
    if keras_model is None:
        keras_model = load_model(keras_model_path, custom_objects)
    if not keras_model._is_compiled:
        raise ValueError(
            "The given keras model has not been compiled yet. Please compile the model with "
            "`model.compile()` "
            "before calling `model_to_estimator()`."
        )
    if not keras_model.is_graph_network:
        raise ValueError(
            "The model is no graph of layers: give its first layer an input_shape. A class of "
            "one's own cannot become "
            "an estimator."
        )
    with keras_model._session_graph().as_default():
        weights = keras_model.get_weights()

    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        with custom_object_scope(custom_objects or {}):
            return _spec(keras_model, weights, features, labels, mode)

    return Estimator(model_fn=model_fn, model_dir=model_dir, config=config)


def _ordered(given: Any, names: list[str], what: str) -> list[Any]:
    """The tensors of features or labels in the order of the model's inputs or outputs."""
    if isinstance(given, dict):
        missing = [name for name in names if name not in given]
        if missing and len(names) == len(given) == 1:
            return list(given.values())
        if missing:
            raise ValueError(f"The {what} lack {missing}. There are: {sorted(given)}")
        return [given[name] for name in names]
    found = nest.to_list(given)
    if len(found) != len(names):
        raise ValueError(f"The model has {len(names)} {what}, {names}; the input_fn gives {len(found)}.")
    return found


def _spec(original: Any, weights: list[Any], features: Any, labels: Any, mode: str) -> EstimatorSpec:
    graph_state().learning_phase = int(mode == ModeKeys.TRAIN)
    inputs = []
    for tensor, old in zip(
        _ordered(features, original.input_names, "features"), original.inputs, strict=True
    ):
        x = ops.cast(tensor, old.dtype.base)
        if len(x.shape.as_list()) == 1 and len(old.shape.as_list()) == 2:
            x = ops.expand_dims(x, -1)
        inputs.append(x)
    model = clone_model(original, input_tensors=inputs)
    model.output_names = list(original.output_names)
    predictions = dict(zip(model.output_names, model.outputs, strict=True))
    scaffold = _first_weights(model, weights)
    if mode == ModeKeys.PREDICT:
        outputs = PredictOutput(predictions)
        return EstimatorSpec(
            mode, predictions=predictions, export_outputs={_SERVING: outputs}, scaffold=scaffold
        )
    arguments = {**original._arguments, "target_tensors": _targets(model, original, labels)}
    model.optimizer = _optimizer(original.optimizer)
    model._is_compiled, model._arguments = True, arguments
    model._collected = model.trainable_weights
    program = model._program = Program(model, arguments)
    for metric in program.metric_objects:
        for variable in metric.variables:
            for key in (GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES):
                ops.add_to_collection(key, variable)
    if mode == ModeKeys.TRAIN:
        _, fetches = program.step("train")
        return EstimatorSpec(
            mode, predictions=predictions, loss=program.total_loss, train_op=fetches[1], scaffold=scaffold
        )
    return EstimatorSpec(
        mode,
        predictions=predictions,
        loss=program.total_loss,
        eval_metric_ops=program.metric_pairs(),
        scaffold=scaffold,
    )


def _targets(model: Any, original: Any, labels: Any) -> list[Any]:
    """The labels in the order of the outputs, with two dimensions at least, as `fit` has them."""
    ends = [end for end in original._program_of().endpoints if end.target is not None]
    found = dict(
        zip([end.name for end in ends], _ordered(labels, [end.name for end in ends], "labels"), strict=True)
    )
    targets = []
    for end in original._program_of().endpoints:
        label = found.get(end.name)
        if label is not None and len(label.shape.as_list()) == 1:
            label = ops.expand_dims(label, -1)
        targets.append(label)
    return targets


def _optimizer(optimizer: Any) -> Any:
    """An optimizer for this graph that counts by the global step."""
    step = get_or_create_global_step()
    if isinstance(optimizer, TFOptimizer):
        return TFOptimizer(optimizer.optimizer, iterations=step)
    with K.name_scope("optimizer"):
        made = type(optimizer).from_config(optimizer.get_config())
    made.iterations = step
    return made


def _first_weights(model: Any, weights: list[Any]) -> Scaffold:
    """A scaffold that gives new variables the model's weights, where there is no checkpoint yet."""
    variables = model.weights
    feeds, assigned = [], []
    for variable in variables:
        fed = ops.placeholder(variable.dtype.base, shape=variable.shape)
        feeds.append(fed)
        assigned.append(ops.assign(variable, fed).op)

    def begin(scaffold: Any, session: Any) -> None:
        session.run(assigned, feed_dict=dict(zip(feeds, weights, strict=True)))

    return Scaffold(init_fn=begin if variables else None)
