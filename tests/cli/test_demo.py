"""`tensorfleet demo`, and its map/reduce on made-up digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.examples import mapreduce_mnist
from tensorfleet.examples.mapreduce_mnist import MapReduce, Result, largest_difference, with_numpy
from tensorfleet_service.cli import demo
from tensorfleet_service.local_cluster import LocalCluster

WORKERS = 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"ps": 1, "worker": WORKERS}) as cluster:
        yield cluster


@pytest.mark.cluster
def test_the_demo_starts_its_own_cluster(capfd: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--workers", "1"]) == 0
    printed = capfd.readouterr()
    assert "1,000 digits of the packaged sample" in printed.out
    assert "1 ps and 1 workers" in printed.out
    assert "100%" in printed.err
    assert "Agrees with NumPy" in printed.out


def test_the_demo_tells_values_and_devices(cluster: LocalCluster, capfd: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--address", cluster.target.removeprefix("grpc://")]) == 0
    out = capfd.readouterr().out
    images, _ = mapreduce_mnist.load(None)
    assert f"mean of all pixels      {images.mean(dtype=np.float64):.9f}" in out
    assert f"variance of all pixels  {images.var(dtype=np.float64):.9f}" in out
    for part, task in (("map_0", "worker/replica:0/task:0"), ("map_1", "worker/replica:0/task:1")):
        assert re.search(rf"^{part} +/job:{task}/device:CPU:0  \(\d+ ops\)$", out, re.M)
    assert re.search(r"^reduce +/job:ps/replica:0/task:0/device:CPU:0  \(\d+ ops\)$", out, re.M)
    assert re.search(r"^[\d.]+ s, [\d,]+ digits per second$", out, re.M)


def test_a_wrong_result_ends_with_code_1(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def off(images: np.ndarray, labels: np.ndarray) -> Result:
        right = with_numpy(images, labels)
        return right._replace(variance=right.variance * (1 + 1e-5))

    monkeypatch.setattr(mapreduce_mnist, "with_numpy", off)
    assert demo.main(["--address", cluster.target]) == 1
    assert "DIFFERS from NumPy by 1.0e-05" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--workers", "0"], "--workers"),
        (["--batch-size", "0"], "--batch-size"),
        (["--data-dir", "/no/such/dir"], "/no/such/dir"),
    ],
)
def test_wrong_flags(flags: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        demo.main(flags)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_broken_data_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"no digits")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"")
    with pytest.raises(SystemExit):
        demo.main(["--data-dir", str(tmp_path)])
    assert str(tmp_path / "train-images-idx3-ubyte") in capsys.readouterr().err


def test_a_cluster_that_lacks_a_worker(cluster: LocalCluster, capfd: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--address", cluster.target, "--workers", "3"]) == 1
    assert "/job:worker/task:2" in capfd.readouterr().err


@pytest.mark.parametrize("count", [1, 7, 64, 101])
@pytest.mark.parametrize("batch_size", [1, 16, 1000])
def test_map_reduce_of_any_number_of_digits(cluster: LocalCluster, count: int, batch_size: int) -> None:
    random = np.random.default_rng(count)
    images = random.integers(0, 256, (count, 784), np.uint8)
    labels = random.integers(0, 9, count).astype(np.uint8)  # no 9: a class without digits
    job = MapReduce(WORKERS)
    steps: list[int] = []
    with tf.Session(cluster.target, graph=job.graph) as session:
        result, _ = job.run(session, images, labels, batch_size, steps.append)
    assert sum(steps) == count
    assert max(steps) <= WORKERS * batch_size
    assert np.isnan(result.class_means[9]).all()
    assert largest_difference(result, with_numpy(images, labels)) < 1e-12


@pytest.mark.parametrize("field", ["class_counts", "class_means", "mean", "variance"])
def test_the_comparison_sees_every_number(field: str) -> None:
    images, labels = mapreduce_mnist.load(None)
    right = with_numpy(images, labels)
    wrong = right._replace(**{field: getattr(right, field) + 0.01})
    assert largest_difference(right, right) == 0
    if field == "class_counts":
        with pytest.raises(AssertionError):
            largest_difference(wrong, right)
    else:
        assert largest_difference(wrong, right) > 1e-6


def test_drawing_shows_ten_digits() -> None:
    images, labels = mapreduce_mnist.load(None)
    drawn = demo.drawing(with_numpy(images, labels))
    above, below = drawn.split("\n\n")
    assert len(above.splitlines()) == len(below.splitlines()) == 10
    assert max(map(len, drawn.splitlines())) <= 5 * 20 + 4 * 2
    assert "@" in drawn
