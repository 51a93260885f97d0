"""A variational autoencoder with contrib.layers and an argument scope."""

import numpy as np
import tensorflow as tf
import tensorflow.contrib.layers as layers
from tensorflow.contrib.framework import arg_scope
from tensorflow.python.framework import ops

ops.reset_default_graph()
x = tf.placeholder(tf.float32, shape=(None, 20))
with arg_scope(
    [layers.fully_connected],
    activation_fn=tf.nn.elu,
    weights_initializer=layers.xavier_initializer(),
    weights_regularizer=layers.l2_regularizer(scale=1e-3),
):
    hidden = layers.stack(x, layers.fully_connected, [16, 16], scope="enc")
    mean = layers.linear(hidden, 3, scope="mean")
    gamma = layers.fully_connected(hidden, 3, activation_fn=None, scope="gamma")
    code = mean + tf.exp(0.5 * gamma) * tf.random_normal(tf.shape(gamma), dtype=tf.float32)
    logits = layers.fully_connected(layers.fully_connected(code, 16), 20, activation_fn=None)
rebuilt = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), reduction_indices=1)
latent = 0.5 * tf.reduce_sum(tf.exp(gamma) + tf.square(mean) - 1 - gamma, 1, keep_dims=True)
cost = tf.reduce_mean(rebuilt) + tf.reduce_mean(tf.squeeze(latent, squeeze_dims=[1]))
cost += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
step = tf.contrib.framework.get_or_create_global_step()
train = layers.optimize_loss(
    cost, step, learning_rate=0.01, optimizer="Adam", clip_gradients=5.0, summaries=["loss", "gradients"]
)
data = (np.random.RandomState(0).rand(64, 1) > 0.5).astype(np.float32) * np.ones([64, 20], np.float32)
with tf.train.MonitoredTrainingSession() as sess:
    first = sess.run(train, {x: data})
    for _ in range(60):
        last = sess.run(train, {x: data})
assert last < 0.8 * first, (first, last)
print("loss", last)
