"""The sum of integers on a ps, in two halves by two workers, with a trace and a log of the placement.

python -m tensorfleet.examples.split_sum grpc://127.0.0.1:2222
"""

from __future__ import annotations

import tensorfleet as tf
from tensorfleet.examples import arguments


def main(target: str = "") -> int:
    """Sums 0.5, 1.5, … 9.5, fed into an int32 placeholder, which cuts them to 0 … 9; prints 45."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            numbers = tf.placeholder(tf.int32, [10])
            halves = tf.split(numbers, 2)
        sums = []
        for index in range(2):
            with tf.device(f"/job:worker/task:{index}"):
                total = tf.reduce_sum(halves[index])
                sums.append(tf.Print(total, [total], f"worker {index}: "))
        with tf.device("/job:ps/task:0"):
            result = tf.reduce_sum(tf.stack(sums))

        config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=True)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        with tf.Session(target, config=config) as sess:
            fed = {numbers: [i + 0.5 for i in range(10)]}
            value = int(sess.run(result, feed_dict=fed, options=options, run_metadata=metadata))
    for device in metadata.step_stats.dev_stats:
        print(device.device, sorted(node.node_name for node in device.node_stats))
    print(value)
    return value


if __name__ == "__main__":
    main(arguments.parser(__doc__).parse_args().target)
