"""`tensorflow.python.layers.utils`: what layers of convolutions compute with their arguments."""

from __future__ import annotations

from typing import Any

_FORMATS = {
    ("channels_last", 3): "NWC",
    ("channels_last", 4): "NHWC",
    ("channels_last", 5): "NDHWC",
    ("channels_first", 3): "NCW",
    ("channels_first", 4): "NCHW",
    ("channels_first", 5): "NCDHW",
}


def convert_data_format(data_format: str, ndim: int) -> str:
    """The ops' name of a layer's data format, such as "NHWC".

    Raises:
        ValueError: no such format or rank.
    """
    if (data_format, ndim) not in _FORMATS:
        raise ValueError(f"Invalid data_format {data_format} of inputs of rank {ndim}")
    return _FORMATS[data_format, ndim]


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """`n` integers from an integer, or from `n` of them.

    Raises:
        ValueError: something else.
    """
    if isinstance(value, int):
        return (value,) * n
    try:
        found = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        found = ()
    if len(found) != n:
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}")
    return found


def normalize_data_format(value: str) -> str:
    """A layer's data format in lower case.

    Raises:
        ValueError: it is neither "channels_first" nor "channels_last".
    """
    return _one_of("data_format", value, ("channels_first", "channels_last"))


def normalize_padding(value: str) -> str:
    """A layer's padding in lower case.

    Raises:
        ValueError: it is neither "valid" nor "same".
    """
    return _one_of("padding", value, ("valid", "same"))


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value.lower() not in allowed:
        raise ValueError(f"The `{name}` argument must be one of {allowed}. Received: {value}")
    return value.lower()


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The length of a convolution's output; None for an unknown input."""
    if input_length is None:
        return None
    reach = filter_size + (filter_size - 1) * (dilation - 1)
    lost = {"same": 0, "valid": reach - 1, "full": 1 - reach}[padding]
    return (input_length - lost + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length of the input of which a convolution makes that output."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length of a transposed convolution's output; None for an unknown input."""
    if input_length is None:
        return None
    more = {"same": 0, "valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2)}[padding]
    return input_length * stride + more
