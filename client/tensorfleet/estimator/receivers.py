"""What a served model takes: `tf.estimator.export.ServingInputReceiver` and functions that make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.io.parsing import parse_example

_FEATURE, _LABEL, _RECEIVER = "feature", "label", "input"


class _ServingFields(NamedTuple):
    features: Any
    receiver_tensors: dict[str, Any]
    receiver_tensors_alternatives: dict[str, dict[str, Any]] | None


class ServingInputReceiver(_ServingFields):
    """The features of a served model, and the tensors that a request feeds.

    `tf.estimator.export.ServingInputReceiver`.

    Args:
        features: a tensor or tensors by name, for the `model_fn`; one alone is called "feature".
        receiver_tensors: what is fed: a tensor or tensors by name; one alone is called "input".
        receiver_tensors_alternatives: other sets of tensors that may be fed, by name.

    Raises:
        ValueError: features or receiver tensors are missing, or are no tensors.
        TypeError: the alternatives are no dict.
    """

    __slots__ = ()

    def __new__(
        cls,
        features: Any,
        receiver_tensors: Any,
        receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    ) -> ServingInputReceiver:
        return super().__new__(
            cls,
            _named(features, _FEATURE, "features"),
            _named(receiver_tensors, _RECEIVER, "receiver_tensors"),
            _alternatives(receiver_tensors_alternatives),
        )


class TensorServingInputReceiver(_ServingFields):
    """A ServingInputReceiver of one tensor, which the `model_fn` gets as it is
    (`tf.estimator.export.TensorServingInputReceiver`)."""

    __slots__ = ()

    def __new__(
        cls,
        features: Any,
        receiver_tensors: Any,
        receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    ) -> TensorServingInputReceiver:
        if features is None:
            raise ValueError("features must be defined.")
        if not isinstance(features, (Tensor, SparseTensor)):
            raise ValueError(f"feature must be a Tensor or SparseTensor; got {features}.")
        return super().__new__(
            cls,
            features,
            _named(receiver_tensors, _RECEIVER, "receiver_tensors"),
            _alternatives(receiver_tensors_alternatives),
        )


class SupervisedInputReceiver(NamedTuple):
    """Features, labels, and the tensors that feed both, of a graph that trains or evaluates.

    Attributes:
        features: a tensor or tensors by name.
        labels: the same.
        receiver_tensors: tensors by name.
    """

    features: Any
    labels: Any
    receiver_tensors: dict[str, Any]
    receiver_tensors_alternatives: dict[str, dict[str, Any]] | None = None


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function for requests of serialized Examples
    (`tf.estimator.export.build_parsing_serving_input_receiver_fn`).

    Args:
        feature_spec: as for `tf.io.parse_example`.
        default_batch_size: the number of Examples in a request; None: any.
    """

    def receiver_fn() -> ServingInputReceiver:
        examples = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(examples, dict(feature_spec)), {"examples": examples})

    return receiver_fn


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function for requests of the features themselves
    (`tf.estimator.export.build_raw_serving_input_receiver_fn`).

    Args:
        features: tensors by name, of which only dtypes and shapes are used.
        default_batch_size: the first dimension of all of them; None: any.
    """

    def receiver_fn() -> ServingInputReceiver:
        tensors = _placeholders(features, default_batch_size)
        # The graph may divide features into parts that are fed themselves: so both are of their own.
        return ServingInputReceiver(dict(tensors), tensors)

    return receiver_fn


def build_raw_supervised_input_receiver_fn(
    features: Any, labels: Any, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """The same for features and labels (`tf.estimator.experimental.build_raw_supervised_input_receiver_fn`).

    Raises:
        ValueError: a feature and a label have the same name.
    """
    named_features = features if isinstance(features, Mapping) else {_FEATURE: features}
    named_labels = labels if isinstance(labels, Mapping) else {_LABEL: labels}
    common = sorted(set(named_features) & set(named_labels))
    if common:
        raise ValueError(f"Features and labels must have distinct keys. Found {', '.join(common)} in both.")

    def receiver_fn() -> SupervisedInputReceiver:
        taken = _placeholders(named_features, default_batch_size)
        wanted = _placeholders(named_labels, default_batch_size)
        return SupervisedInputReceiver(
            taken if isinstance(features, Mapping) else taken[_FEATURE],
            wanted if isinstance(labels, Mapping) else wanted[_LABEL],
            {**taken, **wanted},
        )

    return receiver_fn


def _placeholders(features: Mapping[str, Any], batch_size: int | None) -> dict[str, Any]:
    made = {}
    for name, tensor in features.items():
        dims = tensor.dims
        if dims is not None:
            if not dims:
                raise ValueError(f"The feature {name!r} has rank 0: features have a dimension of examples.")
            dims = (batch_size, *dims[1:])
        made[name] = placeholder(tensor.dtype.base, dims, name=tensor.op.name.rpartition("/")[2])
    return made


def _named(tensors: Any, single: str, what: str) -> dict[str, Any]:
    if tensors is None:
        raise ValueError(f"{what} must be defined.")
    if not isinstance(tensors, Mapping):
        tensors = {single: tensors}
    for name, tensor in tensors.items():
        if not isinstance(name, (str, int)):
            raise ValueError(f"{what} keys must be strings or ints: {name}.")
        if not isinstance(tensor, (Tensor, SparseTensor)):
            raise ValueError(f"{what} {name} must be a Tensor or SparseTensor; got {tensor}.")
    return dict(tensors)


def _alternatives(given: Mapping[str, Any] | None) -> dict[str, dict[str, Any]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(f"receiver_tensors_alternatives must be a dict: {given}.")
    return {name: _named(tensors, _RECEIVER, f"receiver tensor {name}") for name, tensors in given.items()}
