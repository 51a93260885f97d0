"""The classes and functions of `tf.keras.regularizers`."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import ops
from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object


class Regularizer:
    """The base class of functions from a tensor to a loss (`tf.keras.regularizers.Regularizer`)."""

    def __call__(self, x: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The regularizer of a configuration."""
        return cls(**config)


class L1L2(Regularizer):
    """l1 times the sum of absolute values, plus l2 times that of squares (`tf.keras.regularizers.L1L2`)."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x: Any) -> Any:
        loss = ops.constant(0.0, x.dtype.base)
        if self.l1:
            loss += self.l1 * ops.reduce_sum(ops.abs(x))
        if self.l2:
            loss += self.l2 * ops.reduce_sum(ops.square(x))
        return loss

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"l1": self.l1, "l2": self.l2}


def l1(l: float = 0.01) -> L1L2:  # noqa: E741 - Keras's name
    """A regularizer by the sum of absolute values."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741 - Keras's name
    """A regularizer by the sum of squares."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """A regularizer by both sums."""
    return L1L2(l1=l1, l2=l2)


def serialize(regularizer: Any) -> Any:
    """The class name and configuration of a regularizer."""
    return serialize_keras_object(regularizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The regularizer of a configuration or name."""
    known = {"L1L2": L1L2, "l1": l1, "l2": l2, "l1_l2": l1_l2}
    return deserialize_keras_object(config, known, custom_objects, "regularizer")


def get(identifier: Any) -> Any:
    """The regularizer of a configuration or name; a function is itself, None is None."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        found = deserialize(identifier)
        return found if isinstance(found, Regularizer) else found()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret regularizer identifier: {identifier}")
