"""The check of a running cluster: on one that is right, on none, and on one that computes something else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tensorfleet.examples import check_cluster
from tensorfleet_service.local_cluster import LocalCluster


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with LocalCluster({"ps": 2, "worker": 2}) as cluster:
        yield cluster.target


@pytest.mark.cluster
def test_takes_every_task(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_cluster.main([target]) == 0
    assert "has 4 tasks" in capsys.readouterr().out


@pytest.mark.cluster
def test_variables_of_programs_stay_as_they_are(target: str) -> None:
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        mine = tf.Variable([1.0, 2.0])  # named as those of the check would be
        with tf.Session(target) as session:
            session.run(mine.initializer)
            assert check_cluster.main([target]) == 0
            assert session.run(mine).tolist() == [1, 2]


@pytest.mark.cluster
def test_filters_leave_tasks_out(
    target: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLEET_ADDRESS", target)
    assert check_cluster.main(["--device-filter=/job:ps/task:1", "--device-filter=/job:worker/task:0"]) == 0
    assert "/job:ps/task:1/device:CPU:0, /job:worker/task:0/device:CPU:0\n" in capsys.readouterr().out


@pytest.mark.cluster
def test_a_wrong_result_is_told(
    target: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = check_cluster.expect_close

    def off_by_a_little(what: str, found: check_cluster.Array, expected: check_cluster.Array) -> None:
        real(what, found + (0.01 if what.startswith("weights") else 0), expected)

    monkeypatch.setattr(check_cluster, "expect_close", off_by_a_little)
    assert check_cluster.main([target]) == 1
    assert "weights on /job:ps/task:0/device:CPU:0: differs from NumPy" in capsys.readouterr().err


def test_no_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_cluster.main(["grpc://127.0.0.1:1", "--timeout=0.2"]) == 1
    assert "grpc://127.0.0.1:1 is not right" in capsys.readouterr().err


def test_no_target(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENSORFLEET_ADDRESS", raising=False)
    with pytest.raises(SystemExit, match="2"):
        check_cluster.main([])
    assert "set TENSORFLEET_ADDRESS" in capsys.readouterr().err


def test_a_gpu_is_the_better_device_of_a_task() -> None:
    names = [
        "/job:worker/replica:0/task:1/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:GPU:0",
        "/job:worker/replica:0/task:0/device:GPU:1",
    ]
    assert check_cluster.best_devices(names) == [
        "/job:worker/task:0/device:GPU:0",
        "/job:worker/task:1/device:CPU:0",
    ]
