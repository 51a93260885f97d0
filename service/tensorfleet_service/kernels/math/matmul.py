"""Kernels of `tensorfleet.ops.math.matmul`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet_service.devices import native
from tensorfleet_service.devices.blas import LARGE_PRODUCT, batch_product, large_product
from tensorfleet_service.devices.cublas import matmul
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads import unlocked


def _matmul_error(error: Exception, a: Any, b: Any) -> errors.OpError | None:
    if a.ndim != b.ndim:
        return invalid(
            f"In[0] and In[1] has different ndims: {shape_text(a.shape)} vs. {shape_text(b.shape)}"
        )
    if a.ndim != 2:
        return invalid(f"In[0] and In[1] ndims must be == 2: {a.ndim}")
    if isinstance(error, ValueError):
        return invalid(
            f"Matrix size-incompatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}"
        )
    return None


def not_matrices(a: Any, b: Any) -> Any:
    raise ValueError(f"ranks {a.ndim} and {b.ndim} instead of 2")


@kernel("MatMul")
def _matmul(node: KernelNode) -> Expression:
    """The product of two matrices; Python's `@` alone would take vectors and batches as well."""
    dtype = node.output_types[0]
    turned = bool(node.attrs["transpose_a"]), bool(node.attrs["transpose_b"])
    names: dict[str, Any] = {"not_matrices": not_matrices}
    left = "{0}.T" if node.attrs["transpose_a"] else "{0}"
    right = "{1}.T" if node.attrs["transpose_b"] else "{1}"
    if dtype in SMALL_FLOATS:
        names |= {"float32": np.float32, f"np_{dtype.name}": dtype.np}
        left, right = f"{left}.astype(float32)", f"{right}.astype(float32)"
        product = f"matmul({left}, {right}).astype(np_{dtype.name})"
        names["matmul"] = unlocked.matmul if node.xp is np else _on_gpu(node.xp)
    elif node.xp is not np:
        names["matmul"] = _on_gpu(node.xp)
        product = f"matmul({left}, {right})"
    elif dtype is dtypes.float32 and node.xp is np and native.native is not None:
        name = f"product_{turned[0]:d}{turned[1]:d}"
        product, names[name] = f"{name}({{0}}, {{1}})", product_of(*turned)
    else:
        columns = "{1}.shape[0]" if node.attrs["transpose_b"] else "{1}.shape[1]"
        product = f"({left} @ {right} if {{0}}.size * {columns} < LARGE else large_product({left}, {right}))"
        names |= {"LARGE": LARGE_PRODUCT, "large_product": large_product}
    template = f"{product} if {{0}}.ndim == 2 == {{1}}.ndim else not_matrices({{0}}, {{1}})"
    return Expression(template, names, _matmul_error)


@cache
def _on_gpu(xp: Any) -> Callable[[Any, Any], Any]:
    """`matmul` of a GPU: one object for all nodes, as it is a name in their code."""
    return partial(matmul, xp)


@cache
def product_of(transpose_a: bool, transpose_b: bool) -> Callable[..., Any]:
    """The product of two matrices of float32 or float64, as the kernel computes it.

    A third argument is what `native.pack` has made of the second.
    """

    def product(a: Any, b: Any, panels: Any = None) -> Any:
        found = native.multiply(a, b, transpose_a, transpose_b, panels)
        if found is not None:
            return found
        left, right = a.T if transpose_a else a, b.T if transpose_b else b
        return left @ right if a.size * right.shape[1] < LARGE_PRODUCT else large_product(left, right)

    return product


def _adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj()


@kernel("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _batch_matmul(node: KernelNode) -> Kernel:
    xp = node.xp
    dtype = node.output_types[0].np
    small = node.output_types[0] in SMALL_FLOATS
    computed = np.dtype(np.float32) if small else dtype
    adjoint_x, adjoint_y = node.attrs["adj_x"], node.attrs["adj_y"]
    broadcasts = node.op != "BatchMatMul"
    product: Callable[[Any, Any], Any] = batch_product if xp is np else _on_gpu(xp)

    def batch_matmul(x: Any, y: Any) -> Any:
        if not broadcasts:
            _check_equal_batches(x, y)
        if x.ndim < 2 or y.ndim < 2:
            i, matrix = (0, x) if x.ndim < 2 else (1, y)
            raise invalid(f"In[{i}] ndims must be >= 2: {matrix.ndim}")
        a = x.astype(computed, copy=False)
        b = y.astype(computed, copy=False)
        try:
            result = product(_adjoint(a) if adjoint_x else a, _adjoint(b) if adjoint_y else b)
        except ValueError:
            raise _batch_error(x, y, adjoint_x, adjoint_y) from None
        return result.astype(dtype) if small else result

    return batch_matmul


def _check_equal_batches(x: Any, y: Any) -> None:
    if x.ndim != y.ndim:
        raise invalid(f"In[0] and In[1] has different ndims: {shape_text(x.shape)} vs. {shape_text(y.shape)}")
    if x.ndim < 2:
        raise invalid(f"In[0] and In[1] ndims must be >= 2: {x.ndim}")
    for i, (a, b) in enumerate(zip(x.shape[:-2], y.shape[:-2], strict=True)):
        if a != b:
            raise invalid(
                f"In[0].dim({i}) and In[1].dim({i}) must be the same: {shape_text(x.shape)} vs "
                f"{shape_text(y.shape)}"
            )


def _batch_error(x: Any, y: Any, adjoint_x: bool, adjoint_y: bool) -> errors.OpError:
    if x.shape[-2 if adjoint_x else -1] != y.shape[-1 if adjoint_y else -2]:
        return invalid(
            f"Matrix size-incompatible: In[0]: {shape_text(x.shape)}, In[1]: {shape_text(y.shape)}"
        )
    return invalid(
        f"In[0] and In[1] must have compatible batch dimensions: {shape_text(x.shape)} vs. "
        f"{shape_text(y.shape)}"
    )
