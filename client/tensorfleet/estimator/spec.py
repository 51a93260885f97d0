"""`tf.estimator.EstimatorSpec`: what a `model_fn` returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tensorfleet.core import nest
from tensorfleet.estimator.export_outputs import ExportOutput, PredictOutput
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.state.variables import Variable
from tensorfleet.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_run_hook import SessionRunHook


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    export_outputs: dict[str, ExportOutput] | None
    training_chief_hooks: tuple[SessionRunHook, ...]
    training_hooks: tuple[SessionRunHook, ...]
    scaffold: Scaffold
    evaluation_hooks: tuple[SessionRunHook, ...]
    prediction_hooks: tuple[SessionRunHook, ...]


class EstimatorSpec(_Fields):
    """The operations and objects of a model in one mode (`tf.estimator.EstimatorSpec`).

    Args:
        mode: of `tf.estimator.ModeKeys`.
        predictions: tensors by name, or one tensor; needed to predict.
        loss: of one element; needed to train and to evaluate.
        train_op: an operation or tensor; needed to train.
        eval_metric_ops: (value, update) of each metric by its name.
        export_outputs: ExportOutputs by the names of their signatures; by default the predictions.
        training_chief_hooks: hooks of the chief only.
        training_hooks: hooks of all that train.
        scaffold: initialization, saver and summaries.
        evaluation_hooks: hooks of the evaluation.
        prediction_hooks: hooks of the prediction.

    Raises:
        ValueError: something is missing, is of another graph, or the loss has several elements.
        TypeError: something is of another type.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        export_outputs: Mapping[str, ExportOutput] | None = None,
        training_chief_hooks: Iterable[SessionRunHook] | None = None,
        training_hooks: Iterable[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        evaluation_hooks: Iterable[SessionRunHook] | None = None,
        prediction_hooks: Iterable[SessionRunHook] | None = None,
    ) -> EstimatorSpec:
        train_op = _train_op(train_op, mode)
        loss = _loss(loss, mode)
        predictions = _predictions(predictions, mode)
        scaffold = Scaffold() if scaffold is None else scaffold
        if not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            _metrics(eval_metric_ops),
            _export_outputs(export_outputs, predictions, mode),
            _hooks(training_chief_hooks),
            _hooks(training_hooks),
            scaffold,
            _hooks(evaluation_hooks),
            _hooks(prediction_hooks),
        )


def _train_op(train_op: Any, mode: str) -> Any:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError(
                "Missing train_op: in mode TRAIN a model_fn returns "
                "EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, global_step=…))."
            )
        return None
    return _of_this_graph(train_op, "train_op", (Tensor, Operation, Variable))


def _loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError(f"Missing loss: a model_fn returns one in mode {mode!r}.")
        return None
    _of_this_graph(loss, "loss", (Tensor, Variable))
    shape = loss.get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return loss if shape.ndims == 0 else reshape(loss, [])


def _predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions: a model_fn returns them in mode PREDICT.")
        return {}
    if not isinstance(predictions, Mapping):
        return _of_this_graph(predictions, "predictions", (Tensor, Variable, SparseTensor))
    for name, value in predictions.items():
        _of_this_graph(value, f"predictions[{name!r}]", (Tensor, Variable, SparseTensor))
    return predictions


def _metrics(metrics: Mapping[str, Any] | None) -> dict[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, pair in metrics.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                f"{pair} for key: {key}"
            )
        for part in nest.flatten(pair):
            _of_this_graph(part, f"eval_metric_ops[{key!r}]", (Tensor, Operation, Variable))
    return dict(metrics)


def _export_outputs(
    outputs: Mapping[str, ExportOutput] | None, predictions: Any, mode: str
) -> dict[str, ExportOutput] | None:
    if mode != ModeKeys.PREDICT:
        return None if outputs is None else dict(outputs)
    if outputs is None:
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}
    if not isinstance(outputs, Mapping):
        raise TypeError(f"export_outputs must be dict, given: {outputs}")
    for value in outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(
                "Values in export_outputs must be ExportOutput objects, such as "
                f"tf.estimator.export.PredictOutput. Given: {value}"
            )
    found = dict(outputs)
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY not in found:
        if len(found) != 1:
            raise ValueError(
                "Multiple export_outputs were provided, but none of them is specified as the default.  Do "
                "this by naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
            )
        found[DEFAULT_SERVING_SIGNATURE_DEF_KEY] = next(iter(found.values()))
    return found


def _hooks(hooks: Iterable[SessionRunHook] | None) -> tuple[SessionRunHook, ...]:
    found = tuple(hooks or ())
    for hook in found:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return found


def _of_this_graph(value: Any, what: str, types: tuple[type, ...]) -> Any:
    if not isinstance(value, types):
        names = " or ".join(kind.__name__ for kind in types if kind is not Variable)
        raise TypeError(f"{what} must be {names}, given: {value}")
    found: Any = value
    if found.graph is not get_default_graph():
        raise ValueError(
            f"{what} must be from the default graph. It is of another one: {value}. Everything that a "
            "model_fn returns has to be made in it."
        )
    return value
