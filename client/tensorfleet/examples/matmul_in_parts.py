"""In-graph replication: a product of matrices, whose rows are split over several devices.

python -m tensorfleet.examples.matmul_in_parts                        in this process, on its CPU
python -m tensorfleet.examples.matmul_in_parts grpc://127.0.0.1:2222 /job:worker/task:0 /job:worker/task:1
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tensorfleet as tf
from tensorfleet.examples import arguments


def main(target: str = "", *devices: str) -> npt.NDArray[np.float32]:
    """Multiplies variables on the CPU, a part on each of `devices`; prints and returns the product [8, 3]."""
    devices = devices or ("/cpu:0", "/cpu:0")
    random = np.random.RandomState(0)
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            a = tf.Variable(random.random_sample([8, 4]), dtype=tf.float32, name="a")
            b = tf.Variable(random.random_sample([4, 3]), dtype=tf.float32, name="b")
            parts = tf.split(a, len(devices), 0)
        products = []
        for device, part in zip(devices, parts, strict=True):
            with tf.device(device):
                products.append(tf.matmul(part, b))
        with tf.device("/cpu:0"):
            product = tf.concat(products, 0)
        with tf.Session(target, config=tf.ConfigProto(allow_soft_placement=True)) as sess:
            sess.run(tf.global_variables_initializer())
            result: npt.NDArray[np.float32] = sess.run(product)
    print(result)
    return result


if __name__ == "__main__":
    parser = arguments.parser(__doc__)
    parser.add_argument("devices", nargs="*", metavar="DEVICE", help="of a part (default: two on this CPU)")
    flags = parser.parse_args()
    main(flags.target, *flags.devices)
