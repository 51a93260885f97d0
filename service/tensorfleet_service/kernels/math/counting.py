"""Kernels of `tensorfleet.ops.math.counting`, and of vector products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    ints,
    invalid,
    shape_text,
)
from tensorfleet_service.threads import unlocked


@kernel("Bincount", "DenseBincount")
def _bincount(node: KernelNode) -> Kernel:
    xp, target = node.xp, node.output_types[0].np
    binary = node.attrs.get("binary_output", False)
    is_dense = node.op == "DenseBincount"

    def bincount(arr: Any, size: Any, weights: Any) -> Any:
        if size.ndim:
            raise invalid(f"Shape must be rank 0 but is rank {size.ndim}")
        count = int(size)
        if count < 0:
            raise invalid(f"size ({count}) must be non-negative")
        if weights.size and weights.shape != arr.shape:
            if not is_dense:
                raise invalid("Input indices and weights must have the same size.")
            raise invalid(
                "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as "
                f"all weights equal to 1. Received {shape_text(weights.shape)}"
            )
        if is_dense and arr.ndim > 2:
            raise invalid(f"Shape must be at most rank 2 but is rank {arr.ndim}")
        if arr.size and int(arr.min()) < 0:
            raise invalid("Input arr must be non-negative!")
        rows = arr.reshape(-1, arr.shape[-1]) if is_dense and arr.ndim == 2 else arr.reshape(1, -1)
        result = xp.zeros((len(rows), count), target)
        row, column = xp.nonzero(rows < count)
        bins = rows[row, column]
        if binary:
            result[row, bins] = 1
        elif weights.size:
            unlocked.at(xp.add, result, (row, bins), weights.reshape(rows.shape)[row, column])
        elif count:
            places, most = row * count + bins, len(rows) * count
            flat = unlocked.bincount(places, most) if xp is np else xp.bincount(places, minlength=most)
            result = flat.reshape(len(rows), count).astype(target)
        return result if is_dense and arr.ndim == 2 else result[0]

    return bincount


@kernel("UnravelIndex")
def _unravel_index(node: KernelNode) -> Kernel:
    xp = node.xp

    def unravel_index(indices: Any, dims: Any) -> Any:
        if indices.ndim > 1:
            raise invalid(f'The indices can only be scalar or vector, got "{shape_text(indices.shape)}"')
        if dims.ndim != 1:
            raise invalid(f'The indices can only be 1-D, got "{shape_text(dims.shape)}": these are the dims')
        sizes = dims.astype(np.int64)
        if bool((sizes == 0).any()):
            raise invalid(
                f"Input dims cannot contain a dim of zero, but dims contains zero at index "
                f"{int((sizes == 0).argmax())}"
            )
        total = math.prod(ints(sizes))
        if total > np.iinfo(dims.dtype).max:
            listed = " ".join(map(str, ints(sizes)))
            raise invalid(f"Input dims product is causing integer overflow: ({listed})")
        if bool((xp.asarray(indices) >= total).any()) or bool((xp.asarray(indices) < 0).any()):
            raise invalid("index is out of bound as with dims")
        places = []
        rest = xp.asarray(indices)
        for size in reversed(ints(sizes)):
            places.append(rest % size)
            rest = rest // size
        result = xp.stack(places[::-1]) if places else xp.zeros((0, *indices.shape))
        return result.astype(indices.dtype)

    return unravel_index


@kernel("Cross")
def _cross(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0]

    def cross(a: Any, b: Any) -> Any:
        if a.shape != b.shape:
            raise invalid(
                f"Both inputs must be of same shape: {shape_text(a.shape)} vs. {shape_text(b.shape)}"
            )
        if a.ndim < 1:
            raise invalid(f"Input must be at least 1D{shape_text(a.shape)}")
        if a.shape[-1] != 3:
            raise errors.FailedPreconditionError(
                None, None, "Cross-products are only defined for 3-element vectors."
            )
        if dtype in SMALL_FLOATS:
            a, b = a.astype(np.float32), b.astype(np.float32)
        u, v = (xp.stack([x[..., 1], x[..., 2], x[..., 0]], -1) for x in (a, b))
        r, s = (xp.stack([x[..., 2], x[..., 0], x[..., 1]], -1) for x in (a, b))
        return (u * s - r * v).astype(dtype.np, copy=False)

    return cross
