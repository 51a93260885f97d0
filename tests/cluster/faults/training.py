"""A worker's training, as a program: `python training.py JSON`, with a line for all that happens to it.

The lines: `session TIME`, a session that was made or made anew; `step COUNT`, an acknowledged step, with the
count of steps of all workers at its end; `torn`, a count whose elements differ; `over LOSS`, the end.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

import tensorfleet as tf

ELEMENTS = 50_000  # of the count: enough for shared memory, and for a save that takes a while
TRUE = np.arange(1, 9, dtype=np.float32) / 8


class _Sessions(tf.train.SessionRunHook):
    def after_create_session(self, session: Any, coord: Any) -> None:
        print(f"session {time.time():.6f}", flush=True)


def train(spec: dict[str, list[str]], task: int, directory: str, stop: str) -> None:
    """Trains until there is a file named `stop`; the chief saves in `directory`."""
    device = tf.train.replica_device_setter(
        cluster=tf.train.ClusterSpec(spec), worker_device=f"/job:worker/task:{task}"
    )
    with tf.device(device):
        global_step = tf.train.get_or_create_global_step()
        count = tf.get_variable("count", [ELEMENTS], tf.int64, tf.zeros_initializer(), trainable=False)
        weights = tf.get_variable("weights", [len(TRUE)], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [None, len(TRUE)])
        y = tf.placeholder(tf.float32, [None])
        loss = tf.reduce_mean(tf.square(tf.reduce_sum(x * weights, 1) - y))
        minimize = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step)
        with tf.control_dependencies([minimize]):
            counted = tf.assign_add(count, tf.ones([ELEMENTS], tf.int64), use_locking=True)
    random = np.random.RandomState(task)
    hooks: list[tf.train.SessionRunHook] = [_Sessions()]
    if task == 0:
        hooks.append(tf.train.CheckpointSaverHook(directory, save_secs=1))
    value = float("nan")
    with tf.train.MonitoredTrainingSession(
        "grpc://" + spec["worker"][task],
        is_chief=task == 0,
        checkpoint_dir=directory if task == 0 else None,
        hooks=hooks,
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        log_step_count_steps=None,
    ) as session:
        while not os.path.exists(stop):
            rows = random.standard_normal((8, len(TRUE))).astype(np.float32)
            counts, value = session.run([counted, loss], {x: rows, y: rows @ TRUE})
            print(f"step {counts[0]}" if (counts == counts[0]).all() else "torn", flush=True)
    print(f"over {value}", flush=True)


if __name__ == "__main__":
    train(**json.loads(sys.argv[1]))
