"""A product of random matrices, on the CPU or a GPU, and the time that it takes.

python random_matmul.py                                    in this process, on the CPU
python random_matmul.py grpc://127.0.0.1:2222 gpu 1500     on a GPU of the task, if it has one
"""

from __future__ import annotations

import sys
import time

import tensorfleet as tf


def main(target: str = "", device: str = "cpu", size: str = "500") -> float:
    """Computes and prints the sum of all elements of A times its transpose, A being size x size, uniform."""
    with tf.Graph().as_default():
        with tf.device("/gpu:0" if device == "gpu" else "/cpu:0"):
            matrix = tf.random_uniform(shape=[int(size), int(size)], minval=0, maxval=1)
            product = tf.matmul(matrix, tf.transpose(matrix))
            total = tf.reduce_sum(product)
        with tf.Session(target, config=tf.ConfigProto(allow_soft_placement=True)) as sess:
            start = time.perf_counter()
            result = float(sess.run(total))
            seconds = time.perf_counter() - start
    print(f"{size} x {size} on {device}: {result:.6g} in {seconds:.3f} s")
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
