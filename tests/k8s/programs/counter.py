"""A variable on the ps, which a worker adds to: `counter.py init`, `counter.py add WORKER [FILTER,…]`."""

import os
import sys

import tensorfleet as tf

with tf.device("/job:ps/task:0"):
    counter = tf.Variable(40, name="counter")
with tf.device(f"/job:worker/task:{sys.argv[2] if sys.argv[2:] else 0}"):
    three = tf.placeholder(tf.int32, [])  # a constant would be added up by the master
    one = three - 2
add = tf.assign_add(counter, one)
filters = sys.argv[3].split(",") if sys.argv[3:] else []
config = tf.ConfigProto(device_filters=filters, operation_timeout_in_ms=20_000)
try:
    with tf.Session(os.environ["TENSORFLEET_ADDRESS"], config=config) as session:
        if sys.argv[1] == "init":
            session.run(counter.initializer)
        print(session.run(counter if sys.argv[1] == "init" else add, {three: 3}))
except tf.errors.OpError as error:
    print(type(error).__name__, error.message)
    sys.exit(1)
