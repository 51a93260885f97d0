"""Convolutional and recurrent networks for handwritten digits, trained on a cluster from one client.

    python -m tensorfleet.examples.mnist_networks --network=cnn                              in this process
    python -m tensorfleet.examples.mnist_networks --network=lstm --target=grpc://HOST:2222      on a cluster

The variables are on the parameter servers. With --parallel=data each worker computes the gradients of the
whole network on its part of the batch, and a step applies their mean; with --parallel=model the layers are on
different workers.

Networks: `cnn` (convolutions, batch normalization, max and average pooling, dropout), and `rnn`, `lstm` and
`gru`, which read a digit row by row, from the top to the last row that has ink.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from tqdm import tqdm

import tensorfleet as tf
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.placing import Places, find
from tensorfleet.examples.tutorials.mnist.input_data import NUM_CLASSES, DataSet, read_data_sets

flags = tf.app.flags
flags.DEFINE_string("target", "", "of the session, such as grpc://127.0.0.1:2222; empty: this process")
flags.DEFINE_enum("network", "cnn", ["cnn", "rnn", "lstm", "gru"], "what to train")
flags.DEFINE_enum("parallel", "data", ["data", "model"], "what the workers share")
flags.DEFINE_string(
    "data_dir", str(sample_dir()), "the directory of the IDX files, by default a small sample"
)
flags.DEFINE_integer("batch_size", 100, "digits in a step, of all workers together")
flags.DEFINE_integer("epochs", 3, "how often each digit is seen")
flags.DEFINE_float("learning_rate", 0.002, "of Adam, at the first step; it falls to a twentieth of that")
flags.DEFINE_integer("seed", 1, "of weights, dropout and the order of the digits")
FLAGS = flags.FLAGS

SIDE = 28
UNITS = 96
TEST_BATCH = 500

Stage = Callable[[int], AbstractContextManager[Any]]
"""The device scope of a part of the network, by number."""


def convolutional(images: Any, training: Any, stage: Stage) -> Any:
    """Logits [batch, 10] from two convolutions and two dense layers."""
    with stage(0):
        x = tf.reshape(images, [-1, SIDE, SIDE, 1])
        x = tf.layers.conv2d(x, 16, 3, padding="same", use_bias=False, name="conv1")
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=training, momentum=0.9, name="norm1"))
        x = tf.layers.max_pooling2d(x, 2, 2)
    with stage(1):
        x = tf.layers.conv2d(x, 32, 3, padding="same", use_bias=False, name="conv2")
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=training, momentum=0.9, name="norm2"))
        x = tf.layers.average_pooling2d(x, 2, 2)
    with stage(2):
        x = tf.layers.dense(tf.layers.flatten(x), UNITS, activation=tf.nn.relu, name="dense1")
        x = tf.layers.dropout(x, 0.3, training=training, seed=FLAGS.seed)
        return tf.layers.dense(x, NUM_CLASSES, name="dense2")


def recurrent(kind: str) -> Callable[[Any, Any, Stage], Any]:
    """A network that reads rows; its logits [batch, 10] are from the state after the last row with ink."""
    cells = {
        "rnn": tf.nn.rnn_cell.BasicRNNCell,
        "lstm": tf.nn.rnn_cell.BasicLSTMCell,
        "gru": tf.nn.rnn_cell.GRUCell,
    }

    def network(images: Any, training: Any, stage: Stage) -> Any:
        with stage(0):
            rows = tf.reshape(images, [-1, SIDE, SIDE])
            inked = tf.cast(tf.reduce_max(rows, 2) > 0, tf.int32)
            lengths = tf.reduce_max(inked * tf.range(1, SIDE + 1), 1)
            _, state = tf.nn.dynamic_rnn(cells[kind](UNITS), rows, sequence_length=lengths, dtype=tf.float32)
        with stage(1):
            state = getattr(state, "h", state)
            return tf.layers.dense(state, NUM_CLASSES, name="dense")

    return network


class Trainer:
    """The graph: a tower for each worker, or one over all of them.

    Attributes:
        train: the op of a step.
        loss: float32 scalar, the mean of the towers' cross entropies before the step.
    """

    def __init__(self, places: Places, steps: int) -> None:
        network = convolutional if FLAGS.network == "cnn" else recurrent(FLAGS.network)
        by_layers = FLAGS.parallel == "model"
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(FLAGS.seed)
            with tf.device(places.ps):
                step = tf.train.get_or_create_global_step()
                rate = tf.train.cosine_decay(FLAGS.learning_rate, step, steps, alpha=0.05)
                optimizer = tf.train.AdamOptimizer(rate)
                self._training = tf.placeholder_with_default(False, [], name="training")
            self.inputs: list[tuple[Any, Any]] = []
            scopes, losses, gradients, logits = [], [], [], []
            for worker in places.workers[:1] if by_layers else places.workers:
                stage = _stages(places, places.workers if by_layers else [worker])
                with tf.variable_scope("network", reuse=tf.AUTO_REUSE), tf.name_scope("tower") as scope:
                    scopes.append(scope)
                    with stage(0):
                        images = tf.placeholder(tf.float32, [None, SIDE * SIDE], name="images")
                        labels = tf.placeholder(tf.int64, [None], name="labels")
                    self.inputs.append((images, labels))
                    logits.append(network(images, self._training, stage))
                    with stage(-1):
                        losses.append(tf.losses.sparse_softmax_cross_entropy(labels, logits[-1]))
                        gradients.append(optimizer.compute_gradients(losses[-1]))
            # The updates of one tower suffice for the moving averages of batch normalization.
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scopes[0])
            with tf.device(places.ps), tf.control_dependencies(updates):
                means = [
                    (tf.add_n([gradient for gradient, _ in pairs]) / len(pairs), pairs[0][1])
                    for pairs in zip(*gradients, strict=True)
                ]
                self.train = optimizer.apply_gradients(means, global_step=step)
                self.loss = tf.add_n(losses) / len(losses)
            self._logits = logits[0]
            self.init = tf.global_variables_initializer()

    def feeds(self, images: Any, labels: Any) -> dict[Any, Any]:
        """A batch for training, divided among the towers."""
        parts = (np.array_split(array, len(self.inputs)) for array in (images, labels))
        feeds: dict[Any, Any] = {self._training: True}
        for tensors, arrays in zip(self.inputs, zip(*parts, strict=True), strict=True):
            feeds.update(zip(tensors, arrays, strict=True))
        return feeds

    def accuracy(self, session: Any, digits: DataSet) -> float:
        """The fraction of digits that the network classifies correctly."""
        images, right = self.inputs[0][0], 0
        for start in range(0, digits.num_examples, TEST_BATCH):
            these = slice(start, start + TEST_BATCH)
            logits = session.run(self._logits, {images: digits.images[these]})
            right += int((logits.argmax(1) == digits.labels[these]).sum())
        return right / digits.num_examples


def _stages(places: Places, workers: Sequence[str]) -> Stage:
    """Places the parts of the network on the workers in turn, and all variables on the ps."""

    def stage(index: int) -> AbstractContextManager[Any]:
        worker = workers[index % len(workers)]
        if not worker:
            return contextlib.nullcontext()
        scope: AbstractContextManager[Any] = tf.device(
            tf.train.replica_device_setter(ps_tasks=1, ps_device=places.ps, worker_device=worker)
        )
        return scope

    return stage


def train(target: str) -> float:
    """Trains a network, prints the progress, and returns its accuracy on the test digits."""
    data = read_data_sets(FLAGS.data_dir, validation_size=0, seed=FLAGS.seed)
    steps = FLAGS.epochs * (data.train.num_examples // FLAGS.batch_size)
    trainer = Trainer(find(target), steps)
    with tf.Session(target, graph=trainer.graph) as session:
        session.run(trainer.init)
        with tqdm(range(steps), unit=" steps", desc=f"{FLAGS.network}, {FLAGS.parallel} parallel") as bar:
            for _ in bar:
                feeds = trainer.feeds(*data.train.next_batch(FLAGS.batch_size))
                _, loss = session.run([trainer.train, trainer.loss], feeds)
                bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
        accuracy = trainer.accuracy(session, data.test)
    print(f"{FLAGS.network}: accuracy on {data.test.num_examples:,} test digits: {accuracy:.4f}")
    return accuracy


def main(_: Sequence[str]) -> None:
    train(FLAGS.target)


if __name__ == "__main__":
    tf.app.run(main)
