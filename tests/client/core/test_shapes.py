"""Shapes in both forms: the tuples of shape rules, and what programs see."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tensorfleet as tf
from tensorfleet.core import shapes
from tensorfleet.core.dimension import Dimension
from tensorfleet.core.shapes import Dims, TensorShape

sizes = st.lists(st.integers(0, 4), max_size=4)


def known(size: int, hidden: bool) -> int | None:
    return None if hidden else size


@st.composite
def views_of_one_shape(draw: st.DrawFn) -> tuple[tuple[int, ...], Dims, Dims]:
    """A true shape and two partial views of it."""
    shape = tuple(draw(sizes))

    def view() -> Dims:
        hidden = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        partial = tuple(map(known, shape, hidden))
        return draw(st.sampled_from([partial, None]))

    return shape, view(), view()


@given(views_of_one_shape())
def test_merging_views_of_one_shape_never_contradicts_it(views: tuple[tuple[int, ...], Dims, Dims]) -> None:
    shape, a, b = views
    merged = shapes.merge(a, b)
    assert merged == shapes.merge(b, a)
    assert shapes.compatible(a, b)
    assert shapes.compatible(merged, shape)
    assert shapes.merge(merged, shape) == shape
    assert (merged is None) == (a is None and b is None)


@given(sizes, sizes)
def test_broadcast_agrees_with_numpy(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(ValueError, match="Dimensions must be equal, but are"):
            shapes.broadcast(tuple(a), tuple(b))
    else:
        assert shapes.broadcast(tuple(a), tuple(b)) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((2, None), (1,), (2, None)),
        ((None,), (3,), (3,)),
        ((None,), (1,), (None,)),
        ((None,), (0,), (None,)),
        ((None,), (None,), (None,)),
        ((4, 1, 3), (2, 1), (4, 2, 3)),
        (None, (2,), None),
        ((), (2,), (2,)),
    ],
)
def test_broadcast_of_partial_shapes(a: Dims, b: Dims, expected: Dims) -> None:
    assert shapes.broadcast(a, b) == shapes.broadcast(b, a) == expected


def test_contradictions_are_told_as_tensorflow_tells_them() -> None:
    with pytest.raises(ValueError, match=r"^Dimensions must be equal, but are 2 and 3$"):
        shapes.broadcast((2,), (4, 3))
    with pytest.raises(ValueError, match=r"^Shapes must be equal rank, but are 1 and 2$"):
        shapes.merge((2,), (2, 2))
    with pytest.raises(
        ValueError,
        match=r"^Dimension 1 in both shapes must be equal, but are 2 and 3\. "
        r"Shapes are \[\?,2\] and \[1,3\]\.$",
    ):
        shapes.merge((None, 2), (1, 3))


def test_helpers() -> None:
    assert shapes.num_elements((2, 3)) == 6
    assert shapes.num_elements(()) == 1
    assert shapes.num_elements((2, None)) is shapes.num_elements(None) is None
    assert shapes.concatenate((1, None), (2,)) == (1, None, 2)
    assert shapes.concatenate(None, (2,)) is None
    assert [shapes.format_dims(d) for d in ((2, None), (), None)] == ["[2,?]", "[]", "?"]
    assert [shapes.normalize_axis(axis, 2) for axis in (-2, -1, 0, 1)] == [0, 1, 0, 1]
    for axis in (2, -3):
        with pytest.raises(ValueError, match=rf"^Dimension \({axis}\) must be in the range \[-2, 2\)"):
            shapes.normalize_axis(axis, 2)


@pytest.mark.parametrize("dims", [None, (), (2, None), (0,)])
def test_protos_carry_plain_shapes(dims: Dims) -> None:
    assert shapes.from_proto(shapes.to_proto(dims)) == dims
    assert TensorShape(TensorShape(dims).as_proto()) == TensorShape(dims)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (3, (3,)),
        ([1, None], (1, None)),
        ((Dimension(2), 3), (2, 3)),
        (np.array([2, 3]), (2, 3)),
        (TensorShape([5]), (5,)),
        (Dimension(4), (4,)),
        (range(2), (0, 1)),
        (None, None),
        ([], ()),
    ],
)
def test_shapes_can_be_made_from(source: object, expected: Dims) -> None:
    assert shapes.as_dims(source) == expected
    assert TensorShape(source) == TensorShape(expected)


def test_shapes_cannot_be_made_from() -> None:
    with pytest.raises(TypeError, match="Dimension value must be integer or None"):
        TensorShape([1j])
    with pytest.raises(TypeError, match=r"^Failed to convert ''ab'' to a shape: ''a''could not be converted"):
        TensorShape("ab")
    with pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
        TensorShape([-1])


def test_indexing_gives_dimensions() -> None:
    shape = TensorShape([2, None, 3])
    assert isinstance(shape[0], Dimension)
    assert [size.value for size in shape] == [2, None, 3]
    assert shape[1:].as_list() == [None, 3]
    assert shape[-1].value == 3
    unknown = TensorShape(None)
    assert unknown[3].value is None
    assert unknown[1:3].as_list() == [None, None]
    assert unknown[1:].rank is None
    for broken in (lambda: len(unknown), lambda: list(unknown), unknown.as_list):
        with pytest.raises(ValueError, match="unknown"):
            broken()


def test_text_forms() -> None:
    assert [str(TensorShape(d)) for d in ([2, None], [2], [], None)] == ["(2, ?)", "(2,)", "()", "<unknown>"]
    assert repr(TensorShape([2, None])) == "TensorShape([Dimension(2), Dimension(None)])"


def test_unknown_sizes_spread_through_dimension_arithmetic() -> None:
    two, unknown = Dimension(2), Dimension(None)
    for result in (two + unknown, 3 - unknown, unknown * 3, 7 // unknown, unknown % 2, 7 % unknown):
        assert isinstance(result, Dimension)
        assert result.value is None
    for comparison in (two == unknown, two != unknown, unknown < 3, unknown >= two):
        assert comparison is None
    assert ((two + 1).value, (5 - two).value, (7 // two).value, (7 % two).value) == (3, 3, 3, 1)
    assert list(range(5))[two] == int(two) == 2
    assert two == 2
    assert two != 3
    assert two != "x"
    assert not Dimension(0)
    with pytest.raises(TypeError, match="please use // instead"):
        _ = two / 2
    with pytest.raises(TypeError):
        int(unknown)
    with pytest.raises(TypeError, match="unhashable"):
        hash(two)


def test_rank_checks() -> None:
    shape = TensorShape([2, None])
    assert shape.with_rank(2) == shape.with_rank_at_least(1) == shape.with_rank_at_most(2) == shape
    assert TensorShape(None).with_rank(2).as_list() == [None, None]
    for check, bad, text in (
        (shape.with_rank, 3, "must have rank 3"),
        (shape.assert_has_rank, 1, "must have rank 1"),
        (shape.with_rank_at_least, 3, "must have rank at least 3"),
        (shape.with_rank_at_most, 1, "must have rank at most 1"),
        (shape.assert_same_rank, [1], "must have the same rank"),
        (shape.assert_is_compatible_with, [3, 1], "are incompatible"),
        (shape.merge_with, [3, 1], "are not compatible"),
    ):
        with pytest.raises(ValueError, match=text):
            check(bad)


def test_joining_and_comparing() -> None:
    shape = TensorShape([2, None])
    three = TensorShape([3])
    for joined in (shape + three, shape.concatenate([3]), shape.as_list() + three):
        assert isinstance(joined, TensorShape)
        assert joined.as_list() == [2, None, 3]
    assert shape.merge_with([None, 4]).as_list() == [2, 4]
    assert shape.most_specific_compatible_shape([3, None]).as_list() == [None, None]
    assert shape == [2, None]
    assert shape != [2, 3]
    assert shape != "x"
    assert len({shape, TensorShape([2, None])}) == 1
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert not TensorShape(None)
    assert TensorShape([])


@pytest.mark.parametrize("size", [4 / 2, np.float32(2)])
def test_whole_floats_are_sizes(size: float) -> None:
    """What `/` makes of sizes is one, as in version 1."""
    assert TensorShape([size, None]).as_list() == [2, None]
    assert type(Dimension(size).value) is int
    assert tf.zeros([3, size]).shape == tf.ones([3, size]).shape == [3, 2]
    assert tf.placeholder(tf.float32, [None, size]).shape.as_list() == [None, 2]
    assert tf.constant(1.0, shape=[size]).shape == [2]


@pytest.mark.parametrize("size", [2.5, float("inf"), float("nan"), -1.0])
def test_other_floats_are_none(size: float) -> None:
    with pytest.raises(ValueError, match=r"Ambiguous dimension|must be >= 0"):
        Dimension(size)
