"""Fourier transforms: `tf.signal.fft`, `tf.signal.rfft`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.shaping import rank as rank_of, shape as shape_of
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.shape_rules import with_rank, with_rank_at_least


def _rank(op_type: str) -> int:
    return int(op_type[-2]) if op_type.endswith("D") else 1


def _complex_shape(node: RuleNode) -> list[Dims]:
    return [with_rank_at_least(node.inputs[0].dims, _rank(node.type))]


def _real_shape(node: RuleNode) -> list[Dims]:
    rank = _rank(node.type)
    dims = with_rank_at_least(node.inputs[0].dims, rank)
    (count,) = with_rank(node.inputs[1].dims, 1)
    if count not in (None, rank):
        raise ValueError(f"Dimension must be {rank} but is {count}")
    if dims is None:
        return [None]
    lengths = static_value(node.inputs[1])
    inner: list[int | None] = [None] * rank if lengths is None else [int(n) for n in lengths]
    if not node.type.startswith("I") and inner[-1]:
        inner[-1] = inner[-1] // 2 + 1
    return [(*dims[: len(dims) - rank], *inner)]


def _axes_shape(node: RuleNode) -> list[Dims]:
    """The shape of a transform over chosen axes, the last of which is halved for real numbers."""
    dims = node.inputs[0].dims
    (count,), (lengths,) = (with_rank(tensor.dims, 1) for tensor in node.inputs[2:0:-1])
    if count is not None and lengths is not None and count != lengths:
        raise ValueError(f"fft_length and axes must have the same length, got {lengths} and {count}")
    if dims is None:
        return [None]
    axes, sizes = static_value(node.inputs[2]), static_value(node.inputs[1])
    if axes is None:
        return [(None,) * len(dims)]
    result = list(dims)
    for i, axis in enumerate(int(each) for each in axes):
        if not -len(dims) <= axis < len(dims):
            raise ValueError(f"axes[{i}] = {axis} is out of range for an input of rank {len(dims)}")
        size = None if sizes is None else int(sizes[i])
        if node.type == "RFFTND" and i == len(axes) - 1 and size:
            size = size // 2 + 1
        result[axis] = size
    return [tuple(result)]


for _suffix in ("", "2D", "3D"):
    for _name in (f"FFT{_suffix}", f"IFFT{_suffix}"):
        op(
            f"{_name}(input: Tcomplex) -> (output: Tcomplex)",
            "Tcomplex: {complex64, complex128} = complex64",
            shape=_complex_shape,
        )
    for _signature in (
        f"RFFT{_suffix}(input: Treal, fft_length: int32) -> (output: Tcomplex)",
        f"IRFFT{_suffix}(input: Tcomplex, fft_length: int32) -> (output: Treal)",
    ):
        op(
            _signature,
            "Treal: {float32, float64} = float32",
            "Tcomplex: {complex64, complex128} = complex64",
            shape=_real_shape,
        )

op(
    "FFTND(input: Tcomplex, fft_length: int32, axes: int32) -> (output: Tcomplex)",
    "Tcomplex: {complex64, complex128} = complex64",
    shape=_axes_shape,
)
op(
    "IFFTND(input: Tcomplex, fft_length: int32, axes: int32) -> (output: Tcomplex)",
    "Tcomplex: {complex64, complex128} = complex64",
    shape=_axes_shape,
)
for _signature in (
    "RFFTND(input: Treal, fft_length: int32, axes: int32) -> (output: Tcomplex)",
    "IRFFTND(input: Tcomplex, fft_length: int32, axes: int32) -> (output: Treal)",
):
    op(
        _signature,
        "Treal: {float32, float64} = float32",
        "Tcomplex: {complex64, complex128} = complex64",
        shape=_axes_shape,
    )


def fft(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of the last dimension (`tf.signal.fft`). complex64, complex128."""
    return apply_one("FFT", input, name=name)


def ifft(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft`, divided by the size (`tf.signal.ifft`)."""
    return apply_one("IFFT", input, name=name)


def fft2d(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of the last two dimensions (`tf.signal.fft2d`)."""
    return apply_one("FFT2D", input, name=name)


def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft2d` (`tf.signal.ifft2d`)."""
    return apply_one("IFFT2D", input, name=name)


def fft3d(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of the last three dimensions (`tf.signal.fft3d`)."""
    return apply_one("FFT3D", input, name=name)


def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft3d` (`tf.signal.ifft3d`)."""
    return apply_one("IFFT3D", input, name=name)


def _real(
    op_type: str, scope: str, rank: int, input_tensor: Any, fft_length: Any, name: str | None
) -> Tensor:
    """A transform between real and complex numbers; the input is padded with zeros to the wanted length."""
    is_inverse = op_type.startswith("I")
    with framework.name_scope(name, scope, [input_tensor, fft_length]) as made:
        preferred = dtypes.complex64 if is_inverse else dtypes.float32
        x = convert_to_tensor(input_tensor, preferred_dtype=preferred)
        kind = x.dtype.base
        if is_inverse:
            output = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}.get(kind)
            attrs = {"Treal": output}
        else:
            output = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}.get(kind)
            attrs = {"Tcomplex": output}
        if output is None:
            raise ValueError(f"{scope} does not take the dtype {kind.name}.")
        if x.dims is not None:
            with_rank_at_least(x.dims, rank)
        if fft_length is None:
            length = _own_length(x, rank, is_inverse)
        else:
            length = convert_to_tensor(fft_length, dtypes.int32)
        x = _padded(x, length, rank, is_inverse)
        if not is_inverse or static_value(length) is not None or fft_length is not None:
            length = convert_to_tensor(length, dtypes.int32, "fft_length")
        return apply_one(op_type, x, length, name=made, **attrs)


def _own_length(x: Tensor, rank: int, is_inverse: bool) -> Any:
    """The default length of the transform, from the input's shape."""
    dims = None if x.dims is None else x.dims[len(x.dims) - rank :]
    if dims is not None and None not in dims:
        sizes = [int(size or 0) for size in dims]
        if is_inverse and sizes:
            sizes[-1] = max(0, 2 * (sizes[-1] - 1))
        return constant(sizes, dtypes.int32)
    length = shape_of(x)[-rank:]
    if is_inverse:
        last = maximum(0, 2 * (length[-1:] - 1))
        length = last if rank == 1 else concat([length[:-1], last], 0)
    return length


def _padded(x: Tensor, length: Any, rank: int, is_inverse: bool) -> Tensor:
    known = (
        static_value(convert_to_tensor(length, dtypes.int32))
        if not isinstance(length, Tensor)
        else (static_value(length))
    )
    if known is not None and x.dims is not None and None not in x.dims[len(x.dims) - rank :]:
        wanted = [int(size) for size in known]
        if is_inverse and wanted[-1] > 0:
            wanted[-1] = wanted[-1] // 2 + 1
        missing = [
            max(0, want - int(size or 0))
            for want, size in zip(wanted, x.dims[len(x.dims) - rank :], strict=True)
        ]
        if not any(missing):
            return x
        return pad(x, [[0, 0]] * (len(x.dims) - rank) + [[0, count] for count in missing])
    inner = shape_of(x)[-rank:]
    wanted_size = length
    if is_inverse:
        last = length[-1:] // 2 + 1
        wanted_size = last if rank == 1 else concat([length[:-1], last], 0)
    outer = zeros([maximum(0, rank_of(x) - rank)], dtypes.int32)
    after = concat([outer, maximum(0, wanted_size - inner)], 0)
    return pad(x, stack([zeros_like(after), after], axis=1))


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers: the fft_length // 2 + 1 frequencies that are not redundant
    (`tf.signal.rfft`).

    Args:
        input_tensor: float32 or float64, [..., n].
        fft_length: [1]; n by default. The input is cut, or padded with zeros, to this length.
    """
    return _real("RFFT", "rfft", 1, input_tensor, fft_length, name)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft` (`tf.signal.irfft`); fft_length is 2 (n - 1) by default."""
    return _real("IRFFT", "irfft", 1, input_tensor, fft_length, name)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` over the last two dimensions (`tf.signal.rfft2d`)."""
    return _real("RFFT2D", "rfft2d", 2, input_tensor, fft_length, name)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d` (`tf.signal.irfft2d`)."""
    return _real("IRFFT2D", "irfft2d", 2, input_tensor, fft_length, name)


def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` over the last three dimensions (`tf.signal.rfft3d`)."""
    return _real("RFFT3D", "rfft3d", 3, input_tensor, fft_length, name)


def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d` (`tf.signal.irfft3d`)."""
    return _real("IRFFT3D", "irfft3d", 3, input_tensor, fft_length, name)


def _over_axes(op_type: str, x: Any, fft_length: Any, axes: Any, name: str | None, **attrs: Any) -> Tensor:
    return apply_one(
        op_type,
        x,
        convert_to_tensor(fft_length, dtypes.int32, "fft_length"),
        convert_to_tensor(axes, dtypes.int32, "axes"),
        name=name,
        **attrs,
    )


def fftnd(input: Any, fft_length: Any, axes: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform over chosen axes (`tf.fftnd`).

    Args:
        input: complex64 or complex128.
        fft_length: for each of the axes its length; the input is cut, or padded with zeros, to it.
        axes: the axes, distinct; negative ones count from the last.
    """
    return _over_axes("FFTND", input, fft_length, axes, name)


def ifftnd(input: Any, fft_length: Any, axes: Any, name: str | None = None) -> Tensor:
    """The inverse of `fftnd`, divided by the size (`tf.ifftnd`)."""
    return _over_axes("IFFTND", input, fft_length, axes, name)


def rfftnd(
    input: Any, fft_length: Any, axes: Any, Tcomplex: Any = dtypes.complex64, name: str | None = None
) -> Tensor:
    """`fftnd` of real numbers: of the last of the axes, only the frequencies that are not redundant
    (`tf.rfftnd`)."""
    return _over_axes("RFFTND", input, fft_length, axes, name, Tcomplex=Tcomplex)


def irfftnd(
    input: Any, fft_length: Any, axes: Any, Treal: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """The inverse of `rfftnd` (`tf.irfftnd`); fft_length is that of the result."""
    return _over_axes("IRFFTND", input, fft_length, axes, name, Treal=Treal)
