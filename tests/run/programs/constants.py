"""Older ways to say things: sequences as values, arguments under their first names."""

import collections

import numpy as np
import tensorflow as tf

assert tf.constant(range(3)).shape.as_list() == [3]
values = (
    tf.constant(collections.deque([1.0, 2.0])),
    tf.convert_to_tensor(range(2, 5)),
    tf.constant(np.arange(3)),
)
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
named = [
    tf.reduce_sum(x, reduction_indices=[1], keep_dims=True),
    tf.reduce_mean(x, axis=0, keep_dims=True),
    tf.argmax(x, dimension=1),
    tf.argmin(input=x, dimension=0),
    tf.expand_dims(x, dim=0),
    tf.nn.softmax(x, dim=0),
    tf.squeeze(tf.expand_dims(x, 0), squeeze_dims=[0]),
    tf.nn.l2_normalize(x, dim=1),
    tf.concat(axis=0, values=[x, x]),
    tf.split(value=x, num_or_size_splits=2, axis=1)[0],
    tf.reverse(x, axis=[1]),
    tf.reduce_max(x, reduction_indices=0),
    tf.reduce_any(x > 1, keep_dims=True),
    tf.norm(x, keep_dims=True),
    tf.nn.moments(x, axes=[0], keep_dims=True)[0],
    tf.one_hot([1], depth=3),
    tf.sequence_mask([1, 2], maxlen=3),
    tf.cumsum(x, exclusive=True),
    tf.to_float([1]),
    tf.reverse_sequence(x, [1, 2], seq_dim=1, batch_dim=0),
    tf.count_nonzero(x, keep_dims=True),
    tf.reduce_logsumexp(x, reduction_indices=[0]),
    tf.random_uniform([2], 0, 1, tf.float32),
    tf.multinomial(x, 1),
]
v = tf.get_variable("v", [2])
w = tf.Variable([1.0], name="w", trainable=True, collections=None)
loss = tf.reduce_sum(v) * tf.reduce_sum(w)
for var_list in ({v, w}, (v, w), iter([v]), {"a": v}.values(), tf.trainable_variables(), v):
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=var_list)
tf.train.Saver(var_list=iter([v])), tf.variables_initializer(iter([v, w]))
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    print("all of", len(sess.run(list(values) + named)))
