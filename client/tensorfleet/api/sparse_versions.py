"""The versions of tf's functions for SparseTensors; importing the module registers them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dispatch import register_version
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array import constants, identity, shaping
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.math import elementwise, special
from tensorfleet.ops.math.reduction import reduce_prod

_ELEMENTWISE = ("abs", "negative", "sign", "square", "sqrt", "sin", "tanh")


def _of_values(function: Callable[..., Any]) -> Callable[..., SparseTensor]:
    """A version that is the function of the values; for functions that keep zeros as they are."""

    @functools.wraps(function)
    def version(x: SparseTensor, name: str | None = None) -> SparseTensor:
        return SparseTensor(x.indices, function(x.values, name), x.dense_shape)

    return version


def _size(input: SparseTensor, name: str | None = None, out_type: Any = None) -> Tensor:
    with framework.name_scope(name, "Size", [input.values]):
        return reduce_prod(cast(input.dense_shape, out_type or dtypes.int32), 0)


def _rank(input: SparseTensor, name: str | None = None) -> Tensor:
    if input.shape.ndims is not None:
        return constant(input.shape.ndims, dtypes.int32, name=name or "Rank")
    return shaping.size(input.dense_shape, name or "Rank")


def _zeros_like(
    tensor: SparseTensor, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    result = constants.zeros(tensor.dense_shape, dtype or tensor.dtype, name or "zeros_like")
    result.set_shape(tensor.shape)
    return result


def _register() -> None:
    of_values = (
        *(
            getattr(elementwise, name)
            for name in ["abs", "negative", "sign", "square", "sqrt", "sin", "tanh"]
        ),
        special.erf,
        identity.stop_gradient,
    )
    versions: dict[Callable[..., Any], Callable[..., Any]] = {
        **{function: _of_values(function) for function in of_values},
        shaping.size: _size,
        shaping.rank: _rank,
        constants.zeros_like: _zeros_like,
    }
    for function, version in versions.items():
        register_version(function, SparseTensor, version)


_register()
