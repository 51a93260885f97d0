"""TensorShape and Dimension wherever TensorFlow takes a tensor, an int, or a list of them."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

import tensorfleet as tf
from tests.compat.side_by_side import both, check_values

EXPRESSIONS = """
tf.reshape(m, m.shape)
tf.reshape(m, [-1, m.shape[1]])
tf.reshape(m, (m.shape[1], -1))
tf.reshape(m, [np.int64(3), m.shape[0]])
tf.reshape(m, [m.shape[0] * m.shape[1]])
tf.reshape(m, [-1, p.shape[0]])
tf.reshape(p, [tf.shape(p)[0], p.shape[1], 1])
tf.fill([2, m.shape[1]], 1.0)
tf.fill([p.shape[0]], 1.0)
tf.tile(m, [1, m.shape[0]])
tf.pad(m, [[0, m.shape[0]], [1, 1]])
tf.broadcast_to(m, [2, m.shape[0], m.shape[1]])
tf.convert_to_tensor(m.shape)
tf.convert_to_tensor(m.shape, tf.int64)
tf.convert_to_tensor(m.shape, tf.float32)
tf.convert_to_tensor(m.shape, preferred_dtype=tf.int64)
tf.convert_to_tensor(m.shape, preferred_dtype=tf.float32)
tf.convert_to_tensor(m.shape[0])
tf.convert_to_tensor(m.shape[0], tf.int64)
tf.convert_to_tensor(m.shape[0], tf.float32)
tf.convert_to_tensor(m.shape[0], preferred_dtype=tf.int64)
tf.convert_to_tensor(m.shape[0], preferred_dtype=tf.float32)
tf.convert_to_tensor(p.shape)
tf.convert_to_tensor(p.shape[0])
tf.convert_to_tensor(p.shape[1])
tf.convert_to_tensor(u.shape)
tf.convert_to_tensor(tf.TensorShape([1 << 40]))
tf.convert_to_tensor(tf.TensorShape([1 << 40]), tf.int32)
tf.convert_to_tensor(tf.TensorShape([]))
tf.convert_to_tensor(m.shape.as_list())
tf.convert_to_tensor([m.shape[0], 2], tf.int64)
tf.convert_to_tensor([m.shape[0], 2], tf.int32)
tf.convert_to_tensor([m.shape[0], tf.shape(p)[0]])
tf.convert_to_tensor([tf.shape(p)[0], m.shape[0]])
tf.constant(m.shape)
tf.constant(m.shape, tf.int64)
tf.constant(m.shape[0])
tf.constant(m.shape[0], tf.int32)
tf.constant(m.shape[0], tf.int64)
tf.constant(m.shape[0], tf.float32)
tf.constant([m.shape[0], 1], tf.int32)
tf.constant([m.shape[0], 1], tf.float32)
tf.constant(p.shape)
tf.constant(p.shape[0])
tf.constant(7, shape=m.shape)
tf.constant(7, shape=[m.shape[0], 1])
m[:m.shape[0]]
m[m.shape[0] - 1]
m[0:m.shape[0], m.shape[1] - 1]
m[:, :m.shape[1]]
m[::m.shape[0]]
m[m.shape[0] // 2:]
m[:p.shape[0]]
m[p.shape[0]:]
m[p.shape[0]]
m[:tf.shape(p)[0], :m.shape[0]]
tf.shape(m)[m.shape[0]-1]
tf.range(m.shape[0])
tf.range(0, m.shape[0])
tf.range(0, m.shape[0], m.shape[0])
tf.range(m.shape[0], dtype=tf.int64)
tf.range(m.shape[0], dtype=tf.float32)
tf.range(p.shape[0])
tf.cast(m.shape[0], tf.float32)
tf.cast(m.shape, tf.float32)
tf.cast(m.shape[0], tf.int32)
tf.cast(m.shape[0], tf.int64)
tf.cast(p.shape[0], tf.int64)
tf.to_float(m.shape[0])
tf.identity(m.shape[0])
tf.identity(m.shape)
tf.fill(m.shape, 1.)
tf.fill([m.shape[0], 2], 1.)
tf.fill((m.shape[0], m.shape[1]), m.shape[0])
tf.fill(p.shape, 1.)
tf.fill([p.shape[0]], 1.)
tf.fill([tf.shape(p)[0], m.shape[0]], 1.)
tf.fill(m.shape[0], 1.)
tf.zeros(m.shape)
tf.zeros([m.shape[0]])
tf.zeros((m.shape[0], 3))
tf.zeros(p.shape)
tf.zeros([p.shape[0], 2])
tf.zeros([tf.shape(p)[0], m.shape[0]])
tf.zeros(m.shape[:1])
tf.zeros(m.shape[:1].concatenate([5]))
tf.zeros(m.shape[:1] + [5])
tf.zeros(m.shape.as_list())
tf.zeros([1000, m.shape[0]])
tf.ones(m.shape)
tf.ones([m.shape[0], m.shape[1]], tf.int32)
tf.tile(m, m.shape)
tf.tile(m, [m.shape[0], 1])
tf.tile(m, [1, tf.shape(p)[0]])
tf.reshape(m, [m.shape[0] * m.shape[1]])
tf.reshape(m, [-1, m.shape[0]])
tf.reshape(m, (m.shape[1], m.shape[0]))
tf.reshape(m, [m.shape.num_elements()])
tf.reshape(m, [tf.shape(m)[0], m.shape[1]])
tf.reshape(p, [tf.shape(p)[0], p.shape[1]])
tf.reshape(p, [p.shape[0], p.shape[1]])
tf.reshape(p, p.shape)
tf.reshape(m, m.shape[::-1])
tf.reshape(m, m.shape[1:].concatenate(m.shape[0]))
tf.reshape(m, m.shape.as_list())
tf.broadcast_to(m, m.shape)
tf.broadcast_to(1., [m.shape[0], 4])
tf.slice(m, [0, 0], m.shape)
tf.slice(m, [0, 0], [m.shape[0], 1])
tf.slice(m, [m.shape[0] - 1, 0], [-1, -1])
tf.strided_slice(m, [0, 0], m.shape)
tf.strided_slice(m, [0, 0], [m.shape[0], m.shape[1]], [1, 1])
tf.pad(m, [[m.shape[0], 0], [0, 0]])
tf.expand_dims(m, m.shape[0])
tf.expand_dims(m, tf.Dimension(1))
tf.squeeze(tf.zeros([1, 2]), [tf.Dimension(0)])
tf.random_normal(m.shape)
tf.random_normal([m.shape[0], 2])
tf.random_uniform((m.shape[0],))
tf.random_uniform([2], maxval=m.shape[0], dtype=tf.int32)
tf.truncated_normal(m.shape)
tf.truncated_normal([m.shape[0]], stddev=1.0 / m.shape[0].value)
tf.random_shuffle(m.shape)
tf.multinomial(m, m.shape[0])
tf.split(m, m.shape[0])
tf.split(m, [m.shape[0] - 1, 1])
tf.split(m, m.shape[0], axis=0)
tf.unstack(m, m.shape[0])
tf.unstack(m, num=m.shape[0].value)
tf.stack([m.shape[0], m.shape[1]])
tf.stack([m.shape[0], 2])
tf.stack([tf.shape(m)[0], m.shape[1]])
tf.stack(m.shape)
tf.stack([m] * m.shape[0])
tf.concat([m, m], tf.Dimension(1))
tf.concat([m.shape, [1]], 0)
tf.concat([[m.shape[0]], tf.shape(m)], 0)
tf.concat([tf.shape(m), m.shape], 0)
tf.concat([tf.shape(m), [m.shape[0]]], 0)
tf.gather(m, m.shape[0] - 1)
tf.gather(m, [m.shape[0] - 1])
tf.gather(m.shape, 0)
tf.transpose(m, [tf.Dimension(1), tf.Dimension(0)])
tf.reduce_sum(m, tf.Dimension(0))
tf.reduce_sum(m, [tf.Dimension(0)])
tf.reduce_mean(m) * m.shape[0]
m * m.shape[0]
m / m.shape[0]
m + tf.cast(m.shape[0], tf.float32)
tf.shape(m) * m.shape[0]
tf.shape(m)[0] + m.shape[0]
m.shape[0] + tf.shape(m)[0]
m.shape[0] * tf.shape(m)[0]
m.shape[0] - tf.shape(m)[0]
m.shape[0] // tf.shape(m)[0]
tf.shape(m)[0] // m.shape[0]
tf.shape(m)[0] % m.shape[0]
tf.shape(m) - m.shape
tf.equal(tf.shape(m), m.shape)
tf.equal(tf.shape(m)[0], m.shape[0])
tf.less(tf.shape(m)[0], m.shape[0])
tf.shape(m)[0] < m.shape[0]
tf.maximum(tf.shape(m)[0], m.shape[0])
tf.add(m.shape[0], 1)
tf.add(m.shape[0], m.shape[1])
tf.multiply(m.shape[0], m.shape[1])
tf.subtract(1, m.shape[0])
tf.sequence_mask([1, 2], m.shape[1])
tf.placeholder(tf.float32, [m.shape[0], None])
tf.placeholder(tf.float32, [p.shape[0], p.shape[1]])
tf.placeholder_with_default(m, m.shape)
tf.placeholder_with_default(m, [None, m.shape[1]])
tf.Variable(tf.zeros([m.shape[0]])).initial_value
tf.Variable(m.shape).initial_value
tf.Variable(m.shape[0]).initial_value
tf.get_variable("a", m.shape).initial_value
tf.get_variable("b", [m.shape[0], 3]).initial_value
tf.get_variable("c", m.shape[0]).initial_value
tf.get_variable("c", [p.shape[0]]).initial_value
tf.nn.top_k(m, tf.Dimension(1))[0]
tf.space_to_depth(tf.zeros([1, 2, 2, 1]), m.shape[0])
tf.unsorted_segment_sum(m, [0, 1], m.shape[0])
tf.nn.conv2d(img, tf.ones([1, 1, img.shape[3], 2]), [1, 1, 1, 1], "SAME")
tf.nn.conv2d(img, tf.ones([1, 1, 1, 2]), [1, m.shape[0], m.shape[0], 1], "SAME")
tf.nn.max_pool(img, [1, img.shape[1], img.shape[2], 1], [1, 1, 1, 1], "VALID")
tf.nn.avg_pool(img, [1, img.shape[1], img.shape[2], 1], [1, img.shape[1], 1, 1], "VALID")
tf.nn.conv2d_transpose(img, tf.ones([1, 1, 2, 1]), img.shape[:3].concatenate([2]), [1, 1, 1, 1])
tf.scatter_nd([[0]], [1.], m.shape[:1])
tf.sparse_to_dense([0], [m.shape[0]], 1.)
tf.ensure_shape(m, m.shape)
tf.cumsum(m, tf.Dimension(0))
tf.while_loop(lambda i: i < m.shape[0], lambda i: i + 1, [0])
tf.while_loop(lambda i: tf.less(i, m.shape[0]), lambda i: i + 1, [tf.constant(0)])
tf.cond(tf.equal(m.shape[0], 2), lambda: 1, lambda: 2)
tf.cond(tf.constant(True), lambda: m.shape[0], lambda: 0)
tf.TensorArray(tf.float32, m.shape[0]).size()
tf.group(tf.identity(m.shape[0])).name
tf.convert_to_tensor(np.array([m.shape[0]]))
tf.convert_to_tensor(np.int64(m.shape[0]))
tf.clip_by_value(tf.shape(m), 0, m.shape[0])
tf.where(tf.equal(tf.shape(m), m.shape))
tf.reverse(m, [tf.Dimension(0)])
tf.roll(m, m.shape[0], 0)
tf.nn.l2_normalize(m, tf.Dimension(1))
tf.diag(m.shape)
tf.size(m.shape)
tf.shape(m.shape)
tf.rank(m.shape)
tf.zeros_like(m.shape)
tf.ones_like(m.shape)
tf.string_to_number("3") + tf.cast(m.shape[0], tf.float32)
tf.as_string(m.shape)
tf.Print(m, [m.shape[0], m.shape])
tf.nn.moments(m, [tf.Dimension(0)])[0]
tf.sqrt(tf.cast(m.shape[1], tf.float32))
tf.sqrt(m.shape[0].value + 0.)
tf.pow(m, m.shape[0])
m ** m.shape[0]
m.shape[0].value * m
m.shape[0] * m
m.shape[0] + m
int(m.shape[0]) * m
tf.nn.in_top_k(m, [0, 1], m.shape[0])
tf.nn.lrn(img, m.shape[0])
tf.dynamic_partition(m, [0, 1], m.shape[0])
tf.parallel_stack([m.shape[0], 1])
tf.FIFOQueue(m.shape[0], tf.float32, shapes=[m.shape]).dequeue().shape.as_list() and m
tf.nn.softmax(m, tf.Dimension(1))
tf.get_static_value(tf.convert_to_tensor(m.shape)) * m
tf.shape(img)[1:3] * m.shape[0]
tf.shape(img)[m.shape[0]:]
tf.broadcast_dynamic_shape(m.shape, tf.shape(m))
tf.broadcast_dynamic_shape([m.shape[0]], [1])
tf.setdiff1d(m.shape, [2])
tf.invert_permutation([tf.Dimension(1), tf.Dimension(0)])
"""

# Ours take what TensorFlow's package of today refuses, or has under names of its own.
VALUES_ONLY = """
tf.reduce_prod(m.shape)
tf.eye(2, batch_shape=[m.shape[0]])
tf.assert_equal(tf.shape(m)[0], m.shape[0])
tf.losses.mean_squared_error(m, m, weights=m.shape[0])
tf.metrics.mean(m.shape[0])[0]
tf.train.exponential_decay(1., tf.constant(1), m.shape[0], .9)
tf.one_hot([0, 1], m.shape[0])
tf.matrix_band_part(m, m.shape[0], 0)
tf.nn.conv2d_transpose(img, tf.ones([1, 1, 2, 1]), [img.shape[0], 2, img.shape[2], 2], [1, 1, 1, 1])
tf.data.make_one_shot_iterator(tf.data.Dataset.range(m.shape[0]).batch(m.shape[0])).get_next()
tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(m.shape)).get_next()
tf.random_uniform(p.shape)
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("expression", _lines(EXPRESSIONS))
def test_same_graph_and_values(expression: str) -> None:
    theirs, mine = both(expression)
    assert mine.error == theirs.error, f"{theirs.text}\n{mine.text}"
    assert mine.shapes == theirs.shapes
    assert mine.nodes == theirs.nodes
    assert mine.attrs.keys() == theirs.attrs.keys()
    for name in mine.attrs:
        assert mine.attrs[name] == theirs.attrs[name], name
    check_values(mine, theirs)


@pytest.mark.parametrize("expression", _lines(VALUES_ONLY))
def test_same_values(expression: str) -> None:
    theirs, mine = both(expression)
    assert mine.error == theirs.error, f"{theirs.text}\n{mine.text}"
    assert mine.shapes == theirs.shapes
    check_values(mine, theirs)


def test_a_size_beyond_int32_is_int64() -> None:
    with tf.Graph().as_default():
        assert tf.convert_to_tensor(tf.Dimension(1 << 40)).dtype == tf.int64
        assert tf.convert_to_tensor(tf.TensorShape([1 << 40]), preferred_dtype=tf.int32).dtype == tf.int64
        with pytest.raises(ValueError, match="a dimension is too large"):
            tf.convert_to_tensor(tf.Dimension(1 << 40), tf.int32)
