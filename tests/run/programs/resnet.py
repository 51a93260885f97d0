"""Residual blocks with tf.contrib.layers, a decayed rate and averages of the variables."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib.framework import add_arg_scope, arg_scope
from tensorflow.contrib.layers import (
    avg_pool2d,
    batch_norm,
    conv2d,
    fully_connected,
    variance_scaling_initializer,
)
from tensorflow.python.training import moving_averages


@add_arg_scope
def block(net, depth, stride=1, is_training=True):
    with tf.variable_scope(None, "block", [net]):
        shortcut = net if stride == 1 else conv2d(net, depth, 1, stride, activation_fn=None, scope="shortcut")
        net = conv2d(net, depth, 3, stride=stride, scope="conv1")
        return tf.nn.relu(conv2d(net, depth, 3, activation_fn=None, scope="conv2") + shortcut)


images = tf.placeholder(tf.float32, [8, 8, 8, 3])
labels = tf.placeholder(tf.int32, [8])
parameters = {"decay": 0.9, "epsilon": 1e-5, "scale": True, "updates_collections": None, "is_training": True}
with arg_scope(
    [conv2d],
    normalizer_fn=batch_norm,
    normalizer_params=parameters,
    biases_initializer=None,
    weights_initializer=variance_scaling_initializer(),
    weights_regularizer=tf.contrib.layers.l2_regularizer(1e-4),
):
    with arg_scope([block], is_training=True):
        net = conv2d(images, 4, 3)
        net = block(net, 4)
        net = block(net, 8, stride=2)
net = tf.reduce_mean(avg_pool2d(net, [2, 2]), [1, 2])
logits = fully_connected(net, 2, activation_fn=None)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))
total = loss + tf.reduce_sum(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
step = tf.train.get_or_create_global_step()
rate = tf.train.piecewise_constant(step, boundaries=[20, 30], values=[0.1, 0.05, 0.01])
optimizer = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)
applied = optimizer.apply_gradients(optimizer.compute_gradients(total), global_step=step)
averages = moving_averages.ExponentialMovingAverage(0.9, step)
with tf.control_dependencies([applied]):
    train = averages.apply(tf.trainable_variables())
answers = np.arange(8) % 2
pixels = np.random.RandomState(0).rand(8, 8, 8, 3) + answers.reshape([8, 1, 1, 1])
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    values = [sess.run([loss, train], {images: pixels, labels: answers})[0] for _ in range(40)]
assert values[-1] < 0.3 < values[0], values
print("names", sorted(v.op.name for v in tf.trainable_variables())[:4])
