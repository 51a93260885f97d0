"""The mean of an input, computed as two means of two slices on two tasks of a job `local`.

python -m tensorfleet.examples.mean_of_slices grpc://127.0.0.1:2222
"""

from __future__ import annotations

import numpy as np

import tensorfleet as tf
from tensorfleet.examples import arguments


def main(target: str = "") -> tuple[float, float]:
    """Computes and prints the mean of 100 numbers from two slices of 50, and from slices of 30 and 70."""
    numbers = np.random.RandomState(0).random_sample(100)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, 100)
        equal = mean(x, 50, target)
        different = mean(x, 30, target)
        with tf.Session(target) as sess:
            means = sess.run([equal, different], feed_dict={x: numbers})
    print("equal slices:", means[0], "different slices:", means[1], "NumPy:", numbers.mean())
    return float(means[0]), float(means[1])


def mean(x: tf.Tensor, size: int, target: str) -> tf.Tensor:
    """The mean of `x`, from the means of its first `size` elements and of the others."""
    with tf.device("/job:local/task:1" if target else None):
        first = tf.slice(x, [0], [size])
        mean1 = tf.reduce_mean(first)
    with tf.device("/job:local/task:0" if target else None):
        second = tf.slice(x, [size], [-1])
        mean2 = tf.reduce_mean(second)
        size1 = tf.cast(tf.size(first), tf.float32)
        size2 = tf.cast(tf.size(second), tf.float32)
        result: tf.Tensor = (mean1 * size1 + mean2 * size2) / (size1 + size2)
    return result


if __name__ == "__main__":
    main(arguments.parser(__doc__).parse_args().target)
