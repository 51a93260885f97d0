"""Trains until it is told to end, and prints each global step: the ps counts, the second worker computes.

usage: steps.py [CHECKPOINT-DIRECTORY]      reads a line from standard input at the end
"""

import os
import sys
import threading
import time

import tensorfleet as tf

directory = sys.argv[1] if sys.argv[1:] else None
with tf.device("/job:ps/task:0"):
    step = tf.train.get_or_create_global_step()
with tf.device("/job:worker/task:1"):
    three = tf.placeholder(tf.int64, [])
    one = three - 2
add = tf.assign_add(step, one)

ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
address = os.environ["TENSORFLEET_ADDRESS"]
with tf.train.MonitoredTrainingSession(
    address, checkpoint_dir=directory, log_step_count_steps=None
) as session:
    while not ended.is_set():
        print(session.run(add, {three: 3}), flush=True)
        time.sleep(0.05)
