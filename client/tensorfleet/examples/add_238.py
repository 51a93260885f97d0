"""Constants and arithmetic: 2 + 300 + (2 - 66) = 238.

python -m tensorfleet.examples.add_238                           in this process
python -m tensorfleet.examples.add_238 grpc://127.0.0.1:2222     split over both tasks of a job `local`
"""

from __future__ import annotations

import tensorfleet as tf
from tensorfleet.examples import arguments


def main(target: str = "") -> int:
    """Computes and prints the sum. With a target, the other task computes one of its terms."""
    with tf.Graph().as_default():
        x = tf.constant(2)
        with tf.device("/job:local/task:1" if target else None):
            y2 = x - 66
        with tf.device("/job:local/task:0" if target else None):
            y1 = x + 300
            y = y1 + y2
        with tf.Session(target) as sess:
            result = int(sess.run(y))
    print(result)
    return result


if __name__ == "__main__":
    main(arguments.parser(__doc__).parse_args().target)
