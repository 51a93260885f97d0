"""Handwritten digits, trained without parameter servers: the workers average their gradients themselves.

Every worker has all variables, starts with worker 0's values, and makes the same steps, each on its own
batches. So all of them end with bitwise equal parameters, and print equal checksums.
Between-graph training, with a process for each worker:

    W=--worker_hosts=127.0.0.1:2223,127.0.0.1:2224
    python -m tensorfleet.examples.mnist_allreduce $W --task_index=0 &
    python -m tensorfleet.examples.mnist_allreduce $W --task_index=1

Training in one graph, with several devices of one process:

    python -m tensorfleet.examples.mnist_allreduce --replicas=2
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorfleet as tf
from tensorfleet import distribute
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("worker_hosts", "127.0.0.1:2223", "host:port of each worker, separated by commas")
flags.DEFINE_integer("task_index", 0, "which of the workers this process is")
flags.DEFINE_integer("replicas", 0, "train this many replicas in one graph, in this process alone")
flags.DEFINE_string(
    "data_dir", str(sample_dir()), "the directory of the IDX files, by default a small sample"
)
flags.DEFINE_integer("batch_size", 50, "digits in a batch of one worker")
flags.DEFINE_integer("steps", 300, "steps, which all workers make together")
flags.DEFINE_float("learning_rate", 0.5, "the rate of gradient descent")
FLAGS = flags.FLAGS

HIDDEN = 100
STEPS_BETWEEN_LINES = 100


class Model(NamedTuple):
    """The nodes of one worker."""

    x: Any
    y_: Any
    train: Any
    loss: Any
    accuracy: Any
    variables: list[Any]
    optimizer: Any


def build(num_workers: int, index: int) -> Model:
    """Two layers of sigmoids over the pixels, and gradient descent on the mean gradient of all workers."""
    x = tf.placeholder(tf.float32, [None, input_data.IMAGE_PIXELS])
    y_ = tf.placeholder(tf.float32, [None, input_data.NUM_CLASSES])
    w1 = tf.Variable(tf.random_normal([input_data.IMAGE_PIXELS, HIDDEN], stddev=0.1))
    w2 = tf.Variable(tf.random_normal([HIDDEN, input_data.NUM_CLASSES], stddev=0.1))
    b1 = tf.Variable(tf.zeros([HIDDEN]))
    b2 = tf.Variable(tf.zeros([input_data.NUM_CLASSES]))
    logits = tf.matmul(tf.nn.sigmoid(tf.matmul(x, w1) + b1), w2) + b2
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y_, logits=logits))
    variables = [w1, w2, b1, b2]
    optimizer = distribute.CollectiveOptimizer(
        tf.train.GradientDescentOptimizer(FLAGS.learning_rate),
        num_workers,
        is_chief=index == 0,
        keys=distribute.CollectiveKeys(),  # one object for each worker, as several may be in one graph
    )
    train = optimizer.minimize(loss, var_list=variables)
    correct = tf.equal(tf.argmax(logits, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    return Model(x, y_, train, loss, accuracy, variables, optimizer)


def train(session: Any, workers: dict[int, Model]) -> None:
    """Trains the workers of this session and prints the progress."""
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, validation_size=0)
    models = list(workers.values())
    for step in range(FLAGS.steps):
        feeds = {}
        for model in models:
            feeds[model.x], feeds[model.y_] = mnist.train.next_batch(FLAGS.batch_size)
        losses = session.run([(model.train, model.loss) for model in models], feeds)
        if step % STEPS_BETWEEN_LINES == 0:
            for index, (_, loss) in zip(workers, losses, strict=True):
                print(f"worker {index}: step {step}, loss {loss:.4f}", flush=True)
    for index, model in workers.items():
        test = {model.x: mnist.test.images, model.y_: mnist.test.labels}
        accuracy, values = session.run([model.accuracy, model.variables], test)
        checksum = hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()[:16]
        print(
            f"worker {index}: {FLAGS.steps} steps, test accuracy {accuracy:.4f}, parameters {checksum}",
            flush=True,
        )


def train_in_one_graph(count: int) -> None:
    """Trains all replicas in this process, each on its own device."""
    workers = {}
    for i in range(count):
        with tf.device(f"/cpu:{i}"):
            workers[i] = build(count, i)
    share = tf.group(*(m.optimizer.broadcast_variables(m.variables) for m in workers.values()))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": count})) as session:
        session.run(tf.global_variables_initializer())
        session.run(share)
        train(session, workers)


def train_between_graphs(hosts: list[str], index: int) -> None:
    """Trains one worker, with its own graph, server and session."""
    server = tf.train.Server({"worker": hosts}, job_name="worker", task_index=index)
    with tf.device(f"/job:worker/task:{index}"):
        model = build(len(hosts), index)
        end = distribute.barrier(len(hosts), group_key=2)
    hooks = [model.optimizer.make_session_run_hook()]
    with tf.train.MonitoredSession(
        tf.train.ChiefSessionCreator(master=server.target), hooks=hooks
    ) as session:
        train(session, {index: model})
        session.run(end)  # waits for the other workers, which need this process's server


def main(_: Sequence[str]) -> None:
    if FLAGS.replicas:
        train_in_one_graph(FLAGS.replicas)
    else:
        train_between_graphs(FLAGS.worker_hosts.split(","), FLAGS.task_index)


if __name__ == "__main__":
    tf.app.run(main)
