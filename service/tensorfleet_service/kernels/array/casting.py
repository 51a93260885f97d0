"""Cast and Bitcast."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.devices.native import native, takes
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text, type_text

_FLOAT8 = frozenset((dtypes.float8_e5m2, dtypes.float8_e4m3fn))
_INT4 = frozenset((dtypes.int4, dtypes.uint4))
_SMALL = dtypes.FLOAT8_DTYPES | dtypes.SMALL_INTEGER_DTYPES | {dtypes.float4_e2m1fn}


def _converts(source: DType, target: DType) -> bool:
    """Whether TensorFlow has a cast between two types; of types of a byte or less it has few."""
    if source not in _SMALL and target not in _SMALL:
        return True
    if source in _INT4 or target in _INT4:
        return all(dtype in _INT4 or (dtype.is_integer and dtype not in _SMALL) for dtype in (source, target))
    if target in _SMALL:
        return target in _FLOAT8 and (source in _FLOAT8 or (source.is_floating and source not in _SMALL))
    return source in _FLOAT8


@kernel("Cast", "_HostCast")
def cast(node: KernelNode) -> Kernel | Expression:
    source, target = node.attrs["SrcT"], node.attrs["DstT"]
    if source is target:
        return Expression("{0}")
    if source.np is None or target.np is None or dtypes.string in (source, target):
        raise errors.UnimplementedError(
            None, None, f"Cast {type_text(source)} to {type_text(target)} is not supported"
        )
    if not _converts(source, target):
        raise errors.UnimplementedError(
            None, None, f"Cast {type_text(source)} to {type_text(target)} is not supported"
        )
    cut = _cut_bits(source, target) if node.attrs["Truncate"] else 0
    if cut:
        return lambda x: _truncated(node.xp, x, cut).astype(target.np)
    if source is dtypes.float32 and target is dtypes.float16 and node.xp is np:
        return Expression("halves({0})", {"halves": _halves})
    read, made = "{0}", "dtype"
    if source in _INT4 and target in _INT4:
        read = "{0}.astype(int8)"
    if source.is_quantized:
        read = "asarray({0}).view(stored)"
    if source.is_complex and not target.is_complex:
        read += ".real"
    text = f"{read}.astype(dtype)"
    names: dict[str, Any] = {"dtype": target.np, "asarray": node.xp.asarray, "int8": np.int8}
    if source.is_quantized:
        names["stored"] = source.np[0]
    if target.is_quantized:
        names["dtype"], names[made := "quantized"] = target.np[0], target.np
        text = f"asarray({text}).view({made})"
    return Expression(text, names)


def _cut_bits(source: DType, target: DType) -> int:
    """How many bits of the fraction a cast between floating point types cuts off."""
    if not (source.is_floating and target.is_floating):
        return 0
    finfo: Any = ml_dtypes.finfo
    return max(0, int(finfo(source.np).nmant) - int(finfo(target.np).nmant))


def _truncated(xp: Any, x: Any, bits: int) -> Any:
    """The numbers with the lowest bits of their fractions set to 0: rounded towards 0."""
    words = np.dtype(f"u{x.dtype.itemsize}")
    kept = words.type((1 << 8 * words.itemsize) - (1 << bits))
    return (xp.asarray(x).view(words) & kept).view(x.dtype)


def _halves(x: Any) -> Any:
    """float32 in half precision, by the processor's instruction where there is one."""
    if takes(x):
        out = np.empty(x.shape, np.float16)
        if native.to_half(x, out, x.size, thread_count()):
            return out
    return x.astype(np.float16)


@kernel("Bitcast")
def bitcast(node: KernelNode) -> Kernel:
    xp, source, target = node.xp, node.attrs["T"], node.attrs["type"]
    size, wanted = source.size, target.size

    def same(x: Any) -> Any:
        return x.view(target.np)

    def smaller(x: Any) -> Any:
        return xp.asarray(x, order="C")[..., None].view(target.np)

    def larger(x: Any) -> Any:
        if x.ndim == 0 or x.shape[-1] != wanted // size:
            raise invalid(f"Cannot bitcast from {source.enum} to {target.enum}: shape {shape_text(x.shape)}")
        return xp.asarray(x, order="C").view(target.np)[..., 0]

    return same if size == wanted else smaller if size > wanted else larger
