"""What a served model gives: `tf.estimator.export.PredictOutput` and its kin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.state.variables import Variable
from tensorfleet.proto.meta_graph_pb2 import SignatureDef
from tensorfleet.saved_model.signatures import (
    build_signature_def,
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)
from tensorfleet.saved_model.tensor_infos import build_tensor_info

_SEPARATOR = "/"
_EVAL_METHOD_NAME = "tensorflow/supervised/eval"
_TRAIN_METHOD_NAME = "tensorflow/supervised/training"


class ExportOutput(ABC):
    """What a model gives to those who call a served signature (`tf.estimator.export.ExportOutput`)."""

    @abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        """The signature from the tensors that are fed to this output."""


class ClassificationOutput(ExportOutput):
    """Classes and their scores (`tf.estimator.export.ClassificationOutput`).

    Args:
        scores: float [batch, classes].
        classes: string [batch, classes].

    Raises:
        ValueError: both are missing, or one has another dtype.
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype.base is dtypes.string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores = scores
        self._classes = classes

    @property
    def scores(self) -> Any:
        """The scores, or None."""
        return self._scores

    @property
    def classes(self) -> Any:
        """The classes, or None."""
        return self._classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        examples = _only_examples("Classification", receiver_tensors)
        return classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """Values (`tf.estimator.export.RegressionOutput`).

    Args:
        value: float [batch] or [batch, 1].

    Raises:
        ValueError: it has another dtype.
    """

    def __init__(self, value: Any) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Any:
        """The values."""
        return self._value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        return regression_signature_def(_only_examples("Regression", receiver_tensors), self.value)


class PredictOutput(ExportOutput):
    """Any tensors by their names (`tf.estimator.export.PredictOutput`).

    Args:
        outputs: tensors by names, or one tensor.

    Raises:
        ValueError: a name is no string, or a value no tensor.
    """

    def __init__(self, outputs: Any) -> None:
        self._outputs = _named(outputs, "output", "Prediction")

    @property
    def outputs(self) -> dict[str, Any]:
        """The tensors by name."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        return predict_signature_def(receiver_tensors, self.outputs)


class _SupervisedOutput(ExportOutput):
    """Loss, predictions and metrics of a graph that trains or evaluates."""

    _METHOD: ClassVar[str]

    def __init__(self, loss: Any = None, predictions: Any = None, metrics: Any = None) -> None:
        self._loss = {} if loss is None else _named(loss, "loss", "Loss")
        self._predictions = {} if predictions is None else _named(predictions, "predictions", "Predictions")
        self._metrics: dict[str, Any] = {}
        for key, (value, update) in (metrics or {}).items():
            self._metrics[_joined("metrics", key, "value")] = value
            if isinstance(update, Operation):
                # A signature names tensors only.
                with update.graph.as_default(), update.graph.control_dependencies([update]):
                    update = constant([], name="metric_op_wrapper")
            self._metrics[_joined("metrics", key, "update_op")] = update

    @property
    def loss(self) -> dict[str, Any]:
        """The loss by its name."""
        return self._loss

    @property
    def predictions(self) -> dict[str, Any]:
        """The predictions by name."""
        return self._predictions

    @property
    def metrics(self) -> dict[str, Any]:
        """Values and updates of metrics by name."""
        return self._metrics

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        outputs = {
            **{_prefixed("loss", key): tensor for key, tensor in self.loss.items()},
            **{_prefixed("predictions", key): tensor for key, tensor in self.predictions.items()},
            **self.metrics,
        }
        return build_signature_def(
            {key: build_tensor_info(tensor) for key, tensor in receiver_tensors.items()},
            {key: build_tensor_info(tensor) for key, tensor in outputs.items()},
            self._METHOD,
        )


class EvalOutput(_SupervisedOutput):
    """The outputs of a graph that evaluates (`tf.estimator.export.EvalOutput`).

    Args:
        loss: a tensor, or a dict of one.
        predictions: tensors by name.
        metrics: (value, update) by name.
    """

    _METHOD = _EVAL_METHOD_NAME


class TrainOutput(_SupervisedOutput):
    """The outputs of a graph that trains; its arguments are those of `EvalOutput`."""

    _METHOD = _TRAIN_METHOD_NAME


def _only_examples(kind: str, receiver_tensors: Mapping[str, Any]) -> Tensor:
    if len(receiver_tensors) == 1:
        (examples,) = receiver_tensors.values()
        if isinstance(examples, Tensor) and examples.dtype.base is dtypes.string:
            return examples
    raise ValueError(
        f"{kind} input must be a single string Tensor; got {dict(receiver_tensors)}. Export with "
        "build_parsing_serving_input_receiver_fn, or give the model a PredictOutput."
    )


def _named(tensors: Any, single: str, kind: str) -> dict[str, Any]:
    """Tensors by name; a tuple key becomes one string."""
    if not isinstance(tensors, Mapping):
        tensors = {single: tensors}
    found = {}
    for key, value in tensors.items():
        name = _SEPARATOR.join(key) if isinstance(key, tuple) else key
        if not isinstance(name, str):
            raise ValueError(f"{kind} output key must be a string; got {key}.")
        if not isinstance(value, (Tensor, SparseTensor, Variable)):
            raise ValueError(f"{kind} output value must be a Tensor; got {value}.")
        found[name] = value
    return found


def _joined(*parts: str) -> str:
    return _SEPARATOR.join(parts[1:]) if parts[0] == parts[1] else _SEPARATOR.join(parts)


def _prefixed(prefix: str, key: str) -> str:
    return key if key == prefix or key.startswith(prefix + _SEPARATOR) else prefix + _SEPARATOR + key
