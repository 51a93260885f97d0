"""Kernels of `tensorfleet.ops.math.fourier`."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    host_array,
    ints,
    invalid,
)

MAX_ELEMENTS = 1 << 31
"""Limit on the elements of a result, of which fft_length decides."""


def _check(x: Any, rank: int) -> None:
    if x.ndim < rank:
        raise invalid(f"Input must have rank of at least {rank} but got: {list(x.shape)}")


@kernel("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")
def _fft(node: KernelNode) -> Kernel:
    xp, target = node.xp, node.output_types[0].np
    rank = int(node.op[-2]) if node.op.endswith("D") else 1
    transform = xp.fft.ifftn if node.op.startswith("I") else xp.fft.fftn
    axes = tuple(range(-rank, 0))

    def fft(x: Any) -> Any:
        _check(x, rank)
        return transform(x, axes=axes).astype(target, copy=False) if x.size else x

    return fft


@kernel("RFFT", "RFFT2D", "RFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D")
def _real_fft(node: KernelNode) -> Kernel:
    xp, target = node.xp, node.output_types[0].np
    rank = int(node.op[-2]) if node.op.endswith("D") else 1
    is_inverse = node.op.startswith("I")
    transform = xp.fft.irfftn if is_inverse else xp.fft.rfftn
    axes = tuple(range(-rank, 0))

    def real_fft(x: Any, fft_length: Any) -> Any:
        _check(x, rank)
        lengths = host_array(fft_length)
        if lengths.shape != (rank,):
            raise invalid(f"fft_length must have shape [{rank}]")
        sizes = ints(lengths)
        if any(n < 0 for n in sizes):
            raise invalid("fft_length must be >= 0")
        for i, n in enumerate(sizes):
            least = n // 2 + 1 if is_inverse and i == rank - 1 and n > 0 else n
            if 0 < x.shape[i - rank] < least:
                raise invalid(
                    f"Input dimension {x.ndim - rank + i} must have length of at least {least} but got: "
                    f"{x.shape[i - rank]}"
                )
        given = list(sizes)
        if not is_inverse:
            sizes[-1] = sizes[-1] // 2 + 1 if sizes[-1] else 0
        shape = (*x.shape[: x.ndim - rank], *sizes)
        if 0 in shape or not x.size:
            return xp.zeros(shape, target)
        return transform(x, given, axes=axes).astype(target, copy=False)

    return real_fft


@kernel("FFTND", "IFFTND", "RFFTND", "IRFFTND")
def _axes_fft(node: KernelNode) -> Kernel:
    xp, target = node.xp, node.output_types[0].np
    transform = getattr(xp.fft, node.op[:-2].lower() + "n")
    is_real = "RFFT" in node.op

    def axes_fft(x: Any, fft_length: Any, given_axes: Any) -> Any:
        lengths, chosen = host_array(fft_length), host_array(given_axes)
        if lengths.ndim != 1 or lengths.shape != chosen.shape:
            raise invalid("fft_length and axes must be vectors of the same length")
        axes = ints(chosen)
        if any(not -x.ndim <= axis < x.ndim for axis in axes):
            raise invalid(f"axes {axes} must lie in [{-x.ndim}, {x.ndim})")
        axes = [axis % x.ndim for axis in axes]
        if len(set(axes)) != len(axes):
            raise invalid(f"axes must be distinct, got {axes}")
        sizes = ints(lengths)
        if any(n < 0 for n in sizes):
            raise invalid("fft_length must be >= 0")
        if not axes:
            if is_real:
                raise invalid("axes must name one axis at least")
            return x
        shape = list(x.shape)
        for axis, n in zip(axes, sizes, strict=True):
            shape[axis] = n
        if node.op == "RFFTND" and sizes[-1]:
            shape[axes[-1]] = sizes[-1] // 2 + 1
        result_size = math.prod(shape)
        if result_size > MAX_ELEMENTS:
            raise invalid(f"fft_length makes a tensor of {result_size} elements, more than {MAX_ELEMENTS}")
        if not result_size or not x.size:
            return xp.zeros(shape, target)
        return transform(x, sizes, axes=axes).astype(target, copy=False)

    return axes_fft
