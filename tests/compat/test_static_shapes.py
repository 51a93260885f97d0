"""Static shapes that follow from values which are known before any run are as strong as TensorFlow's."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("tensorflow")

import tensorfleet as tf
from tests.compat.side_by_side import both

EXPRESSIONS = """
tf.sequence_mask([1, 2])
tf.sequence_mask([[1], [5]])
tf.slice(m, [0, tf.shape(p)[0]], [1, 2])
tf.slice(m, [tf.shape(p)[0], 0], [-1, -1])
tf.slice(m, [0, tf.shape(p)[0]], [-1, -1])
tf.slice(p, [0, 1], [-1, -1])
tf.slice(p, [0, 1], [tf.shape(p)[0], -1])
tf.slice(m, tf.stack([0, tf.shape(p)[0]]), [-1, 2])
m[:tf.shape(p)[0], 1:]
m[tf.shape(p)[0]:, 1:3]
m[1, tf.shape(p)[0]:]
m[0:1, tf.shape(p)[0]]
p[:, tf.shape(p)[1] - 1:]
p[:, :tf.shape(p)[1] - 1]
m[::tf.shape(p)[0], 1:]
m[0:tf.shape(p)[0]]
m[tf.newaxis, :tf.shape(p)[0]]
m[..., :tf.shape(p)[0]]
m[:1, ..., :2]
tf.reshape(m, [tf.shape(p)[0], -1])
tf.reshape(p, [-1, tf.shape(p)[1]])
tf.reshape(p, [tf.shape(p)[0] * 3])
tf.reshape(m, [tf.shape(m)[0] * tf.shape(m)[1]])
tf.reshape(m, tf.stack([tf.shape(m)[1], tf.shape(m)[0]]))
tf.reshape(m, tf.concat([tf.shape(m)[1:], tf.shape(m)[:1]], 0))
tf.reshape(m, [tf.size(m)])
tf.reshape(m, tf.reverse(tf.shape(m), [0]))
tf.reshape(p, tf.concat([[-1], tf.shape(p)[1:]], 0))
tf.reshape(p, tf.concat([tf.shape(p)[:1], [3, 1]], 0))
tf.reshape(m, [tf.reduce_prod(tf.shape(m))])
tf.reshape(m, tf.cast(tf.shape(m), tf.int64))
tf.zeros(tf.shape(m) + 1)
tf.zeros(tf.shape(m) * 2)
tf.zeros(tf.shape(m) // 2)
tf.zeros([tf.shape(m)[0] + 1, 2])
tf.zeros([tf.maximum(tf.shape(m)[0], 5), 2])
tf.zeros(tf.maximum(tf.shape(m), [1, 7]))
tf.zeros([tf.rank(m)])
tf.zeros(tf.constant([2, 3]) + [1, 1])
tf.zeros(tf.shape(p) + 1)
tf.zeros([tf.shape(p)[0], 3])
tf.zeros([tf.shape(p)[1], 3])
tf.zeros(tf.shape(p)[1:])
tf.zeros(tf.gather(tf.shape(m), [1, 0]))
tf.zeros(tf.gather(tf.shape(p), [1]))
tf.zeros([tf.reduce_max([1, 4])])
tf.zeros([tf.reduce_sum([1, 4]), 2])
tf.zeros(tf.where([True, False], [1, 2], [3, 4]))
tf.zeros(tf.transpose([[1, 2]])[:, 0])
tf.zeros(tf.unstack(tf.shape(m)))
tf.zeros([tf.unstack(tf.shape(p))[1]])
tf.zeros(tf.squeeze([[2, 3]]))
tf.zeros(tf.expand_dims(3, 0))
tf.zeros(tf.tile([2], [2]))
tf.zeros(tf.fill([2], 3))
tf.zeros(tf.ones([2], tf.int32))
tf.zeros(tf.range(1, 4))
tf.zeros(tf.identity([2, 3]))
tf.zeros(tf.stop_gradient([2, 3]))
tf.zeros(tf.pad([2], [[1, 1]], constant_values=1))
tf.zeros(tf.shape(m, out_type=tf.int64))
tf.zeros([tf.to_int32(tf.sqrt(16.))])
tf.zeros([tf.cast(2.7, tf.int32)])
tf.zeros([tf.div(7, 2)])
tf.zeros([7 // tf.shape(m)[0]])
tf.zeros([tf.mod(7, 4)])
tf.zeros([tf.add_n([1, 2])])
tf.zeros([tf.cond(tf.constant(True), lambda: 1, lambda: 2)])
tf.zeros(tf.split([1, 2, 3, 4], 2)[1])
tf.zeros(tf.concat([[1], tf.shape(m)], 0))
tf.fill(tf.shape(m)[:1], 1.)
tf.fill([tf.shape(m)[0] * 2], 1.)
tf.tile(m, [1, tf.shape(m)[0]])
tf.tile(m, tf.shape(m))
tf.tile(p, [tf.shape(p)[0], 2])
tf.tile(m, tf.stack([tf.shape(p)[0], 2]))
tf.range(tf.shape(m)[0])
tf.range(tf.shape(m)[0] * 2)
tf.range(tf.size(m))
tf.range(0, tf.reduce_max([3, 5]), 2)
tf.range(tf.shape(p)[1])
tf.one_hot([1], tf.shape(m)[1])
tf.one_hot([1], tf.shape(m)[1] + 1)
tf.pad(m, tf.stack([[0, 1], [1, 0]]))
tf.pad(m, [[0, tf.shape(m)[0]], [0, 0]])
tf.expand_dims(m, tf.rank(m))
tf.transpose(m, tf.range(1, -1, -1))
tf.transpose(m, tf.concat([[1], [0]], 0))
tf.transpose(u, [1, 0])
tf.reduce_sum(m, tf.rank(m) - 1)
tf.reduce_sum(m, tf.range(1))
tf.reduce_sum(m, tf.range(tf.rank(m) - 1))
tf.reduce_sum(u, [0], keepdims=True)
tf.split(m, tf.stack([1, 2]), 1)
tf.concat([m, m], tf.rank(m) - 1)
tf.concat([m, p], 0)
tf.concat([m, u], 1)
tf.gather(m, [0], axis=tf.rank(m) - 1)
tf.broadcast_to(1., tf.shape(m) + 1)
tf.broadcast_to(m, tf.concat([[2], tf.shape(m)], 0))
tf.random_uniform(tf.shape(m))
tf.random_normal([tf.shape(m)[0] + 1])
tf.random_normal(tf.shape(p))
tf.scatter_nd([[0]], [1.], [tf.shape(m)[0]])
tf.unsorted_segment_sum(m, [0, 1], tf.shape(m)[0] + 1)
tf.sparse_to_dense([0], [tf.shape(m)[0] + 2], 1.)
tf.nn.top_k(m, tf.shape(m)[1] - 1)[0]
tf.linspace(0., 1., tf.shape(m)[0] + 2)
tf.eye(tf.shape(m)[0])
tf.eye(tf.shape(p)[0])
tf.matrix_diag(p)
tf.meshgrid(tf.range(tf.shape(m)[0]), tf.range(tf.shape(m)[1]))
tf.nn.conv2d_transpose(img, tf.ones([1, 1, 2, 1]), tf.stack([1, 2, 2, 2]), [1, 1, 1, 1])
tf.nn.conv2d_transpose(img, tf.ones([1, 1, 2, 1]), tf.concat([tf.shape(img)[:3], [2]], 0), [1, 1, 1, 1])
tf.squeeze(p[:1])
tf.boolean_mask(m, [True, False])
tf.boolean_mask(p, p[:, 0] > 0)
tf.where(m > 2)
tf.unique([1, 2])[0]
tf.dynamic_partition(m, [0, 1], 2)[0]
tf.dynamic_stitch([[0], [1]], [m[0:1], m[1:2]])
tf.dynamic_stitch([[0], [4]], [m[0:1], m[1:2]])
tf.multinomial(m, tf.shape(m)[0] + 1)
tf.random_poisson(1., tf.shape(m))
tf.stack([p, p], 1)
tf.unstack(p, axis=1)[0]
tf.matmul(p, p, transpose_a=True)
tf.map_fn(lambda x: x * 2, m)
tf.scan(lambda a, x: a + x, m)
tf.foldl(lambda a, x: a + x, m)
tf.while_loop(lambda x: tf.reduce_sum(x) < 9, lambda x: x + 1, [m])
tf.cond(m[0, 0] > 0, lambda: m, lambda: p)
tf.reverse_sequence(m, [1, 2], 1)
tf.placeholder_with_default(m, [None, 3]) + m
p + tf.ones([1, 3])
p + tf.ones([3])
tf.maximum(p, u)
tf.nn.softmax(p)
tf.shape(p)
tf.shape(u)
tf.reduce_mean(p, 0)
tf.confusion_matrix([0, 1], [0, 1])
tf.confusion_matrix([0, 1], [0, 1], 4)
tf.batch_gather(m, [[0], [1]])
tf.gather_nd(m, [[0, 1]])
tf.strided_slice(m, [0, 0], tf.shape(m))
tf.strided_slice(m, tf.stack([0, tf.shape(p)[0]]), [2, 3])
tf.strided_slice(p, [0, 1], [2, 3])
tf.strided_slice(m, [0], [1])
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.split("\n")[1:-1])
def test_same_shapes(expression: str) -> None:
    theirs, mine = both(expression, run=False)
    assert mine.error == theirs.error, f"{theirs.text}\n{mine.text}"
    assert mine.shapes == theirs.shapes


def test_values_that_tensors_share_are_computed_once() -> None:
    began = time.monotonic()
    with tf.Graph().as_default():
        size = tf.constant(1)
        for _ in range(30):
            size = size + size - size
        assert tf.zeros([size]).shape.as_list() == [1]
    assert time.monotonic() - began < 60  # a deadline: by paths there would be 3 ** 30 computations


def test_long_chains_end() -> None:
    with tf.Graph().as_default():
        size = tf.constant(0)
        for _ in range(1500):
            size = size + 1
        assert tf.zeros([size]).shape.as_list() == [None]


def test_static_values_are_those_of_tensorflow() -> None:
    with tf.Graph().as_default():
        assert tf.get_static_value(tf.constant(1) + 1) is None
        assert tf.get_static_value(tf.shape(tf.zeros([2, 3]))).tolist() == [2, 3]
