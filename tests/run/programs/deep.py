"""A convolutional network with scopes, summaries and a saver, by tf.nn alone."""

import os
import tempfile

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("data_dir", "MNIST_data", "where the data are")
FLAGS = flags.FLAGS


def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


def deepnn(x):
    with tf.name_scope("reshape"):
        x_image = tf.reshape(x, [-1, 28, 28, 1])
    with tf.name_scope("conv1"):
        W_conv1 = weight_variable([5, 5, 1, 8])
        h_conv1 = tf.nn.relu(
            tf.nn.conv2d(x_image, W_conv1, strides=[1, 2, 2, 1], padding="SAME") + bias_variable([8])
        )
    h_pool1 = tf.nn.max_pool(h_conv1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    h_flat = tf.reshape(h_pool1, [-1, 7 * 7 * 8])
    h_fc1 = tf.nn.relu(tf.matmul(h_flat, weight_variable([7 * 7 * 8, 32])) + bias_variable([32]))
    keep_prob = tf.placeholder(tf.float32)
    h_drop = tf.nn.dropout(h_fc1, keep_prob)
    return tf.matmul(h_drop, weight_variable([32, 10])) + bias_variable([10]), keep_prob


def main(_):
    mnist = input_data.read_data_sets(FLAGS.data_dir)
    x = tf.placeholder(tf.float32, [None, 784])
    y_ = tf.placeholder(tf.int64, [None])
    y_conv, keep_prob = deepnn(x)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y_, logits=y_conv)
    tf.summary.scalar("loss", loss)
    tf.summary.image("input", tf.reshape(x, [-1, 28, 28, 1]), 3)
    merged = tf.summary.merge_all()
    train_step = tf.train.AdamOptimizer(1e-2).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(y_conv, 1), y_), tf.float32))
    saver = tf.train.Saver(max_to_keep=2)
    logdir = tempfile.mkdtemp()
    writer = tf.summary.FileWriter(logdir, tf.get_default_graph())
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(30):
            batch = mnist.train.next_batch(50)
            summary, _ = sess.run([merged, train_step], {x: batch[0], y_: batch[1], keep_prob: 0.8})
            writer.add_summary(summary, i)
        path = saver.save(sess, os.path.join(logdir, "model.ckpt"), global_step=30)
        result = accuracy.eval({x: mnist.test.images[:500], y_: mnist.test.labels[:500], keep_prob: 1.0})
    with tf.Session() as sess:
        saver.restore(sess, tf.train.latest_checkpoint(logdir))
        again = accuracy.eval({x: mnist.test.images[:500], y_: mnist.test.labels[:500], keep_prob: 1.0})
    assert result == again and path.endswith("-30")
    print("accuracy", result)


if __name__ == "__main__":
    tf.app.run(main=main)
