"""The public array functions beside TensorFlow's: signatures, and the nodes that they make."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf

import tensorfleet as fleet
from tensorfleet.graph.graph import Graph
from tensorfleet.ops.array import (
    casting,
    constants,
    identity,
    indexing,
    joining,
    padding,
    rearranging,
    selection,
    shaping,
    slicing,
)
from tensorfleet.ops.data_flow import partition
from tensorfleet.ops.text import strings

tf.disable_v2_behavior()

FAMILIES = (
    casting,
    constants,
    identity,
    indexing,
    joining,
    padding,
    partition,
    rearranging,
    selection,
    shaping,
    slicing,
    strings,
)
NAMES = [
    name
    for name, value in vars(fleet).items()
    if not name.startswith("_")
    and getattr(value, "__module__", None) in {module.__name__ for module in FAMILIES}
]

# Names of before TensorFlow 1.0, and functions that TensorFlow only has in a namespace.
ONLY_OURS = {"pack", "unpack", "select"}
NESTED = {"top_k": tf.nn.top_k, "in_top_k": tf.nn.in_top_k}


@pytest.mark.parametrize("name", sorted(set(NAMES) - ONLY_OURS - {"newaxis"}))
def test_signature(name: str) -> None:
    """The same parameters in the same order, with the same defaults."""
    theirs = inspect.signature(NESTED.get(name) or getattr(tf, name)).parameters
    ours = inspect.signature(getattr(fleet, name)).parameters
    assert [(p.name, p.kind, _default(p)) for p in ours.values()] == [
        (p.name, p.kind, _default(p)) for p in theirs.values()
    ]


def _default(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    return default.name if isinstance(default, (fleet.DType, tf.DType)) else default


def _x(library: Any, *dims: int | None, dtype: str = "float32", name: str = "x") -> Any:
    return library.placeholder(dtype, list(dims), name=name)


def _any(library: Any) -> Any:
    return library.placeholder("float32", None, name="x")


BUILDS: list[Callable[[Any], Any]] = [
    lambda t: t.zeros([2, 3]),
    lambda t: t.zeros([2000, 3], name="z"),
    lambda t: t.zeros([2], t.bool),
    lambda t: t.ones([2, 3], "int32"),
    lambda t: t.ones([t.constant(2), 3]),
    lambda t: t.ones(t.shape(_x(t, None, 2))),
    lambda t: t.fill([2, 3], 1.5),
    lambda t: t.zeros_like(_x(t, 2, 3)),
    lambda t: t.zeros_like(_x(t, None)),
    lambda t: t.zeros_like(_x(t, None), dtype="int32"),
    lambda t: t.zeros_like([1, 2]),
    lambda t: t.ones_like(_x(t, 2, 3), "int32"),
    lambda t: t.ones_like(_x(t, None)),
    lambda t: t.range(5),
    lambda t: t.range(1, 5.0, 2, name="r"),
    lambda t: t.range(t.constant(3)),
    lambda t: t.placeholder("float32"),
    lambda t: t.placeholder_with_default([1.0], [None], name="p"),
    lambda t: t.identity([1, 2]),
    lambda t: t.identity_n([_x(t, 2), _x(t, 3)]),
    lambda t: t.stop_gradient(_x(t, 2), name="s"),
    lambda t: t.check_numerics(_x(t, 2), "m"),
    lambda t: t.ensure_shape(_x(t, None), [3]),
    lambda t: t.cast(_x(t, 2), t.int32),
    lambda t: t.cast([1.5], "int32", name="c"),
    lambda t: t.cast(_x(t, 2), t.float32),
    lambda t: t.to_float([1]),
    lambda t: t.to_int64(_x(t, 2)),
    lambda t: t.bitcast(_x(t, 2), t.uint8),
    lambda t: t.shape(_x(t, 2, 3)),
    lambda t: t.shape(_x(t, None, 3), name="s"),
    lambda t: t.shape(_x(t, 2, 3), out_type=t.int64),
    lambda t: t.shape_n([_x(t, 2), _x(t, 3)]),
    lambda t: t.size(_x(t, 2, 3)),
    lambda t: t.size(_x(t, None, 3)),
    lambda t: t.size(_x(t, None, 0)),
    lambda t: t.rank(_x(t, None, 3)),
    lambda t: t.rank(_any(t)),
    lambda t: t.reshape(_x(t, 2, 3), [-1]),
    lambda t: t.reshape(_x(t, None, 3), [t.shape(_x(t, None, 3))[0], 3, 1]),
    lambda t: t.expand_dims(_x(t, 2), 0),
    lambda t: t.expand_dims(_x(t, 2), dim=1, name="e"),
    lambda t: t.squeeze(_x(t, 2, 1)),
    lambda t: t.squeeze(_x(t, 2, 1), 1),
    lambda t: t.squeeze(_x(t, 2, 1), squeeze_dims=[1]),
    lambda t: t.broadcast_to(_x(t, 2, 1), [2, 2]),
    lambda t: t.broadcast_dynamic_shape([2, 1], [3]),
    lambda t: t.transpose(_x(t, 2, 1)),
    lambda t: t.transpose(_any(t)),
    lambda t: t.transpose(_x(t, 2, 1), [1, 0], name="t"),
    lambda t: t.matrix_transpose(_x(t, 2, 1)),
    lambda t: t.invert_permutation([1, 0]),
    lambda t: t.slice(_x(t, 2, 1), [0, 0], [1, -1]),
    lambda t: t.strided_slice(_x(t, 2, 1), [0, 0], [1, 1], name="ss"),
    lambda t: _x(t, 2, 3)[0],
    lambda t: _x(t, 2, 3)[-1, 1:],
    lambda t: _x(t, 2, 3)[..., None, ::2],
    lambda t: _x(t, 2, 3)[t.constant(1)],
    lambda t: _x(t, 2, 3)[t.constant(1, "int64") :, 2],
    lambda t: _x(t, 2, 3)[t.constant(1) : t.constant(2)],
    lambda t: _x(t)[...],
    lambda t: t.concat([_x(t, 2, 3), _x(t, 2, 3)], 0),
    lambda t: t.concat([_x(t, 2, 3)], 0),
    lambda t: t.concat([[1, 2], [3]], axis=0, name="c"),
    lambda t: t.stack([_x(t, 2), _x(t, 2)]),
    lambda t: t.stack([1, _x(t)]),
    lambda t: t.stack([[1, 2], [3, 4]], axis=1),
    lambda t: t.unstack(_x(t, 2, 3), axis=1),
    lambda t: t.unstack(_x(t, None), num=3),
    lambda t: t.split(_x(t, 4, 3), 2),
    lambda t: t.split(_x(t, 4, 3), [1, 2], 1),
    lambda t: t.tile(_x(t, 4), [2]),
    lambda t: t.pad(_x(t, 4), [[1, 1]]),
    lambda t: t.pad(_x(t, 4), [[1, 1]], constant_values=3),
    lambda t: t.pad(_x(t, 4), [[1, 1]], "reflect", name="p"),
    lambda t: t.gather(_x(t, 4), [1, 2]),
    lambda t: t.gather(_x(t, 4, 2), [1], axis=1),
    lambda t: t.gather(_x(t, 2, 3), [[1], [2]], batch_dims=1),
    lambda t: t.gather_nd(_x(t, 2, 3), [[1, 2]]),
    lambda t: t.scatter_nd([[1]], [2.0], [3]),
    lambda t: t.tensor_scatter_nd_update(_x(t, 4), [[1]], [2.0]),
    lambda t: t.tensor_scatter_add(_x(t, 4), [[1]], [2.0]),
    lambda t: t.where(_x(t, 4, dtype="bool")),
    lambda t: t.where(_x(t, 4, dtype="bool"), _x(t, 4), _x(t, 4)),
    lambda t: t.where_v2(_x(t, 4, dtype="bool"), 1.0, _x(t, 4)),
    lambda t: t.one_hot([1, 2], 3),
    lambda t: t.one_hot([1, 2], 3, on_value=5, off_value=1, axis=0),
    lambda t: t.one_hot([1, 2], 3, dtype="int32", name="o"),
    lambda t: t.reverse(_x(t, 4), [0]),
    lambda t: t.reverse_sequence(_x(t, 4, 2), [1, 1, 1, 1], seq_axis=1, batch_axis=0),
    lambda t: t.roll(_x(t, 4), 1, 0),
    lambda t: t.unique(_x(t, 4)),
    lambda t: t.unique_with_counts(_x(t, 4), t.int64),
    lambda t: t.setdiff1d([1, 2], [1]),
    lambda t: t.dynamic_partition(_x(t, 4), [0, 1, 0, 1], 2),
    lambda t: t.dynamic_stitch([[0], [1]], [[1.0], [2.0]]),
    lambda t: t.parallel_stack([_x(t, 2), _x(t, 2)]),
    lambda t: t.sparse_to_dense([1], [3], 1.0, 0.0),
    lambda t: t.histogram_fixed_width(_x(t, 4), [0.0, 1.0]),
    lambda t: t.boolean_mask(_x(t, 4, 2), _x(t, 4, dtype="bool", name="m")),
    lambda t: t.sequence_mask([1, 2], 3),
    lambda t: t.space_to_depth(_x(t, 1, 2, 2, 1), 2),
    lambda t: t.string_join(["a", "b"], "-"),
    lambda t: t.as_string(_x(t, 2), precision=2),
    lambda t: t.string_to_number(["1"]),
    lambda t: t.substr(["abc"], 1, 2),
    lambda t: t.decode_raw(["abc"], t.uint8),
    lambda t: t.encode_base64(["abc"]),
    lambda t: t.reduce_join([["a", "b"]]),
    lambda t: t.guarantee_const(_x(t, 2)),
]


def _nodes(graph: Any) -> list[Any]:
    return [
        (
            op.name,
            op.type,
            [t.name for t in op.inputs],
            [None if t.shape.dims is None else t.shape.as_list() for t in op.outputs],
        )
        for op in graph.get_operations()
    ]


@pytest.mark.parametrize("build", BUILDS, ids=lambda f: str(f.__code__.co_firstlineno))
def test_nodes(build: Callable[[Any], Any]) -> None:
    """The same nodes, by name, op type, inputs and static shapes."""
    with tf.Graph().as_default() as theirs:
        build(tf)
    with Graph().as_default() as ours:
        build(fleet)
    assert _nodes(ours) == _nodes(theirs)


BAD: list[Callable[[Any], Any]] = [
    lambda t: t.expand_dims(_x(t, 2)),
    lambda t: t.expand_dims(_x(t, 2), 1, dim=1),
    lambda t: t.expand_dims(_x(t, 2), 3),
    lambda t: t.stack([_x(t, 2), _x(t, 2)], axis=5),
    lambda t: t.stack([_x(t, 2), _x(t, 3)]),
    lambda t: t.unstack(_x(t, None)),
    lambda t: t.unstack(_x(t, 2), axis=3),
    lambda t: t.split(_x(t, 3), 2),
    lambda t: t.split(_x(t, 3), t.constant(2)),
    lambda t: t.reshape(_x(t, 3), [2]),
    lambda t: t.concat([_x(t, 2, 3), _x(t, 3, 3)], 1),
    lambda t: t.pad(_x(t, 3), [[1, 1]], mode="other"),
    lambda t: t.where(_x(t, 3, dtype="bool"), _x(t, 3)),
    lambda t: _x(t, 3)["a"],
    lambda t: _x(t, 3)[1.5],
    lambda t: _x(t, 3)[5],
    lambda t: _x(t, 3)[0, 0],
    lambda t: t.matrix_transpose(_x(t, 3)),
    lambda t: t.boolean_mask(_x(t, 3), True),
    lambda t: t.boolean_mask(_x(t, 3), [True, False]),
    lambda t: t.meshgrid([1], indexing="zz"),
    lambda t: t.meshgrid([1], other=1),
    lambda t: t.one_hot([1], 2, on_value=1.0, off_value=1, dtype="int32"),
    lambda t: t.batch_gather(_any(t), t.placeholder("int32", None)),
    lambda t: t.ensure_shape(_x(t, 3), [2]),
    lambda t: (
        t.broadcast_static_shape(tf.TensorShape([2]).as_list(), [3])
        if t is fleet
        else tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))
    ),
]


@pytest.mark.parametrize("build", BAD, ids=lambda f: str(f.__code__.co_firstlineno))
def test_errors(build: Callable[[Any], Any]) -> None:
    """Refused with an exception of the same class."""
    with tf.Graph().as_default(), pytest.raises((TypeError, ValueError)) as theirs:
        build(tf)
    with Graph().as_default(), pytest.raises((TypeError, ValueError)) as ours:
        build(fleet)
    assert ours.type is theirs.type


def test_old_argument_orders() -> None:
    """`split(axis, parts, value)` and `concat(axis, values)` as before TensorFlow 1.0."""
    with Graph().as_default():
        x = _x(fleet, 4, 6)
        assert [t.dims for t in fleet.split(1, 3, x)] == [(4, 2)] * 3
        assert [t.dims for t in fleet.split(fleet.constant(0), 2, x)] == [(2, 6)] * 2
        assert fleet.concat(1, [x, x]).dims == (4, 12)
        assert fleet.concat(fleet.constant(0), [x, x]).dims == (8, 6)
        assert fleet.select(_x(fleet, 4, 6, dtype="bool"), x, x).op.type == "Select"
        assert fleet.reverse(x, [True, False]).op.type == "Reverse"


def test_static_values() -> None:
    """The static shape and value of a tensor."""
    for library in (tf, fleet):
        graph: Any = tf.Graph() if library is tf else Graph()
        with graph.as_default():
            x = _x(library, None, 3)
            known = [
                library.shape(x)[1],
                library.stack([2, library.shape(x)[1]]),
                library.range(3),
                library.cast([1.5], library.int32),
                library.fill([2], 7),
                library.rank(x),
                library.size(x),
                library.shape(x),
            ]
            values = [library.get_static_value(t) for t in known]
            if library is tf:
                theirs = values
            partial = library.get_static_value(library.stack([2, library.shape(x)[0]]), partial=True)
            assert partial.tolist() == [2, None]
            assert library.get_static_value("a") == "a" or library is tf
    # We follow StridedSlice too, which TensorFlow leaves to its C++ half.
    assert [v.tolist() for v in values[:2]] == [3, [2, 3]]
    for ours, other in zip(values[2:], theirs[2:], strict=True):
        np.testing.assert_array_equal(ours, other)
