"""Arithmetic and parts of SparseTensors, embeddings of them, their gradients: beside TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

VALUES = """
t.sparse_add(a, b)
t.sparse_add(a, b, 2.5)
t.sparse_add(a, d)
t.sparse_add(d, a)
t.sparse_add(e, a)
t.sparse_add(c, c)
t.sparse_concat(0, [a, b])
t.sparse_concat(1, [a, b])
t.sparse_concat(-1, [a, b, a])
t.sparse_concat(1, [a, wide])
t.sparse_concat(1, [a, tall], expand_nonconcat_dim=True)
t.sparse_concat(-1, [a, tall], expand_nonconcat_dim=True)
t.sparse_concat(0, [a, wide], expand_nonconcat_dim=True)
t.sparse_concat(2, [cube, cube])
t.sparse_slice(a, [0, 1], [2, 2])
t.sparse_slice(a, [1, 0], [9, 9])
t.sparse_slice(a, [3, 0], [2, 2])
t.sparse_slice(cube, [0, 1, 0], [2, 2, 1])
t.sparse_split(sp_input=a, num_split=2, axis=1)
t.sparse_split(sp_input=a, num_split=2, axis=0)
t.sparse_split(sp_input=wide, num_split=3, axis=1)
t.sparse_reshape(a, [4, -1])
t.sparse_reshape(a, [2, 3, 2])
t.sparse_reshape(a, [12])
t.sparse_reshape(cube, t.constant([-1, 2], t.int64))
t.sparse_transpose(a)
t.sparse_transpose(cube, [1, 2, 0])
t.sparse.expand_dims(a)
t.sparse.expand_dims(a, 0)
t.sparse.expand_dims(cube, -2)
t.sparse_reduce_sum(a)
t.sparse_reduce_sum(a, 1)
t.sparse_reduce_sum(a, [0], keepdims=True)
t.sparse_reduce_sum(cube, [0, -1])
t.sparse_reduce_sum(cube, [])
t.sparse_reduce_sum(empty, 1)
t.sparse_reduce_max(a, 1)
t.sparse_reduce_max(cube, [0, 2], True)
t.sparse_reduce_max(empty, 0)
t.sparse_reduce_sum_sparse(a, 1)
t.sparse_reduce_sum_sparse(cube, [1], True)
t.sparse_reduce_max_sparse(cube, [0, 1])
t.sparse_softmax(a)
t.sparse_softmax(cube)
t.sparse_softmax(empty)
t.sparse_retain(a, [True, False, True, True])
t.sparse_reset_shape(a)
t.sparse_reset_shape(a, [7, 8])
t.sparse_reset_shape(empty)
t.sparse_fill_empty_rows(a, 9.)
t.sparse_fill_empty_rows(empty, 9.)
t.sparse_fill_empty_rows(words, "none")
t.sparse_fill_empty_rows(messy, 9.)
t.sparse_to_indicator(full, 10)
t.sparse_mask(t.IndexedSlices(t.constant(D), t.constant([5, 6, 7])), t.constant([6]))
t.sparse_maximum(a, b)
t.sparse_minimum(a, b)
t.sparse.from_dense([[0, 1], [2, 0]])
t.sparse.from_dense(["", "a"])
t.sparse.eye(3)
t.sparse.eye(2, 4, t.int32)
t.sparse_tensor_dense_matmul(a, dt)
t.sparse_tensor_dense_matmul(a, d, adjoint_a=True)
t.sparse_tensor_dense_matmul(a, d, adjoint_b=True)
t.sparse_tensor_dense_matmul(a, d[:, :3], adjoint_a=True, adjoint_b=True)
t.sparse_tensor_dense_matmul(dt, a)
t.sparse_tensor_dense_matmul(d, a, adjoint_b=True)
t.sparse_tensor_dense_matmul(c, t.complex(dt, 2. * dt))
t.sparse_tensor_dense_matmul(c, t.complex(d, 2. * d), adjoint_a=True)
t.sparse_tensor_dense_matmul(messy, dt)
t.sparse_matmul(d, d, transpose_b=True, a_is_sparse=True)
a * d
a * [1., 2., 3., 4.]
a * 2.
d * a
a / d
a / [[1.], [2.], [3.]]
ids * 2
ids / t.constant([2, 3, 4, -2], t.int64)
t.sparse.cross([words, ids])
t.sparse.cross([words, t.constant([["x", "y"], ["z", ""], ["u", "v"]])], separator="&")
t.sparse.cross([ids, t.constant([[1], [2], [3]])])
t.sparse.cross_hashed([words, ids], 100)
t.sparse.cross_hashed([ids, t.constant([[1], [2], [3]], t.int64)])
t.sparse.cross_hashed([ids, ids], 7, 99)
t.sparse.cross_hashed([words], 1000)
t.nn.embedding_lookup_sparse(table, full, None)
t.nn.embedding_lookup_sparse(table, full, None, combiner="sqrtn")
t.nn.embedding_lookup_sparse(table, full, None, combiner="sum")
t.nn.embedding_lookup_sparse(table, full, weights, combiner="mean")
t.nn.embedding_lookup_sparse(table, full, weights, combiner="sqrtn")
t.nn.embedding_lookup_sparse(table, full, weights, combiner="sum", max_norm=1.)
t.nn.embedding_lookup_sparse(parts, full, weights)
t.nn.embedding_lookup_sparse(parts, full, None, "div", combiner="sum")
t.nn.embedding_lookup_sparse(cubes, full, weights, combiner="mean")
t.nn.safe_embedding_lookup_sparse([table], ids)
t.nn.safe_embedding_lookup_sparse([table], ids, default_id=2)
t.nn.safe_embedding_lookup_sparse(parts, ids, idweights, combiner="sum")
t.nn.safe_embedding_lookup_sparse(parts, ids, idweights, "sqrtn", default_id=1, max_norm=0.5)
t.nn.safe_embedding_lookup_sparse([table], cubeids, combiner="sum")
t.cast(ids, t.int32)
t.abs(a)
t.negative(a)
t.square(a)
t.tanh(a)
t.stop_gradient(a)
t.size(a)
t.size(a, out_type=t.int64)
t.rank(a)
t.zeros_like(a)
t.zeros_like(a, t.int32)
"""

REFUSED = """
t.sparse_add(a, wide)
t.sparse_add(a, t.ones([3, 5]))
t.sparse_concat(0, [a, wide])
t.sparse_split(sp_input=a, num_split=5, axis=0)
t.sparse_reshape(a, t.placeholder_with_default(np.array([5, 5], np.int64), [None]))
t.sparse_reshape(a, t.placeholder_with_default(np.array([-1, -1], np.int64), [None]))
t.sparse_softmax(t.SparseTensor(t.zeros([1, 1], t.int64), [1.], [3]))
t.sparse_maximum(a, wide)
t.sparse_fill_empty_rows(outside, 1.)
t.sparse_reset_shape(a, t.placeholder_with_default(np.array([1, 5], np.int64), [None]))
t.sparse_tensor_dense_matmul(hidden(a), t.placeholder_with_default(D, None))
t.sparse_tensor_dense_matmul(outside, dt)
hidden(a) * t.placeholder_with_default(np.ones([2, 2], np.float32), None)
t.sparse_reduce_sum(hidden(a), t.placeholder_with_default(np.array([5], np.int32), None))
t.nn.embedding_lookup_sparse(table, ids, None)
"""

NOT_BUILT = """
t.sparse_add(d, d)
t.sparse_add(a, words)
t.sparse_concat(0, d)
t.sparse_concat(0, [a, cube])
t.sparse_retain(a, [True])
t.sparse_reset_shape(a, [1, 1])
t.sparse_reset_shape(a, [4, 4, 4])
t.sparse_reshape(a, [5, 5])
t.sparse_tensor_dense_matmul(d, d)
t.sparse_split(num_split=2, axis=0)
t.sparse_split(a, 2, 0)
t.nn.embedding_lookup_sparse(table, full, None, combiner="max")
t.nn.embedding_lookup_sparse(table, d, None)
t.sparse.cross([1])
2. * a
"""

GRADIENTS = """
t.sparse_add(a, b).values
t.sparse_add(a, d)
t.sparse_reorder(messy).values
t.sparse_reduce_sum(a, 1)
t.sparse_reduce_sum(a)
t.sparse_reduce_sum(a, [-2], True)
t.sparse_softmax(a).values * [1., 2., 3., 4.]
t.sparse_tensor_dense_matmul(a, dt)
t.sparse_tensor_dense_matmul(a, d, adjoint_a=True)
t.sparse_tensor_dense_matmul(a, d, adjoint_b=True)
t.sparse_tensor_dense_matmul(d, a, adjoint_b=True)
(a * d).values
(a / d).values
(a * d[0]).values
(a / d[:, :1]).values
t.sparse_fill_empty_rows(a, d[0, 0])[0].values
t.sparse_slice(a, [0, 1], [2, 2]).values
t.sparse_tensor_to_dense(a)
t.sparse_transpose(a).values
t.sparse_reshape(a, [4, 3]).values
t.sparse_retain(a, [True, False, True, True]).values
t.sparse_matmul(d, d, transpose_b=True)
t.sparse_matmul(d, d, transpose_a=True)
t.nn.embedding_lookup_sparse(table, full, None)
t.nn.embedding_lookup_sparse(table, full, weights, combiner="sqrtn")
t.nn.embedding_lookup_sparse(parts, full, weights, combiner="sum")
t.nn.safe_embedding_lookup_sparse([table], ids, idweights, max_norm=1.)
t.sparse_segment_sum(table, [0, 2, 2], [0, 0, 2])
t.sparse_segment_mean(table, [0, 2, 2], [0, 0, 2])
t.sparse_segment_sqrt_n(table, [0, 2, 2], [0, 0, 2], num_segments=4)
t.sparse_segment_sum(table, [2, 0, 2], [0, 0, 2], sparse_gradient=True)
t.sparse_segment_mean(table, [2, 0, 2], [0, 0, 2], sparse_gradient=True)
t.sparse_segment_sqrt_n(table, [2, 0, 2], [0, 0, 2], sparse_gradient=True)
"""

# The same nodes, by name, op type and inputs.
SAME_GRAPHS = """
t.sparse_add(a, b)
t.sparse_add(a, d)
t.sparse_concat(1, [a, b])
t.sparse_concat(-1, [a, tall], expand_nonconcat_dim=True)
t.sparse_slice(a, [0, 1], [2, 2])
t.sparse_split(sp_input=a, num_split=2, axis=1)
t.sparse_reshape(a, [4, -1])
t.sparse_transpose(a)
t.sparse_transpose(a, [1, 0])
t.sparse.expand_dims(a, 0)
t.sparse_reduce_sum(a)
t.sparse_reduce_max_sparse(a, [0], True)
t.sparse_softmax(a)
t.sparse_retain(a, [True, False, True, True])
t.sparse_reset_shape(a)
t.sparse_reset_shape(a, [7, 8])
t.sparse_fill_empty_rows(a, 1.)
t.sparse_to_indicator(ids, 10)
t.sparse_maximum(a, b)
t.sparse.from_dense(d)
t.sparse.eye(3)
t.sparse.eye(t.shape(d)[0], 4)
t.sparse.cross([words, ids], separator="_")
t.sparse.cross_hashed([words, ids], 100)
t.sparse_tensor_dense_matmul(a, dt)
t.sparse_tensor_dense_matmul(d, a, adjoint_b=True)
a * d
d * a
a / 2.
t.nn.embedding_lookup_sparse(table, full, None)
t.nn.embedding_lookup_sparse(table, full, weights)
t.nn.embedding_lookup_sparse(table, full, weights, combiner="sqrtn")
t.nn.safe_embedding_lookup_sparse([table], ids, idweights, combiner="sum", default_id=1)
t.nn.safe_embedding_lookup_sparse([table], ids, default_id=2)
t.gradients(t.sparse_add(a, b).values, a.values)
t.gradients(t.sparse_add(d, a), [a.values, d])
"""


def _cases(text: str) -> list[str]:
    return text.strip().split("\n")


RANDOM = np.random.RandomState(1)
D = RANDOM.randn(3, 4).astype(np.float32)
TABLE = RANDOM.randn(6, 2).astype(np.float32)


def _names(t: Any) -> dict[str, Any]:
    def sparse(indices: Any, values: Any, shape: Any, dtype: Any = None) -> Any:
        places = np.array(indices, np.int64).reshape(-1, len(shape))
        return t.SparseTensor(places, t.constant(values, dtype), np.array(shape, np.int64))

    def hidden(x: Any) -> Any:
        """Of unknown shape."""
        return t.SparseTensor(x.indices, x.values, t.placeholder_with_default(x.dense_shape, [None]))

    cube = [[0, 0, 1], [0, 2, 0], [1, 1, 1], [2, 0, 0], [2, 1, 0]]
    table = t.constant(TABLE)
    return {
        "t": t,
        "np": np,
        "D": D,
        "hidden": hidden,
        "a": sparse([[0, 1], [0, 3], [2, 0], [2, 2]], [1.0, -2.0, 3.5, 4.0], [3, 4]),
        "b": sparse([[0, 1], [1, 3], [2, 0]], [2.0, 1.0, -3.5], [3, 4]),
        "c": sparse([[0, 1], [2, 3]], [1 + 2j, 3 - 1j], [3, 4], t.complex64),
        "wide": sparse([[0, 4], [1, 0], [2, 3]], [5.0, 6.0, 7.0], [3, 5]),
        "tall": sparse([[0, 1], [4, 2]], [5.0, 6.0], [5, 3]),
        "messy": sparse([[2, 2], [0, 1], [2, 0], [0, 3]], [1.0, 2.0, 3.0, 4.0], [3, 4]),
        "outside": sparse([[0, 1], [3, 4]], [5.0, 6.0], [3, 4]),
        "empty": sparse([], np.zeros(0, np.float32), [3, 4]),
        "cube": sparse(cube, [1.0, 2.0, 3.0, -4.0, 5.0], [3, 3, 2]),
        "cubeids": sparse(cube, [1, 2, 3, -4, 5], [3, 3, 2], t.int64),
        "words": sparse([[0, 0], [0, 1], [2, 0]], ["to", "be", "or"], [3, 2]),
        "ids": sparse([[0, 0], [0, 1], [2, 0], [2, 3]], [1, 3, -1, 5], [3, 4], t.int64),
        "idweights": sparse([[0, 0], [0, 1], [2, 0], [2, 3]], [0.5, 2.0, 1.0, 0.0], [3, 4]),
        "full": sparse([[0, 0], [0, 1], [1, 0], [2, 1]], [1, 3, 3, 5], [3, 4], t.int64),
        "weights": sparse([[0, 0], [0, 1], [1, 0], [2, 1]], [0.5, 2.0, 1.0, 3.0], [3, 4]),
        "d": t.constant(D),
        "e": t.constant(D) * 2.0,
        "dt": t.constant(D.T.copy()),
        "table": table,
        "parts": [table[:3], table[3:]],
        "cubes": t.reshape(t.tile(table, [1, 2]), [6, 2, 2]),
    }


def _flat(t: Any, value: Any) -> list[Any]:
    """The tensors of a result, in one order for both libraries."""
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _flat(t, item)]
    if isinstance(value, t.SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, t.IndexedSlices):
        return [value.indices, value.values]
    return [] if value is None else [value]


def _run(t: Any, build: Any) -> list[Any]:
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        made = _flat(t, build(_names(t)))
        found = session.run(made)
        for tensor, value in zip(made, found, strict=True):
            assert tensor.shape.is_compatible_with(np.shape(value)), (tensor, value)
        return list(found)


def _compare(build: Any) -> None:
    ours, theirs = _run(tf, build), _run(tensorflow, build)
    assert len(ours) == len(theirs)
    for own, other in zip(ours, theirs, strict=True):
        assert own.dtype == other.dtype
        if own.dtype == object or own.dtype.kind in "iub":
            np.testing.assert_array_equal(own, other)
        else:
            np.testing.assert_allclose(own, other, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("case", _cases(VALUES))
def test_the_same_values(case: str) -> None:
    _compare(lambda names: eval(case, names))


@pytest.mark.parametrize("case", _cases(GRADIENTS))
def test_the_same_gradients(case: str) -> None:
    def build(names: dict[str, Any]) -> Any:
        t = names["t"]
        xs = [
            *(names[x].values for x in ("a", "b", "messy", "weights", "idweights")),
            names["d"],
            names["table"],
        ]
        result = eval(case, names)
        grads = t.gradients(result * result, xs)
        assert any(grad is not None for grad in grads)
        return [grad if grad is None else t.convert_to_tensor(grad) for grad in grads]

    _compare(build)


def _error(t: Any, case: str) -> type[Exception]:
    with pytest.raises((t.errors.OpError, ValueError, TypeError)) as info:
        _run(t, lambda names: eval(case, names))
    return info.type


@pytest.mark.parametrize("case", _cases(REFUSED))
def test_what_runs_refuse(case: str) -> None:
    ours, theirs = _error(tf, case), _error(tensorflow, case)
    assert ours.__name__ == theirs.__name__


@pytest.mark.parametrize("case", _cases(NOT_BUILT))
def test_what_is_not_built(case: str) -> None:
    ours, theirs = _error(tf, case), _error(tensorflow, case)
    assert ours is theirs


@pytest.mark.parametrize("case", _cases(SAME_GRAPHS))
def test_the_same_graph(case: str) -> None:
    def nodes(t: Any) -> Any:
        with t.Graph().as_default() as graph:
            eval(case, _names(t))
            return [
                (n.name, n.op, [i for i in n.input if "Const" not in i])
                for n in graph.as_graph_def().node
                if n.op != "Const"
            ]

    assert nodes(tf) == nodes(tensorflow)


@pytest.mark.parametrize("buckets", [0, 3])
def test_keys_of_tables(buckets: int) -> None:
    def run(t: Any) -> Any:
        with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
            words = _names(t)["words"]
            init = t.lookup.KeyValueTensorInitializer(["to", "or"], np.array([0, 1], np.int64))
            table = (
                t.lookup.StaticVocabularyTable(init, buckets)
                if buckets
                else t.lookup.StaticHashTable(init, -1)
            )
            found = table.lookup(words)
            assert isinstance(found, t.SparseTensor)
            session.run(t.tables_initializer())
            return session.run(found)

    for own, other in zip(run(tf), run(tensorflow), strict=True):
        np.testing.assert_array_equal(own, other)
        assert own.dtype == other.dtype


@pytest.mark.parametrize("kind", ["batch", "shuffle_batch", "enqueue_many", "a dict"])
def test_batches_of_sparse_tensors(kind: str) -> None:
    def run(t: Any) -> Any:
        with t.Graph().as_default() as graph:
            places, shape = np.array([[0, 1], [2, 0], [2, 3]], np.int64), np.array([3, 4], np.int64)
            sparse = t.SparseTensor(places, t.constant([1.0, 2.0, 3.0]), shape)
            dense = t.constant([1, 2, 3])
            if kind == "shuffle_batch":
                made = t.train.shuffle_batch([sparse, dense], 2, 10, 2)
            elif kind == "a dict":
                made = t.train.batch({"s": sparse, "d": dense}, 2)
                made = [made["s"], made["d"]]
            else:
                made = t.train.batch([sparse, dense], 2, enqueue_many=kind == "enqueue_many")
            with t.Session(graph=graph) as session:
                coordinator = t.train.Coordinator()
                threads = t.train.start_queue_runners(session, coordinator)
                try:
                    found = [session.run(made) for _ in range(2)]
                finally:
                    coordinator.request_stop()
                    coordinator.join(threads, stop_grace_period_secs=60, ignore_live_threads=True)
            assert made[0].shape.ndims == len(found[0][0].dense_shape)
            return found

    for ours, theirs in zip(run(tf), run(tensorflow), strict=True):
        for own, other in zip((*ours[0], ours[1]), (*theirs[0], theirs[1]), strict=True):
            np.testing.assert_array_equal(own, other)
            assert own.dtype == other.dtype
