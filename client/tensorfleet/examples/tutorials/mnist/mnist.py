"""The network of TensorFlow's tutorial (`tensorflow.examples.tutorials.mnist.mnist`)."""

from __future__ import annotations

import math
from typing import Any

import tensorfleet as tf

__all__ = ["IMAGE_PIXELS", "IMAGE_SIZE", "NUM_CLASSES", "evaluation", "inference", "loss", "training"]

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """The logits, `[batch, 10]`, of `images`, `[batch, 784]`."""
    values: Any = images
    sizes = [IMAGE_PIXELS, hidden1_units, hidden2_units, NUM_CLASSES]
    for i, name in enumerate(("hidden1", "hidden2", "softmax_linear")):
        with tf.name_scope(name):
            spread = 1.0 / math.sqrt(sizes[i])
            weights = tf.Variable(
                tf.truncated_normal([sizes[i], sizes[i + 1]], stddev=spread), name="weights"
            )
            biases = tf.Variable(tf.zeros([sizes[i + 1]]), name="biases")
            values = tf.matmul(values, weights) + biases
            if i < 2:
                values = tf.nn.relu(values)
    return values


def loss(logits: Any, labels: Any) -> Any:
    """The mean cross entropy of `logits` and `labels`, numbers from 0 to 9, `[batch]`."""
    return tf.losses.sparse_softmax_cross_entropy(labels=tf.cast(labels, tf.int64), logits=logits)


def training(loss: Any, learning_rate: float) -> Any:
    """The operation of a step of gradient descent, which increases `global_step`; the loss gets a summary."""
    tf.summary.scalar("loss", loss)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    return tf.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> Any:
    """The number of correct predictions in the batch, int32."""
    return tf.reduce_sum(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.int32))
