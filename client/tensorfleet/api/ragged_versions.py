"""The versions of tf's functions for RaggedTensors; importing the module registers them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tensorfleet.core.dispatch import register_version
from tensorfleet.ops.array import (
    casting,
    constants,
    identity,
    indexing,
    joining as dense_joining,
    padding,
    rearranging,
    selection,
    shaping,
)
from tensorfleet.ops.math import (
    add_n,
    arithmetic,
    bessel,
    clip,
    comparison,
    complex_numbers,
    elementwise,
    reduction,
    scan,
    special,
)
from tensorfleet.ops.nn import activation, embedding, layers, statistics
from tensorfleet.ops.ragged import arrays, dividing, joining, reducing, strings as ragged_strings
from tensorfleet.ops.ragged.broadcasting import elementwise as broadcast
from tensorfleet.ops.ragged.functional import map_flat_values
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor
from tensorfleet.ops.text import hashing, splitting, strings, unicode

Function = Callable[..., Any]


def _of_values(function: Function) -> Function:
    """A version that is the function of the flat values."""

    @functools.wraps(function)
    def version(*args: Any, **kwargs: Any) -> Any:
        return map_flat_values(function, *args, **kwargs)

    return version


def _of_pairs(function: Function) -> Function:
    """A version that is the function of two values at the same place."""
    first, second, *_ = inspect.signature(function).parameters

    @functools.wraps(function)
    def version(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        x, y = given.pop(first), given.pop(second)
        return broadcast(lambda a, b: function(a, b, **given), x, y)

    return version


def _sum_of_all(inputs: Any, name: str | None = None) -> Any:
    return map_flat_values(lambda *values: add_n.add_n(list(values), name=name), *inputs)


def _joined_texts(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    return map_flat_values(lambda *values: strings.join(list(values), separator, name), *inputs)


def _embedded(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    def rows(flat: Any) -> Any:
        return embedding.embedding_lookup(params, flat, partition_strategy, name, validate_indices, max_norm)

    return map_flat_values(rows, ids)


_UNARY: dict[Any, str] = {
    elementwise: "abs round negative sign square sqrt rsqrt reciprocal exp expm1 log log1p sin cos tan asin "
    "acos atan sinh cosh tanh asinh acosh atanh sigmoid ceil floor rint is_nan is_inf is_finite log_sigmoid "
    "reciprocal_no_nan",
    comparison: "logical_not invert",
    casting: "cast saturate_cast bitcast",
    complex_numbers: "real imag conj angle",
    special: "digamma lgamma erf erfc erfinv ndtri erfcinv",
    bessel: "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 "
    "bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence",
    identity: "identity stop_gradient check_numerics",
    constants: "zeros_like ones_like",
    clip: "clip_by_value",
    activation: "relu relu6 elu selu softplus softsign leaky_relu",
    layers: "dropout",
    statistics: "swish",
    arithmetic: "scalar_mul",
    strings: "as_string decode_base64 encode_base64 regex_full_match regex_replace strip substr to_number "
    "length lower upper",
    hashing: "string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong",
    unicode: "unicode_transcode",
}
_BINARY: dict[Any, str] = {
    arithmetic: "add subtract multiply truediv divide div realdiv div_no_nan multiply_no_nan floordiv "
    "floor_div floormod truncatediv truncatemod pow squared_difference maximum minimum nextafter xdivy "
    "xlog1py xlogy",
    special: "zeta",
    comparison: "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
    elementwise: "atan2",
    complex_numbers: "complex",
}
_OWN: dict[Any, Function] = {
    dense_joining.concat: joining.concat,
    dense_joining.stack: joining.stack,
    dense_joining.split: dividing.split,
    indexing.gather: arrays.gather,
    indexing.batch_gather: arrays.batch_gather,
    indexing.gather_nd: arrays.gather_nd,
    indexing.one_hot: arrays.one_hot,
    shaping.expand_dims: arrays.expand_dims,
    shaping.squeeze: arrays.squeeze,
    shaping.size: arrays.size,
    shaping.rank: arrays.rank,
    padding.tile: arrays.tile,
    rearranging.reverse: arrays.reverse,
    selection.where: arrays.where,
    selection.where_v2: arrays.where,
    reduction.reduce_sum: reducing.reduce_sum,
    reduction.reduce_mean: reducing.reduce_mean,
    reduction.reduce_prod: reducing.reduce_prod,
    reduction.reduce_max: reducing.reduce_max,
    reduction.reduce_min: reducing.reduce_min,
    reduction.reduce_all: reducing.reduce_all,
    reduction.reduce_any: reducing.reduce_any,
    reduction.reduce_variance: reducing.reduce_variance,
    reduction.reduce_std: reducing.reduce_std,
    scan.cumsum: reducing.cumsum,
    add_n.add_n: _sum_of_all,
    strings.join: _joined_texts,
    embedding.embedding_lookup: _embedded,
    unicode.unicode_encode: ragged_strings.unicode_encode,
    strings.reduce_join: ragged_strings.reduce_join,
    splitting.ngrams: ragged_strings.ngrams,
}


def _register() -> None:
    for module, names in _UNARY.items():
        for name in names.split():
            register_version(getattr(module, name), RaggedTensor, _of_values(getattr(module, name)))
    for module, names in _BINARY.items():
        for name in names.split():
            register_version(getattr(module, name), RaggedTensor, _of_pairs(getattr(module, name)))
    for function, version in _OWN.items():
        register_version(function, RaggedTensor, version)


_register()
