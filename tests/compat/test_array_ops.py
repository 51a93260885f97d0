"""Array ops beside TensorFlow: kernels on the same inputs, and static shapes on the same nodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from tensorfleet.core import dtypes, errors
from tensorfleet.graph import op_def
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import placeholder
from tests.compat.array_cases import CASES, SHAPE_CASES, Case
from tests.kernels.harness import run_op

tf.disable_v2_behavior()


def _by_op(cases: list[Case]) -> dict[str, list[Case]]:
    ordered = sorted(cases, key=lambda case: case[0])
    return {op_type: list(group) for op_type, group in itertools.groupby(ordered, lambda case: case[0])}


BY_OP = _by_op(CASES)
SHAPES_BY_OP = BY_OP | _by_op([case for case in SHAPE_CASES if case[0] in op_def.registered()])


def _describe(case: Any) -> str:
    op_type, inputs, attrs = case
    shown = [
        [v.tolist() if v.size < 20 else v.shape for v in (x if isinstance(x, list) else [x])] for x in inputs
    ]
    return f"{op_type}{shown} {attrs} {[getattr(x, 'dtype', None) for x in inputs]}"


def _their_node(op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """The outputs of TensorFlow's node with these input tensors."""
    definition = op_def_registry.get(op_type)
    arguments = [arg.name for arg in definition.input_arg]
    inferred = {
        name for arg in definition.input_arg for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }
    defaults = {
        a.name: _default(a.default_value)
        for a in definition.attr
        if a.HasField("default_value") and a.name not in inferred
    }
    attrs = defaults | {k: _their_attr(v) for k, v in attrs.items()}
    result = op_def_library.apply_op(op_type, **dict(zip(arguments, inputs, strict=True)), **attrs)
    if isinstance(result, tf.Tensor):
        return [result]
    if isinstance(result, tf.Operation):
        return []
    flat: list[Any] = []
    for item in result:
        flat += item if isinstance(item, list) else [item]
    return flat


def _default(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "type":
        return tf.as_dtype(value.type)
    if kind == "list":
        return [*value.list.i, *value.list.f]
    return tf.TensorShape(value.shape) if kind == "shape" else getattr(value, kind)


def _their_attr(value: Any) -> Any:
    return tf.as_dtype(value) if isinstance(value, type) else value


def _our_attr(value: Any) -> Any:
    return dtypes.as_dtype(value) if isinstance(value, type) else value


def _their_value(case: Any) -> Any:
    """The outputs, or the error. In a graph of its own: a node that cannot run spoils all runs of a graph."""
    op_type, inputs, attrs = case
    feeds = {}

    def fed(value: Any) -> Any:
        tensor = tf.placeholder(tf.as_dtype(value.dtype), None)
        feeds[tensor] = value
        return tensor

    with tf.Graph().as_default(), tf.Session() as session:
        try:
            tensors = [[fed(v) for v in x] if isinstance(x, list) else fed(x) for x in inputs]
            return session.run(_their_node(op_type, tensors, attrs), feeds)
        except (tf.errors.OpError, ValueError, TypeError) as e:
            return e


def _our_value(case: Any) -> Any:
    op_type, inputs, attrs = case
    try:
        result = run_op(op_type, *inputs, **{k: _our_attr(v) for k, v in attrs.items()})
    except (errors.OpError, ValueError, TypeError) as e:
        return e
    return [] if result is None else list(result) if isinstance(result, tuple) else [result]


# Their shape rules demand known shapes, which the fed inputs here do not have.
NEEDS_SHAPES = ("ParallelConcat", "SpaceToBatchND", "BatchToSpaceND")


def _error_class(result: Any) -> str:
    # What their shape rule finds in attributes alone, our kernel finds.
    return type(result).__name__.replace("ValueError", "InvalidArgumentError")


@pytest.mark.parametrize("op_type", sorted(set(BY_OP) - set(NEEDS_SHAPES)))
def test_values(op_type: str) -> None:
    """Equal values, dtypes and shapes, or errors of the same class."""
    for case in BY_OP[op_type]:
        theirs, ours = _their_value(case), _our_value(case)
        if "No OpKernel was registered" in str(theirs) or isinstance(theirs, tf.errors.UnimplementedError):
            continue  # a dtype that we have and they do not
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            assert _error_class(ours) == _error_class(theirs), f"{_describe(case)}: {ours!r} != {theirs!r}"
            continue
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            b = np.asarray(b, object) if isinstance(b, bytes) else np.asarray(b)
            assert a.dtype == b.dtype, _describe(case)
            assert a.shape == b.shape, _describe(case)
            if a.dtype.kind in "fc" and op_type in ("Range", "LinSpace"):
                np.testing.assert_allclose(a, b, rtol=3e-7)  # the order of operations is not specified
            else:
                np.testing.assert_array_equal(a, b, _describe(case))


KNOWLEDGE = ("value", "shape", "some", "rank", "nothing")


def _known(shape: tuple[int, ...], knowledge: str) -> Any:
    match knowledge:
        case "shape":
            return list(shape)
        case "some":
            return [d if i % 2 else None for i, d in enumerate(shape)]
        case "rank":
            return [None] * len(shape)
    return None


def _input(value: Any, knowledge: str, ours: bool) -> Any:
    if isinstance(value, list):
        return [_input(v, knowledge, ours) for v in value]
    if knowledge == "value":
        # A scalar string must not become an array of characters.
        value = value if value.dtype != object else value.tolist()
        return constant(value) if ours else tf.constant(value)
    dims = _known(value.shape, knowledge)
    if ours:
        return placeholder(dtypes.from_numpy(value.dtype), dims)
    return tf.placeholder(tf.as_dtype(value.dtype), dims)


def _knowledges(count: int) -> Iterator[tuple[str, ...]]:
    """All inputs alike, and each one unlike the others."""
    for knowledge in KNOWLEDGE:
        yield (knowledge,) * count
    for i, knowledge in itertools.product(range(count), KNOWLEDGE[1:]):
        yield tuple(knowledge if j == i else "value" for j in range(count))


def _their_shapes(op_type: str, inputs: list[Any], attrs: dict[str, Any], knowledge: tuple[str, ...]) -> Any:
    try:
        tensors = [_input(x, k, False) for x, k in zip(inputs, knowledge, strict=True)]
        return [
            t.shape.as_list() if t.shape.rank is not None else None
            for t in _their_node(op_type, tensors, attrs)
        ]
    except (ValueError, TypeError) as e:
        return e


def _our_shapes(op_type: str, inputs: list[Any], attrs: dict[str, Any], knowledge: tuple[str, ...]) -> Any:
    with Graph().as_default():
        try:
            tensors = [_input(x, k, True) for x, k in zip(inputs, knowledge, strict=True)]
            result = apply_op(op_type, *tensors, **{k: _our_attr(v) for k, v in attrs.items()})
        except (ValueError, TypeError) as e:
            return e
    outputs = result.op.outputs if isinstance(result, Tensor) else _operation(result).outputs
    return [None if t.dims is None else list(t.dims) for t in outputs]


def _operation(result: Any) -> Any:
    while not isinstance(result, (Tensor, Operation)):
        result = result[0]
    return result.op if isinstance(result, Tensor) else result


def _theirs_is_wrong(
    op_type: str, inputs: list[Any], attrs: dict[str, Any], knowledge: tuple[str, ...]
) -> bool:
    """Cases in which TensorFlow's rule promises a shape that the kernel does not give."""
    match op_type:
        case "SplitV":  # takes an unknown axis for -1
            return knowledge[2] != "value"
        case "GatherV2":  # counts negative batch_dims as they are
            return attrs.get("batch_dims", 0) < 0 and knowledge[2] != "value"
        case "OneHot":  # gives a shape for an axis that is out of range
            return attrs.get("axis", -1) > inputs[0].ndim
        case "Transpose":  # forgets that an empty permutation is of a scalar
            return inputs[1].size == 0
    return False


@pytest.mark.parametrize("op_type", sorted(SHAPES_BY_OP))
def test_shapes(op_type: str) -> None:
    """Static shapes from inputs of which less and less is known."""
    seen = set()
    with tf.Graph().as_default():
        for _, inputs, attrs in SHAPES_BY_OP[op_type]:
            key = str(
                [
                    [np.shape(v) for v in x]
                    if isinstance(x, list)
                    else (x.shape, x.tolist() if x.dtype.kind == "i" else 0)
                    for x in inputs
                ]
            ) + str(attrs)
            if key in seen:
                continue  # another dtype only
            seen.add(key)
            if op_type == "Unpack" and attrs["num"] == 0:
                continue
            for knowledge in _knowledges(len(inputs)):
                if _theirs_is_wrong(op_type, inputs, attrs, knowledge):
                    continue
                theirs = _their_shapes(op_type, inputs, attrs, knowledge)
                ours = _our_shapes(op_type, inputs, attrs, knowledge)
                where = f"{_describe((op_type, inputs, attrs))} with {knowledge}"
                if isinstance(theirs, Exception) or isinstance(ours, Exception):
                    assert type(ours) is type(theirs), f"{where}: {ours!r} != {theirs!r}"
                else:
                    assert ours == theirs, where
