"""Ragged tensors beside TensorFlow's: values, dtypes of parts, static shapes, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

# Of R, ragged [4, None]; D, ragged [3, None, None]; W, ragged [2, None, 2]; T, ragged [2, None] of texts.
CASES = """
t.map_fn(t.reduce_sum, t.ragged.constant([[1, 2], [3], [4]]), dtype=t.int32)
t.map_fn(lambda x: t.reduce_sum(x[0]) + x[1], (t.ragged.constant([[1], []]), [7, 8]), dtype=t.int32)
t.split(R, 2)
t.split(R, [1, 3])
t.split(R, 3)
t.split(R, [1, 1])
t.split(R, 2, axis=1)
t.split(W, 2, axis=2)
t.split(W, [1, 1], axis=-1)
t.math.bessel_i0(t.cast(R, t.float32))
t.math.special.dawsn(t.cast(R, t.float32))
t.bitwise.invert(R)
t.bitwise.left_shift(R, R)
t.bitcast(R, t.uint32)
t.math.xlogy(t.cast(R, t.float32), t.cast(R, t.float32))
t.math.zeta(t.cast(R, t.float32) + 2.0, t.cast(R, t.float32) + 1.0)
t.scalar_mul(3, R)
t.nn.swish(t.cast(R, t.float32))
R
D
W
t.ragged.constant([[1, 2], []], dtype=t.float32, row_splits_dtype=t.int32)
t.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], ragged_rank=1)
t.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], inner_shape=(2,))
t.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], ragged_rank=1, inner_shape=(2,))
t.ragged.constant([[1, 2], [3]], ragged_rank=1, inner_shape=())
t.ragged.constant([])
t.ragged.constant([[], [[]]])
t.ragged.constant(3)
t.ragged.constant([1, 2])
t.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 3])
t.RaggedTensor.from_row_lengths([1., 2, 3], [0, 2, 1])
t.RaggedTensor.from_row_starts([1, 2, 3], [0, 2])
t.RaggedTensor.from_row_limits([1, 2, 3], [1, 3])
t.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2])
t.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=5)
t.RaggedTensor.from_value_rowids(t.zeros([0, 3]), np.zeros([0], np.int64))
t.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2)
t.RaggedTensor.from_uniform_row_length(t.zeros([0]), 0, nrows=3)
t.RaggedTensor.from_uniform_row_length(R, 2)
t.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 1, 3]])
t.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[1, 1], [1, 2]])
t.RaggedTensor.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 1, 1]])
t.RaggedTensor.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 1, 1]], [3, 4])
t.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 4])
t.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 1, 3])
t.RaggedTensor.from_row_splits([1, 2, 3], t.placeholder_with_default(np.int64([1, 3]), [2]))
t.RaggedTensor.from_row_lengths([1, 2, 3], [-1, 4])
t.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]])
t.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0)
t.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], lengths=[1, 5])
t.RaggedTensor.from_tensor([[[1, 2], [0, 0]], [[3, 0], [0, 0]]], padding=[0, 0])
t.RaggedTensor.from_tensor([[[1, 2], [0, 0]], [[3, 0], [0, 0]]], padding=0, ragged_rank=2)
t.RaggedTensor.from_tensor([[[1, 2], [0, 0]], [[3, 0], [0, 0]]], ragged_rank=2)
t.RaggedTensor.from_tensor([[[1, 2], [0, 0]], [[3, 0], [0, 0]]], lengths=([1, 2], [2, 1, 0]))
t.RaggedTensor.from_tensor(t.placeholder_with_default([[1, 2], [3, 4]], None), row_splits_dtype=t.int32)
t.RaggedTensor.from_sparse(t.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 2]))
t.RaggedTensor.from_sparse(t.SparseTensor([[0, 0], [0, 2]], [1, 2], [3, 3]))
R.to_tensor()
R.to_tensor(default_value=-1, shape=[None, 2])
R.to_tensor(shape=[5, 5])
D.to_tensor()
W.to_tensor()
T.to_tensor()
R.to_sparse()
D.to_sparse()
W.to_sparse()
R.nrows()
R.nrows(out_type=t.int32)
R.row_lengths()
R.row_starts()
R.row_limits()
D.row_lengths(axis=2)
D.row_lengths(axis=-1)
W.row_lengths(axis=2)
R.value_rowids()
D.nested_value_rowids()
D.nested_row_lengths()
R.bounding_shape()
D.bounding_shape(out_type=t.int32)
D.bounding_shape(axis=2)
W.bounding_shape(axis=[0, 1])
D.merge_dims(0, 1)
D.merge_dims(1, 2)
D.merge_dims(0, -1)
W.merge_dims(1, 2)
R.with_values([1.5] * 6)
D.with_flat_values(D.flat_values * 2)
R.with_row_splits_dtype(t.int32)
R[0]
R[-1]
R[1:3]
R[::2]
R[::-1]
R[5:]
R[3:1]
R[:, :1]
R[:, 1:]
R[:, -2:]
R[:, ::-1]
R[:, ::2]
R[:, -1:0:-1]
R[3, 1]
R[t.constant(2)]
R[..., :2]
D[0]
D[0, 1]
D[:, :, 1:]
D[:, 0:1, ::-1]
D[..., -1:]
D[:, t.newaxis]
D[t.newaxis]
D[:, :, t.newaxis]
D[2, 0, 1]
W[:, :, 0]
W[:, :, t.newaxis, 1]
R[:, 0]
R["a"]
t.ragged.range([3, 1, 5], [4, 4, 5])
t.ragged.range([3, 5, 2])
t.ragged.range(0, [3, 5, 2], 2)
t.ragged.range([3.0, 1.0], [0.0, 0.0], -1.5, row_splits_dtype=t.int32)
t.ragged.range([1, 2], [3, 4, 5])
t.ragged.row_splits_to_segment_ids([0, 3, 3, 5, 6, 9])
t.ragged.row_splits_to_segment_ids(np.int32([0, 2]), out_type=t.int64)
t.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2, 3])
t.ragged.segment_ids_to_row_splits([0, 2], num_segments=5, out_type=t.int32)
t.ragged.map_flat_values(t.ones_like, D)
t.ragged.map_flat_values(t.multiply, R, R + 1)
t.ragged.map_flat_values(t.add, R, 5)
t.ragged.map_flat_values(t.add, R, R[:, :1])
t.ragged.map_flat_values(lambda x: x[1:], R)
t.ragged.stack([[1, 2, 3], [4]])
t.ragged.stack([R, R])
t.ragged.stack([R, R], axis=1)
t.ragged.stack([R, R], axis=2)
t.ragged.stack([R])
t.ragged.stack([D, D], axis=-1)
t.ragged.stack([R, [[7, 8]]])
t.ragged.stack([1, 2])
t.ragged.stack([[[1, 2]], [[3, 4]]], axis=1)
t.ragged.stack([])
t.concat([R, R], 0)
t.concat([R, [[9, 9]]], 0)
t.concat([R, R[::-1]], 1)
t.concat([D, D], 2)
t.concat([R, D], 0)
t.stack([R, R])
t.ragged.stack_dynamic_partitions(["a", "b", "c", "d", "e"], [3, 0, 2, 2, 3], 5)
t.ragged.stack_dynamic_partitions(R, [1, 0, 1, 1], 3)
t.ragged.stack_dynamic_partitions([[1, 2], [3, 4]], [[1, 0], [0, 1]], 2)
t.ragged.stack_dynamic_partitions(R, R % 3, 3)
t.ragged.boolean_mask([1, 2, 3], [True, False, True])
t.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
t.ragged.boolean_mask(R, [True, False, False, True])
t.ragged.boolean_mask(R, R > 2)
t.ragged.boolean_mask(D, D > 2)
t.ragged.boolean_mask(D, t.ragged.constant([[True, False], [], [True]]))
t.ragged.boolean_mask(R, R[:, :1] > 2)
t.gather(R, [2, 0, 0])
t.gather(R, t.ragged.constant([[3], [1, 0]]))
t.gather([1, 2, 3], t.ragged.constant([[2], [1, 0]]))
t.gather(D, [[0, 1], [2, 0]])
t.gather(R, 3)
t.gather(R, t.ragged.constant([[0], [], [], [0, 0]], dtype=t.int64), batch_dims=1, axis=1)
t.gather([[1, 2], [3, 4]], t.ragged.constant([[0], [1, 0]], dtype=t.int64), batch_dims=1, axis=1)
t.batch_gather(D, t.ragged.constant([[1], [], [0, 0]], dtype=t.int64))
t.gather_nd(R, [[0, 1], [3, 0]])
t.gather_nd(D, [[0], [2]])
t.gather_nd(D, [[0, 1], [2, 0]])
t.gather_nd(D, [[[0, 1, 0]], [[2, 0, 2]]])
t.gather_nd(W, [[0, 0, 1]])
t.expand_dims(R, 0)
t.expand_dims(R, 1)
t.expand_dims(R, -1)
t.expand_dims(D, 2)
t.squeeze(t.expand_dims(R, 0), [0])
t.squeeze(t.expand_dims(R, 1), 1)
t.squeeze(t.expand_dims(R, 2), [2])
t.size(D)
t.rank(D)
t.tile(R, [2, 1])
t.tile(R, [1, 3])
t.tile(D, [2, 2, 2])
t.tile(W, [1, 2, 2])
t.tile(R, [0, 1])
t.reverse(R, [0])
t.reverse(D, [1, 2])
t.reverse(W, [-1])
t.where(R > 2)
t.where(R > 2, R, -R)
t.where([True, False, True, False], R, R * 10)
t.one_hot(R, 4)
t.zeros_like(R)
t.ones_like(D)
t.cast(R, t.float32)
t.identity(R)
R + 1
1 - R
R * R
R / 2
-R
abs(-R)
R ** 2
R // 2
7 % (R + 1)
R < 3
R >= t.constant([[1], [2], [3], [4]])
(R > 1) & (R < 5)
~(R > 1)
R + [[10], [20], [30], [40]]
R + t.constant(2)
t.constant(2) * R
D + t.reshape(t.range(3), [3, 1, 1])
W * [2, 3]
W + t.constant([[[1, 2]], [[3, 4]]])
R + [[1, 2], [3, 4], [5, 6], [7, 8]]
R + R[:, :1]
t.RaggedTensor.from_tensor([[1, 2], [3, 4]]) + [[10, 20], [30, 40]]
t.add(R, R)
t.maximum(R, 3)
t.equal(R, 2)
t.exp(t.cast(R, t.float64))
t.nn.relu(-t.cast(R, t.float32))
t.add_n([R, R, R])
t.clip_by_value(R, 2, 3)
t.reduce_sum(R)
t.reduce_sum(R, 0)
t.reduce_sum(R, 1)
t.reduce_sum(R, axis=-1, keepdims=True)
t.reduce_sum(R, axis=0, keepdims=True)
t.reduce_sum(R, axis=[0, 1])
t.reduce_sum(D, 0)
t.reduce_sum(D, 1)
t.reduce_sum(D, 2)
t.reduce_sum(D, [1, 2])
t.reduce_sum(D, [0, 2])
t.reduce_sum(W, 1)
t.reduce_sum(W, 2)
t.reduce_max(R, 1)
t.reduce_min(R, 1)
t.reduce_max(R, 0)
t.reduce_prod(R, 1)
t.reduce_mean(R, 1)
t.reduce_mean(t.cast(R, t.float32), 1)
t.reduce_mean(D, 0)
t.reduce_all(R > 2, 1)
t.reduce_any(R > 2, 1)
t.reduce_any(R > 2)
t.math.reduce_variance(t.cast(R, t.float64), 1)
t.math.reduce_std(t.cast(R, t.float64), 0)
t.reduce_sum(R, 2)
t.cumsum(R, 1)
t.cumsum(R, 1, exclusive=True, reverse=True)
t.cumsum(R, 0)
t.nn.embedding_lookup(t.reshape(t.range(14.0), [7, 2]), R)
t.strings.length(T)
t.strings.upper(T)
t.strings.join([T, T], "-")
t.strings.substr(T, 0, 1)
t.strings.reduce_join(T, axis=-1)
t.strings.reduce_join(T, axis=1, separator=" ")
t.strings.to_hash_bucket_fast(T, 10)
t.strings.regex_replace(T, "a", "b")
t.as_string(R)
t.strings.split(["a b", "c"], result_type="RaggedTensor")
t.strings.split(T, "b", result_type="RaggedTensor")
t.strings.split([["a b"], ["c"]], result_type="RaggedTensor")
t.strings.split([["a b"], ["c"]])
t.string_split(["a b", "c"], result_type="RaggedTensor")
t.string_split(["a b", "c"], result_type="Tensor")
t.strings.bytes_split(["ab", "", "c"])
t.strings.bytes_split("ab")
t.strings.bytes_split([["ab"], ["c"]])
t.strings.bytes_split(T)
t.strings.unicode_decode([b"a\\xc3\\xa9", b"", b"\\xff"], "UTF-8")
t.strings.unicode_decode(b"a\\xc3\\xa9", "UTF-8")
t.strings.unicode_decode([[b"ab"], [b"c"]], "UTF-8")
t.strings.unicode_decode(T, "UTF-8")
t.strings.unicode_decode([b"a\\xff"], "UTF-8", errors="ignore")
t.strings.unicode_decode_with_offsets([b"a\\xc3\\xa9b", b""], "UTF-8")
t.strings.unicode_decode_with_offsets(b"a\\xc3\\xa9b", "UTF-8")
t.strings.unicode_split([b"a\\xc3\\xa9b", b""], "UTF-8")
t.strings.unicode_split(b"a\\xc3\\xa9b", "UTF-8")
t.strings.unicode_split_with_offsets([b"a\\xc3\\xa9b", b""], "UTF-8")
t.strings.unicode_encode(R + 64, "UTF-8")
t.strings.unicode_encode(D + 64, "UTF-16-BE")
t.RaggedTensorSpec([2, None], t.int32).is_compatible_with(t.ragged.constant([[1], [2]]))
t.RaggedTensorSpec([None, None, None], t.int32).ragged_rank
t.RaggedTensorSpec([None, None], t.int32, row_splits_dtype=t.int32).is_compatible_with(R)
t.RaggedTensorSpec.from_value(D).ragged_rank
t.RaggedTensorSpec([3])
t.RaggedTensorSpec([3], ragged_rank=1)
t.gradients(t.reduce_sum(F * F), F.flat_values)
t.gradients(t.reduce_sum(t.reduce_max(F, 1) ** 2), F.flat_values)
t.gradients(t.gather(F, [3, 0, 0]).flat_values, F.flat_values)
t.cond(t.constant(True), lambda: R, lambda: R * 2)
"""


def _names(t: Any) -> dict[str, Any]:
    rows = t.ragged.constant([[3, 1, 4], [], [1, 5], [6]])
    return {
        "t": t,
        "np": np,
        "R": rows,
        "D": t.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6], []]]),
        "W": t.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1),
        "T": t.ragged.constant([["ab", "cba"], ["b"]]),
        "F": t.cast(rows, t.float64),
    }


def _parts(t: Any, made: Any) -> list[Any]:
    if isinstance(made, (list, tuple)):
        return [part for item in made for part in _parts(t, item)]
    if isinstance(made, t.SparseTensor):
        return [made.indices, made.values, made.dense_shape]
    if isinstance(made, t.RaggedTensor):
        return [*made.nested_row_splits, made.flat_values]
    return [made]


def _outcomes(t: Any, cases: Sequence[str]) -> list[tuple[list[Any], Any]]:
    """The outcomes of some cases, in one graph: it takes most of the time to make one."""
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        names = _names(t)
        return [_outcome(t, session, case, names) for case in cases]


def _outcome(t: Any, session: Any, case: str, names: dict[str, Any]) -> tuple[list[Any], Any]:
    """(kinds and static shapes, values) of a case, or the name of the error in place of both."""
    with session.graph.as_default():
        try:
            made = eval(case, dict(names))
        except Exception as error:
            return [type(error).__name__], None
        kinds: list[Any] = ["Tensor" if isinstance(made, t.Tensor) else type(made).__name__]
        if isinstance(made, t.RaggedTensor):
            kinds += [made.shape.as_list() if made.shape.rank is not None else None, made.ragged_rank]
        parts = _parts(t, made)
        tensors = [part for part in parts if isinstance(part, t.Tensor)]
        if not tensors:
            return kinds, [np.asarray(made)] if isinstance(made, (bool, int)) else []
        try:
            return kinds, session.run(tensors)
        except t.errors.OpError as error:
            return [type(error).__name__], None


LINES = CASES.strip().split("\n")


@pytest.mark.parametrize("first", range(0, len(LINES), 12))
def test_values_are_tensorflows(first: int) -> None:
    cases = LINES[first : first + 12]
    for case, ours, theirs in zip(cases, _outcomes(tf, cases), _outcomes(tensorflow, cases), strict=True):
        _check(case, *ours, *theirs)


def _check(case: str, kinds: Any, values: Any, expected_kinds: Any, expected: Any) -> None:
    assert kinds[:1] + kinds[2:] == expected_kinds[:1] + expected_kinds[2:], case
    for size, expected_size in zip(
        *(each[1] or [] for each in (kinds, expected_kinds) if each[1:]), strict=True
    ):
        assert expected_size in (size, None), (case, kinds, expected_kinds)
    for own, other in zip(values or [], expected or [], strict=True):
        assert np.asarray(own).dtype == np.asarray(other).dtype, case
        if np.asarray(other).dtype.kind in "fc":
            np.testing.assert_allclose(own, other, rtol=1e-6, err_msg=case)
        else:
            np.testing.assert_array_equal(own, other, err_msg=case)


@pytest.mark.parametrize("t", [tf, tensorflow], ids=["ours", "theirs"])
def test_sessions_feed_and_fetch_ragged_tensors(t: Any) -> None:
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        fed = t.ragged.placeholder(t.int32, 2, ())
        assert fed.shape.as_list() == [None, None, None]
        doubled = fed * 2
        value = t.ragged.constant_value([[[1], [2, 3]], []], dtype=np.int32)
        found, nested = session.run([doubled, {"a": (fed,)}], {fed: value})
        assert isinstance(found, t.ragged.RaggedTensorValue)
        assert found.to_list() == [[[2], [4, 6]], []]
        assert nested["a"][0].to_list() == value.to_list()
        assert found.dtype == np.int32
        assert (found.ragged_rank, found.shape) == (2, (2, None, None))
        assert [splits.tolist() for splits in found.nested_row_splits] == [[0, 2, 2], [0, 1, 3]]
        run = session.make_callable(doubled, [fed]) if t is tf else None
        if run is not None:
            assert run(value).to_list() == found.to_list()


VALUES = """
[[1, 2], [3]]
[[[1], []], []]
[]
[[], [[]]]
3
[1.5, 2]
[["a"], [b"b", "c"]]
[[1], [[2]]]
"""


@pytest.mark.parametrize("case", VALUES.strip().split("\n"))
def test_constant_values_are_tensorflows(case: str) -> None:
    found = []
    for t in (tf, tensorflow):
        try:
            value = t.ragged.constant_value(eval(case))
        except ValueError:
            found.append("ValueError")
            continue
        ragged = isinstance(value, t.ragged.RaggedTensorValue)
        dtype = value.flat_values.dtype if ragged else np.asarray(value).dtype
        found.append((type(value).__name__, value.to_list() if ragged else np.asarray(value).tolist(), dtype))
    assert found[0] == found[1]
