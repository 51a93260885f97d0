"""Arguments of layers, given by name or as functions: activations, initializers, sizes of windows."""

from __future__ import annotations

from collections.abc import Callable
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
    """The activation: a function as it is, one by its name, None for "linear" and None.

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
    """The initializer: one by its name under `tf.initializers`, else as it is.

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
    """`rank` positive numbers, from as many or from one for all.

    Raises:
        ValueError: another number of them, or numbers that are not positive.
    """
    numbers = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(numbers) != rank or not all(isinstance(n, int) for n in numbers):
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
    """Whether "channels_first" was given, and not "channels_last".

    Raises:
        ValueError: something else was given.
    """
    value = str(data_format).lower()
    if value not in ("channels_first", "channels_last"):
        raise ValueError(
            "The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: "
            f"{data_format}"
        )
    return value == "channels_first"
