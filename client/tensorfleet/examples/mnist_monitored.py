"""Handwritten digits with a monitored session: Adam on parameter servers, asynchronous or synchronous.

Between-graph replication as in mnist_distributed, by tf.train.MonitoredTrainingSession and hooks: the chief
initializes or restores the variables and saves checkpoints and summaries; every worker stops at the last
step, or if the loss is NaN. With --sync_replicas, a step applies the mean of one gradient of each worker, by
tf.train.SyncReplicasOptimizer.

    P=--ps_hosts=127.0.0.1:2222 W=--worker_hosts=127.0.0.1:2223,127.0.0.1:2224
    python -m tensorfleet.examples.mnist_monitored $P $W --job_name=ps --task_index=0 &
    python -m tensorfleet.examples.mnist_monitored $P $W --job_name=worker --task_index=0 &
    python -m tensorfleet.examples.mnist_monitored $P $W --job_name=worker --task_index=1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorfleet as tf
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("job_name", "worker", "ps or worker")
flags.DEFINE_integer("task_index", 0, "which task of the job this process is")
flags.DEFINE_string("ps_hosts", "127.0.0.1:2222", "host:port of each ps, separated by commas")
flags.DEFINE_string("worker_hosts", "127.0.0.1:2223", "host:port of each worker, separated by commas")
flags.DEFINE_string(
    "data_dir", str(sample_dir()), "the directory of the IDX files, by default a small sample"
)
flags.DEFINE_string("checkpoint_dir", None, "where the chief saves and restores, and writes summaries")
flags.DEFINE_bool("sync_replicas", False, "apply the mean of one gradient of each worker")
flags.DEFINE_integer("batch_size", 100, "digits in a batch")
flags.DEFINE_integer("steps", 1000, "the global step to stop at")
flags.DEFINE_float("learning_rate", 0.002, "of Adam")
flags.DEFINE_integer("hidden", 100, "units of the hidden layer")
FLAGS = flags.FLAGS

STEPS_BETWEEN_LINES = 100
STEPS_BETWEEN_SUMMARIES = 50


class Model(NamedTuple):
    """The nodes that a worker runs."""

    images: Any
    labels: Any
    loss: Any
    accuracy: Any


def build() -> Model:
    """One hidden layer of rectified units, and the cross entropy of its logits."""
    images = tf.placeholder(tf.float32, [None, input_data.IMAGE_PIXELS], name="images")
    labels = tf.placeholder(tf.float32, [None, input_data.NUM_CLASSES], name="labels")
    w1 = tf.get_variable("w1", [input_data.IMAGE_PIXELS, FLAGS.hidden])
    b1 = tf.get_variable("b1", [FLAGS.hidden], initializer=tf.zeros_initializer())
    w2 = tf.get_variable("w2", [FLAGS.hidden, input_data.NUM_CLASSES])
    b2 = tf.get_variable("b2", [input_data.NUM_CLASSES], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(tf.nn.relu(tf.nn.xw_plus_b(images, w1, b1)), w2, b2)
    losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    correct = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("w1", w1)
    return Model(images, labels, loss, accuracy)


class TestAccuracy(tf.train.SessionRunHook):
    """A hook that computes the accuracy on the test digits at the end of training."""

    def __init__(self, model: Model, digits: input_data.DataSet) -> None:
        self._fetch = model.accuracy
        self._feeds = {model.images: digits.images, model.labels: digits.labels}
        self.accuracy = float("nan")

    def end(self, session: Any) -> None:
        self.accuracy = float(session.run(self._fetch, self._feeds))


def train(target: str, cluster: Any) -> None:
    """Trains as one of the workers and prints the progress."""
    chief = FLAGS.task_index == 0
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, validation_size=0)
    worker = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        global_step = tf.train.get_or_create_global_step()
        model = build()
        optimizer: tf.train.Optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
        hooks: list[tf.train.SessionRunHook] = [
            tf.train.StopAtStepHook(last_step=FLAGS.steps),
            tf.train.NanTensorHook(model.loss),
            tf.train.LoggingTensorHook(
                {"step": global_step, "loss": model.loss}, every_n_iter=STEPS_BETWEEN_LINES
            ),
        ]
        if FLAGS.sync_replicas:
            replicas = cluster.num_tasks("worker")
            optimizer = synchronous = tf.train.SyncReplicasOptimizer(optimizer, replicas, replicas)
            hooks.append(synchronous.make_session_run_hook(chief))
        step = optimizer.minimize(model.loss, global_step=global_step)
    test = TestAccuracy(model, mnist.test)
    local_steps, loss = 0, float("nan")
    with tf.train.MonitoredTrainingSession(
        target,
        is_chief=chief,
        checkpoint_dir=FLAGS.checkpoint_dir,
        hooks=[*hooks, test],
        save_summaries_steps=STEPS_BETWEEN_SUMMARIES,
    ) as session:
        while not session.should_stop():
            images, labels = mnist.train.next_batch(FLAGS.batch_size)
            _, loss = session.run([step, model.loss], {model.images: images, model.labels: labels})
            local_steps += 1
    print(
        f"worker {FLAGS.task_index}: {local_steps} steps, loss {loss:.4f}, test accuracy {test.accuracy:.4f}",
        flush=True,
    )


def main(_: Sequence[str]) -> None:
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    else:
        tf.logging.set_verbosity(tf.logging.INFO)
        train(server.target, cluster)


if __name__ == "__main__":
    tf.app.run(main)
