"""Fourier transforms over chosen axes: `tf.signal.fftnd`, `tf.signal.rfftnd`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.elementwise import sqrt
from tensorfleet.ops.math.reduction import reduce_prod

_REAL = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
_COMPLEX = {real: kind for kind, real in _REAL.items()}


def _transform(op_type: str, x: Any, lengths: Any, axes: Any, norm: str | None, name: str | None) -> Tensor:
    with framework.name_scope(name, op_type.lower(), [x, lengths, axes]) as scope:
        is_inverse, attrs = op_type.startswith("I"), {}
        preferred = dtypes.float32 if op_type == "RFFTND" else dtypes.complex64
        x = convert_to_tensor(x, preferred_dtype=preferred)
        kind = x.dtype.base
        if "RFFT" in op_type:
            other = (_REAL if is_inverse else _COMPLEX).get(kind)
            if other is None:
                raise ValueError(f"{op_type.lower()} does not take the dtype {kind.name}.")
            attrs = {"Treal" if is_inverse else "Tcomplex": other}
        if norm not in (None, "backward", "ortho", "forward"):
            raise ValueError(f"`norm` must be 'backward', 'ortho' or 'forward'. Received: norm={norm}")
        if axes is None:
            if x.ndim is None:
                raise ValueError("`axes` must be given for an input whose rank is not known.")
            axes = range(x.ndim)
        axes = convert_to_tensor(list(axes) if isinstance(axes, range) else axes, dtypes.int32, "axes")
        lengths = _own(x, axes, op_type) if lengths is None else lengths
        lengths = convert_to_tensor(lengths, dtypes.int32, "fft_length")
        if norm in ("ortho", "forward"):
            count = cast(reduce_prod(lengths), _REAL.get(kind, kind))
            factor = cast(sqrt(count) if norm == "ortho" else count, kind)
            x = x * factor if is_inverse else x / factor
        return apply_one(op_type, x, lengths, axes, name=scope, **attrs)


def _own(x: Tensor, axes: Tensor, op_type: str) -> Tensor:
    """The sizes of the input along the axes; those of its result, if only half of the last is given."""
    dims = None if x.dims is None or None in x.dims else constant(list(x.dims), dtypes.int32)
    ranks = None if x.dims is None else len(x.dims)
    sizes = gather(shape(x) if dims is None else dims, axes if ranks is None else axes % ranks)
    if op_type != "IRFFTND":
        return sizes
    return concat([sizes[:-1], maximum(0, 2 * (sizes[-1:] - 1))], 0)


def fftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete Fourier transform over chosen axes (`tf.signal.fftnd`).

    Args:
        input_tensor: complex64 or complex128.
        fft_length: for each of the axes its length, to which the input is cut, or padded with zeros; by
            default its size.
        axes: the axes; by default all of them.
        norm: which direction is divided: "backward" the inverse (the default), "forward" this one, "ortho"
            both by the square root.

    Example:
        >>> tf.Session().run(tf.signal.fftnd(tf.ones([2, 2], tf.complex64))).real
        array([[4., 0.],
               [0., 0.]], dtype=float32)
    """
    return _transform("FFTND", input_tensor, fft_length, axes, norm, name)


def ifftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `fftnd` (`tf.signal.ifftnd`)."""
    return _transform("IFFTND", input_tensor, fft_length, axes, norm, name)


def rfftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`fftnd` of real numbers: of the last of the axes, only the frequencies that are not redundant
    (`tf.signal.rfftnd`). float32 or float64."""
    return _transform("RFFTND", input_tensor, fft_length, axes, norm, name)


def irfftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `rfftnd` (`tf.signal.irfftnd`); fft_length is that of the result."""
    return _transform("IRFFTND", input_tensor, fft_length, axes, norm, name)
