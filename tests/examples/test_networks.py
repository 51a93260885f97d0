"""Convolutional and recurrent networks on a cluster: they learn the packaged sample, by data and by "
"layers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.examples import mnist_networks
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.placing import Places
from tensorfleet.examples.tutorials.mnist.input_data import read_data_sets
from tensorfleet_service.local_cluster import LocalCluster

SECONDS = 240.0

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with LocalCluster({"ps": 1, "worker": 2}) as cluster:
        yield cluster.target


def test_the_averages_of_batch_normalization_follow_the_batches() -> None:
    """The towers share them, and the first one moves them."""
    mnist_networks.FLAGS(["mnist_networks", "--network=cnn"])
    trainer = mnist_networks.Trainer(Places("", ["", ""]), steps=40)
    digits = read_data_sets(sample_dir(), validation_size=0, seed=0).train
    with tf.Session(graph=trainer.graph) as session, trainer.graph.as_default():
        session.run(trainer.init)
        for _ in range(40):
            session.run(trainer.train, trainer.feeds(*digits.next_batch(40)))
        by_name = {variable.op.name: variable for variable in tf.global_variables()}
        mean, variance = session.run(
            [by_name[f"network/norm1/moving_{what}"] for what in ("mean", "variance")]
        )
        first = next(op for op in trainer.graph.get_operations() if op.type == "Conv2D")
        assert "network/tower/" in first.name
        values = session.run(first.outputs[0], {trainer.inputs[0][0]: digits.images})
    np.testing.assert_allclose(mean, values.mean((0, 1, 2)), atol=0.05)
    np.testing.assert_allclose(variance, values.var((0, 1, 2)), atol=0.05)


@pytest.mark.parametrize(
    ("network", "parallel", "epochs", "least"),
    [("cnn", "data", 6, 0.85), ("cnn", "model", 2, 0.5), ("lstm", "data", 4, 0.5), ("gru", "model", 4, 0.4)],
)
def test_a_network_learns(network: str, parallel: str, epochs: int, least: float, target: str) -> None:
    command = [sys.executable, "-m", "tensorfleet.examples.mnist_networks", f"--target={target}"]
    command += [f"--network={network}", f"--parallel={parallel}", f"--epochs={epochs}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"test digits: ([\d.]+)", done.stdout)
    assert accuracy is not None, done.stdout
    assert float(accuracy[1]) > least
