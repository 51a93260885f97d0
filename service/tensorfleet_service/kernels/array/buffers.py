"""Kernels of `tensorfleet.ops.array.buffers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes, string_arrays
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    check_vector,
    ints,
    invalid,
    shape_text,
)


@kernel("Empty")
def empty(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0]

    def run(shape: Any) -> Any:
        check_vector(shape, "shape")
        dims = ints(shape)
        if any(size < 0 for size in dims):
            raise invalid(f"Dimension {min(dims)} must be >= 0")
        if dtype is dtypes.string:
            return string_arrays.filled(dims, b"")
        # Zeros even without `init`, as the earlier content of the memory must not leak.
        return xp.zeros(dims, dtype.np)[()]

    return run


_ROWS = 1 << 14
"""Number of indices that are taken at a time."""


@array_kernel("InplaceUpdate", moves=True)
def inplace_update(node: KernelNode) -> Kernel:
    """The result is a new tensor, as others may hold the input."""
    return _inplace("Update")


@array_kernel("InplaceAdd", "InplaceSub")
def inplace_add(node: KernelNode) -> Kernel:
    """As InplaceUpdate."""
    if node.output_types[0] is dtypes.string:
        raise invalid("Unsupported data type: string")
    return _inplace(node.op.removeprefix("Inplace"))


def _inplace(kind: str) -> Kernel:

    def run(x: Any, index: Any, value: Any) -> Any:
        if index.ndim != 1:
            raise invalid(f"i must be a vector. {shape_text(index.shape)}")
        if not x.ndim or x.ndim != value.ndim:
            raise invalid(
                f"x and v shape doesn't match (ranks differ): {shape_text(x.shape)} vs. "
                f"{shape_text(value.shape)}"
            )
        if x.shape[1:] != value.shape[1:]:
            at = next(i for i, (a, b) in enumerate(zip(x.shape, value.shape, strict=True)) if i and a != b)
            raise invalid(
                f"x and v shape doesn't match at index {at} : {shape_text(x.shape)} vs. "
                f"{shape_text(value.shape)}"
            )
        if len(index) != len(value):
            raise invalid(
                f"i and x shape doesn't match at index 0: {shape_text(index.shape)} vs. "
                f"{shape_text(value.shape)}"
            )
        result = x.copy()
        size = len(x)
        if len(index) and not size:
            raise invalid("x has no rows")
        places = np.asarray(index) % max(size, 1)  # as in TensorFlow, where any number is a row
        for begin in range(0, len(places), _ROWS):
            for row, at in enumerate(places[begin : begin + _ROWS].tolist(), begin):
                if kind == "Update":
                    result[at] = value[row]
                elif kind == "Add":
                    result[at] += value[row]
                else:
                    result[at] -= value[row]
        return result

    return run


@array_kernel("DeepCopy", moves=True)
def deep_copy(node: KernelNode) -> Kernel:
    return lambda x: x.copy()


@kernel("FakeParam")
def fake_param(node: KernelNode) -> Kernel:
    """An unused value, in place of one that only the other branch has."""
    dtype, dims = node.output_types[0], node.attrs["shape"]
    shape = tuple(size or 0 for size in dims or ())
    if dtype.np is None:
        return lambda: None
    value = np.zeros(shape, dtype.np) if dtype is not dtypes.string else string_arrays.filled(shape, b"")
    return lambda: value


@array_kernel("ToBool")
def to_bool(node: KernelNode) -> Kernel:
    def run(x: Any) -> Any:
        if x.ndim:
            return np.bool_(x.size > 0)
        return np.bool_(bool(x[()]))

    return run


@kernel("DeviceIndex")
def device_index(node: KernelNode) -> Kernel:
    names = [name.decode() for name in node.attrs["device_names"]]
    kind = "GPU" if "GPU" in node.device.upper() else "CPU"
    index = np.int32(names.index(kind) if kind in names else len(names))
    return lambda: index


@kernel("NthElement")
def nth_element(node: KernelNode) -> Kernel:
    xp, reverse = node.xp, node.attrs["reverse"]

    def run(x: Any, number: Any) -> Any:
        if np.ndim(number):
            raise invalid(f"N must be scalar but has rank {number.ndim}")
        if number < 0:
            raise invalid(f"n must be non-negative but is {int(number)}")
        if not x.ndim:
            raise invalid("Input must be at least rank 1 but is rank 0")
        if x.shape[-1] <= number:
            raise invalid(f"Input must have last dimension > n = {int(number)}, but it is {x.shape[-1]}")
        at = x.shape[-1] - 1 - int(number) if reverse else int(number)
        return xp.sort(x, -1)[..., at] if x.dtype.kind == "V" else xp.partition(x, at, -1)[..., at]

    return run


def _formats(node: KernelNode) -> tuple[str, str]:
    source, target = (node.attrs[f"{side}_format"].decode() for side in ("src", "dst"))
    if sorted(source) != sorted(target) or len(source) not in (4, 5):
        raise invalid(
            f"Destination format must be a permutation of the source format, got {source} and {target}"
        )
    return source, target


@kernel("DataFormatDimMap")
def dim_map(node: KernelNode) -> Kernel:
    source, target = _formats(node)
    places = [target.index(letter) for letter in source]

    def run(x: Any) -> Any:
        host = np.asarray(x)
        if ((host < -len(source)) | (host >= len(source))).any():
            raise invalid(f"A dimension is out of the range of {source}")
        return np.array(places, host.dtype)[host]

    return run


@kernel("DataFormatVecPermute")
def vec_permute(node: KernelNode) -> Kernel:
    source, target = _formats(node)

    def run(x: Any) -> Any:
        if x.ndim not in (1, 2):
            raise invalid(f"input must be a vector or 2D tensor, but got shape {shape_text(x.shape)}")
        letters = [source, target]
        if len(x) == len(source) - 2:
            letters = ["".join(c for c in text if c not in "NC") for text in letters]
        if len(x) != len(letters[0]):
            raise invalid(f"input must have {len(source)} or {len(source) - 2} rows, got {len(x)}")
        if x.ndim == 2 and x.shape[1] != 2:
            raise invalid(
                f"Second dimension of 2D input must be of size 2, but got shape {shape_text(x.shape)}"
            )
        return x[[letters[0].index(letter) for letter in letters[1]]]

    return run
