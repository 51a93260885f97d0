"""What families do with their parameters: conversion, checks, broadcast shapes, seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import fill
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import broadcast_dynamic_shape, broadcast_static_shape, shape
from tensorfleet.ops.debugging.checks import assert_equal, assert_less_equal, assert_near, assert_non_negative
from tensorfleet.ops.math.elementwise import floor, log, log1p, sigmoid
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.activation import softmax


def arguments(local: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor among its local variables, for `copy`."""
    return {key: value for key, value in local.items() if key != "self" and not key.startswith("_")}


def checked(tensor: Tensor, do: bool, *checks: Callable[..., Any], **options: Any) -> Tensor:
    """A tensor that the checks were made on, when the graph runs; the tensor itself without `do`."""
    if not do:
        return tensor
    with control_dependencies([check(tensor, **options) for check in checks]):
        return identity(tensor)


def parameters_after(checks: Iterable[Any], **tensors: Tensor) -> list[Tensor]:
    """The parameters, by their names, that exist only after the checks when the graph runs."""
    with control_dependencies(checks):
        return [identity(tensor, name=name) for name, tensor in tensors.items()]


def whole(tensor: Tensor) -> Any:
    """A check that all elements are integers."""
    return assert_equal(tensor, floor(tensor), message="cannot contain fractional components.")


def counts(value: Tensor, total: Tensor, do: bool) -> Tensor:
    """Numbers of draws of each class, checked to be natural numbers with the given sum."""
    if not do:
        return value
    checks = [
        assert_non_negative(value, message="counts must be non-negative."),
        whole(value),
        assert_equal(total, reduce_sum(value, -1), message="counts must sum to `self.total_count`"),
    ]
    with control_dependencies(checks):
        return identity(value)


def static_batch(*tensors: Tensor) -> TensorShape:
    """The shape that parameters broadcast to."""
    result = TensorShape([])
    for tensor in tensors:
        result = broadcast_static_shape(result, tensor.shape)
    return result


def dynamic_batch(*tensors: Tensor) -> Tensor:
    """The shape that parameters broadcast to, when the graph runs."""
    result = shape(tensors[0])
    for tensor in tensors[1:]:
        result = broadcast_dynamic_shape(result, shape(tensor))
    return result


def derived_seed(seed: int | None, salt: str) -> int | None:
    """The seed of a second stream of numbers, the one that TensorFlow derives."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


def where_defined(condition: Tensor, value: Tensor, allow_nan: bool, message: str) -> Tensor:
    """A statistic where it is defined, and elsewhere NaN, or an error when the graph runs."""
    if allow_nan:
        return where_v2(condition, value, constant(np.nan, value.dtype))
    with control_dependencies([assert_equal(condition, fill(shape(condition), True), message=message)]):
        return identity(value)


def logits_and_probs(
    logits: Any, probs: Any, validate_args: bool, is_vector: bool = False
) -> tuple[Tensor, Tensor]:
    """Both forms of the parameter of families over classes.

    Args:
        logits: log-odds, or with `is_vector` unnormalized log probabilities in the last dimension.
        probs: probabilities, of "yes", or with `is_vector` of the classes in the last dimension.

    Raises:
        ValueError: both, or none, are given.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is None:
        logits = convert_to_tensor(logits, name="logits")
        if not (logits.dtype.is_floating or logits.dtype.is_complex):
            raise TypeError("logits must having floating type.")
        return logits, (softmax(logits, name="probs") if is_vector else sigmoid(logits, name="probs"))
    probs = convert_to_tensor(probs, name="probs")
    if not (probs.dtype.is_floating or probs.dtype.is_complex):
        raise TypeError("probs must having floating type.")
    one = constant(1, probs.dtype, name="one")
    if validate_args:
        checks = [assert_non_negative(probs)]
        if is_vector:
            checks.append(assert_near(reduce_sum(probs, -1), one, message="probs does not sum to 1."))
        else:
            checks.append(assert_less_equal(probs, one, message="probs has components greater than 1."))
        with control_dependencies(checks):
            probs = identity(probs)
    return (log(probs) if is_vector else log(probs) - log1p(-1 * probs)), probs
