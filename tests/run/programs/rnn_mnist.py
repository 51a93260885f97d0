"""Images as sequences of rows: an LSTM, and a bidirectional one, by tf.contrib.rnn."""

import sys

import tensorflow as tf
from tensorflow.contrib import rnn
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)
x = tf.placeholder("float", [None, 28, 28])
y = tf.placeholder("float", [None, 10])
rows = tf.unstack(x, 28, 1)
with tf.variable_scope("one"):
    outputs, _ = rnn.static_rnn(rnn.BasicLSTMCell(16, forget_bias=1.0), rows, dtype=tf.float32)
with tf.variable_scope("two"):
    cells = rnn.MultiRNNCell(
        [rnn.DropoutWrapper(rnn.LSTMBlockCell(8), output_keep_prob=1.0) for _ in range(2)]
    )
    both, state = tf.nn.dynamic_rnn(cells, x, dtype=tf.float32)
with tf.variable_scope("three"):
    sides, _, _ = rnn.static_bidirectional_rnn(
        rnn.GRUCell(4), rnn.LayerNormBasicLSTMCell(4), rows, dtype=tf.float32
    )
last = tf.concat([outputs[-1], both[:, -1, :], sides[-1]], 1)
pred = tf.layers.dense(last, 10)
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=pred, labels=y))
optimizer = tf.train.AdamOptimizer(learning_rate=0.02).minimize(cost)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1)), tf.float32))
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for step in range(30):
        batch_x, batch_y = mnist.train.next_batch(64)
        sess.run(optimizer, feed_dict={x: batch_x.reshape((64, 28, 28)), y: batch_y})
    test = mnist.test.images[:256].reshape((-1, 28, 28))
    print("accuracy", sess.run(accuracy, feed_dict={x: test, y: mnist.test.labels[:256]}))
