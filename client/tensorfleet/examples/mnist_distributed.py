"""Handwritten digits, trained between graphs: the classic program with parameter servers and workers.

Every process builds the same graph. The variables are on the parameter servers; each worker computes
gradients from its own batches and applies them asynchronously. The chief, worker 0, initializes the
variables, and saves summaries and checkpoints if `--log_dir` is given. The workers end after `--steps` steps
together; the parameter servers run until they are stopped.

    P=--ps_hosts=127.0.0.1:2222 W=--worker_hosts=127.0.0.1:2223,127.0.0.1:2224
    python -m tensorfleet.examples.mnist_distributed $P $W --job_name=ps --task_index=0 &
    python -m tensorfleet.examples.mnist_distributed $P $W --job_name=worker --task_index=0 &
    python -m tensorfleet.examples.mnist_distributed $P $W --job_name=worker --task_index=1
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
flags.DEFINE_string("log_dir", None, "where the chief writes summaries and checkpoints")
flags.DEFINE_integer("batch_size", 100, "digits in a batch")
flags.DEFINE_integer("steps", 1000, "steps of all workers together")
flags.DEFINE_float("learning_rate", 0.5, "the rate of gradient descent")
flags.DEFINE_integer("max_wait_secs", 7200, "how long to wait for the other tasks")
FLAGS = flags.FLAGS

HIDDEN = 100
STEPS_BETWEEN_LINES = 100


class Model(NamedTuple):
    """The nodes that a worker runs."""

    x: Any
    y_: Any
    train: Any
    loss: Any
    accuracy: Any
    global_step: Any


def build(learning_rate: float) -> Model:
    """Two layers of sigmoids over the pixels, and gradient descent on the cross entropy."""
    global_step = tf.get_variable(
        "global_step", [], dtype=tf.int64, initializer=tf.zeros_initializer(), trainable=False
    )
    with tf.name_scope("input"):
        x = tf.placeholder(tf.float32, [None, input_data.IMAGE_PIXELS], name="x-input")
        y_ = tf.placeholder(tf.float32, [None, input_data.NUM_CLASSES], name="y-input")
    with tf.name_scope("weights"):
        w1 = tf.Variable(tf.random_normal([input_data.IMAGE_PIXELS, HIDDEN], stddev=0.1, seed=1))
        w2 = tf.Variable(tf.random_normal([HIDDEN, input_data.NUM_CLASSES], stddev=0.1, seed=2))
    with tf.name_scope("biases"):
        b1 = tf.Variable(tf.zeros([HIDDEN]))
        b2 = tf.Variable(tf.zeros([input_data.NUM_CLASSES]))
    with tf.name_scope("softmax"):
        hidden = tf.nn.sigmoid(tf.add(tf.matmul(x, w1), b1))
        y = tf.nn.softmax(tf.add(tf.matmul(hidden, w2), b2))
    with tf.name_scope("cross_entropy"):
        loss = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), axis=[1]))
    with tf.name_scope("train"):
        train = tf.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)
    with tf.name_scope("accuracy"):
        correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
        accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    tf.summary.scalar("cost", loss)
    tf.summary.scalar("accuracy", accuracy)
    return Model(x, y_, train, loss, accuracy, global_step)


def train(target: str, cluster: Any) -> None:
    """Trains as one of the workers and prints the progress."""
    chief = FLAGS.task_index == 0
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, validation_size=0)
    worker = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        model = build(FLAGS.learning_rate)
        summaries = tf.summary.merge_all()
        init = tf.global_variables_initializer()
    supervisor = tf.train.Supervisor(
        is_chief=chief,
        logdir=FLAGS.log_dir,
        init_op=init,
        summary_op=None,  # the program writes the summaries of its batches itself
        global_step=model.global_step,
        recovery_wait_secs=1,
    )
    with supervisor.prepare_or_wait_for_session(target, max_wait_secs=FLAGS.max_wait_secs) as session:
        fetches = [model.train, model.loss, model.global_step]
        step = local_steps = 0
        while not supervisor.should_stop() and step < FLAGS.steps:
            images, labels = mnist.train.next_batch(FLAGS.batch_size)
            feeds = {model.x: images, model.y_: labels}
            _, loss, step = session.run(fetches, feeds)
            if local_steps % STEPS_BETWEEN_LINES == 0:
                print(f"worker {FLAGS.task_index}: step {step}, loss {loss:.4f}", flush=True)
                if supervisor.summary_writer:
                    supervisor.summary_computed(session, session.run(summaries, feeds), step)
            local_steps += 1
        accuracy = session.run(model.accuracy, {model.x: mnist.test.images, model.y_: mnist.test.labels})
        print(
            f"worker {FLAGS.task_index}: {local_steps} of {step} steps, loss {loss:.4f}, "
            f"test accuracy {accuracy:.4f}",
            flush=True,
        )
        if supervisor.is_chief and FLAGS.log_dir:
            # A thread saves every ten minutes; this saves the final result.
            supervisor.saver.save(session, supervisor.save_path, global_step=model.global_step)
        supervisor.stop()


def main(_: Sequence[str]) -> None:
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    else:
        train(server.target, cluster)


if __name__ == "__main__":
    tf.app.run(main)
