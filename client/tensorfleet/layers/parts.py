"""Conversion of layers' arguments: activations and initializers by name, sizes of windows, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Any

from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state import initializers

ZEROS, ONES = initializers.zeros_initializer(), initializers.ones_initializer()

_ACTIVATIONS = {
    "elu": "Elu",
    "exponential": "Exp",
    "relu": "Relu",
    "selu": "Selu",
    "sigmoid": "Sigmoid",
    "softmax": "Softmax",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
}


def activation_of(given: Any) -> Callable[[Any], Any] | None:
    """The activation function for a function or its name; None for "linear" and None.

    Raises:
        ValueError: there is no activation of that name.
    """
    if given is None or callable(given):
        function: Callable[[Any], Any] | None = given
        return function
    if given == "linear":
        return None
    if given not in _ACTIVATIONS:
        raise ValueError(
            f"Unknown activation function: '{given}'. Known: {sorted(_ACTIVATIONS)}, or a function."
        )
    op_type = _ACTIVATIONS[given]
    return lambda x: apply_one(op_type, x)


def initializer_of(given: Any) -> Any:
    """The initializer for its name in `tf.initializers`; other values are returned as they are.

    Raises:
        ValueError: there is no initializer of that name.
    """
    if not isinstance(given, str):
        return given
    known = initializers.BY_NAME
    if given not in known:
        raise ValueError(f"Unknown initializer: '{given}'. Known: {sorted(known)}, or an initializer.")
    return known[given]()


def sizes_of(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """`rank` positive numbers, from a tuple or from one number for all.

    Raises:
        ValueError: a wrong number of values, or values that are not positive.
    """
    try:
        # Integers of NumPy count, and Dimensions of static shapes.
        numbers = tuple(map(index, value)) if isinstance(value, Iterable) else (index(value),) * rank
    except TypeError:
        numbers = ()
    if len(numbers) != rank:
        raise ValueError(f"The `{name}` argument must be a tuple of {rank} integers. Received: {value}")
    if min(numbers) <= 0:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {rank} integers, all greater than 0. Received: {value}"
        )
    return numbers


def padding_of(value: Any) -> str:
    """ "valid" or "same".

    Raises:
        ValueError: another padding.
    """
    padding = str(value).lower()
    if padding not in ("valid", "same"):
        raise ValueError(
            f"The `padding` argument must be a list/tuple or one of 'valid' or 'same'. Received: {value}"
        )
    return padding


def channels_first(data_format: Any) -> bool:
    """Whether the data format is "channels_first", not "channels_last".

    Raises:
        ValueError: another data format.
    """
    value = str(data_format).lower()
    if value not in ("channels_first", "channels_last"):
        raise ValueError(
            "The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: "
            f"{data_format}"
        )
    return value == "channels_first"
