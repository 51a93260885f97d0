"""2 + 300 + (2 - 66) over two workers; ends with the code that it is given, and tells how it reached them."""

import os
import sys

import tensorfleet as tf

x = tf.constant(2)
with tf.device("/job:worker/task:1"):
    y2 = x - 66
with tf.device("/job:worker/task:0"):
    y = x + 300 + y2
with tf.Session(os.environ["TENSORFLEET_ADDRESS"]) as session:
    print(session.run(y), type(session._transport).__name__)
sys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)
