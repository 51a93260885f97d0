"""A product of random matrices on the CPU or a GPU, and its time.

python -m tensorfleet.examples.random_matmul                                    in this process
python -m tensorfleet.examples.random_matmul grpc://127.0.0.1:2222 gpu 1500     on a GPU of the task
"""

from __future__ import annotations

import time

import tensorfleet as tf
from tensorfleet.examples import arguments


def main(target: str = "", device: str = "cpu", size: int = 500) -> float:
    """Computes and prints the sum of all elements of A times its transpose, A being size x size, uniform."""
    with tf.Graph().as_default():
        with tf.device("/gpu:0" if device == "gpu" else "/cpu:0"):
            matrix = tf.random_uniform(shape=[size, size], minval=0, maxval=1)
            product = tf.matmul(matrix, tf.transpose(matrix))
            total = tf.reduce_sum(product)
        with tf.Session(target, config=tf.ConfigProto(allow_soft_placement=True)) as sess:
            start = time.perf_counter()
            result = float(sess.run(total))
            seconds = time.perf_counter() - start
    print(f"{size} x {size} on {device}: {result:.6g} in {seconds:.3f} s")
    return result


if __name__ == "__main__":
    parser = arguments.parser(__doc__)
    parser.add_argument("device", nargs="?", default="cpu", choices=("cpu", "gpu"), help="(default: cpu)")
    parser.add_argument("size", nargs="?", default=500, type=arguments.positive, help="(default: 500)")
    flags = parser.parse_args()
    main(flags.target, flags.device, flags.size)
