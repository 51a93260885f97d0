"""A small classifier of handwritten digits, for the examples that train several of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import tensorfleet as tf
from tensorfleet.examples.tutorials.mnist.input_data import IMAGE_PIXELS, NUM_CLASSES

Array = npt.NDArray[Any]


class Classifier:
    """One hidden layer of rectified units, trained by Adam, in the current graph and on the current device.

    Attributes:
        images, labels: placeholders, float32 [batch, 784] and int32 [batch].
        probabilities: float32 [batch, 10].
        loss: float32 scalar, the mean cross entropy.
        train: the op of a step.
    """

    def __init__(self, hidden: int, learning_rate: float, seed: int, name: str = "classifier") -> None:
        with tf.variable_scope(name, initializer=tf.glorot_uniform_initializer(seed)):
            self.images = tf.placeholder(tf.float32, [None, IMAGE_PIXELS], "images")
            self.labels = tf.placeholder(tf.int32, [None], "labels")
            w1 = tf.get_variable("w1", [IMAGE_PIXELS, hidden])
            b1 = tf.get_variable("b1", [hidden], initializer=tf.zeros_initializer())
            w2 = tf.get_variable("w2", [hidden, NUM_CLASSES])
            b2 = tf.get_variable("b2", [NUM_CLASSES], initializer=tf.zeros_initializer())
            logits = tf.nn.relu(self.images @ w1 + b1) @ w2 + b2
            self.probabilities = tf.nn.softmax(logits)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits)
            self.loss = tf.reduce_mean(losses)
            self.train = tf.train.AdamOptimizer(learning_rate).minimize(self.loss)


def batches(images: Array, labels: Array, size: int, epochs: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Batches of `size` in a random order for each epoch; an incomplete last batch is not used."""
    random = np.random.RandomState(seed)
    for _ in range(epochs):
        order = random.permutation(len(images))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield images[chosen], labels[chosen]


def accuracy(probabilities: Array, labels: Array) -> float:
    """The fraction of digits whose most probable class is correct."""
    return float((probabilities.argmax(1) == labels).mean())
