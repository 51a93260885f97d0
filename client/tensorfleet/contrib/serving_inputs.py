"""What a model of `tf.contrib.learn` is served with: `tf.contrib.learn.utils.input_fn_utils`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tensorfleet.estimator.receivers import (
    ServingInputReceiver,
    build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn,
)


class InputFnOps(NamedTuple):
    """The tensors of an input function, and those that a request feeds.

    Attributes:
        features: tensors by name, or one tensor.
        labels: the same; None where a model is served.
        default_inputs: what a request feeds, by name.
    """

    features: Any
    labels: Any
    default_inputs: dict[str, Any]


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function for requests of serialized Examples, which are fed as "examples".

    Args:
        feature_spec: as for `tf.parse_example`.
        default_batch_size: the number of Examples in a request; None: any.
    """
    return _without_labels(build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size))


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function for requests of the features themselves.

    Args:
        features: tensors by name, of which only dtypes and shapes are used.
        default_batch_size: the first dimension of all of them; None: any.
    """
    return _without_labels(build_raw_serving_input_receiver_fn(features, default_batch_size))


def _without_labels(receiver_fn: Callable[[], ServingInputReceiver]) -> Callable[[], InputFnOps]:
    def input_fn() -> InputFnOps:
        receiver = receiver_fn()
        return InputFnOps(receiver.features, None, receiver.receiver_tensors)

    return input_fn


def receiver_of(input_fn: Callable[[], Any], single: str) -> Callable[[], ServingInputReceiver]:
    """The function of `tf.estimator` that does what one of `tf.contrib.learn` does.

    Args:
        input_fn: to InputFnOps, or to a ServingInputReceiver.
        single: the name of features that are one tensor.
    """

    def receiver_fn() -> ServingInputReceiver:
        made = input_fn()
        if not isinstance(made, InputFnOps):
            return made  # type: ignore[no-any-return]  # checked by the export
        features = made.features if isinstance(made.features, Mapping) else {single: made.features}
        return ServingInputReceiver(features, made.default_inputs)

    return receiver_fn
