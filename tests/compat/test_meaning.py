"""Programs of `meaning` on TensorFlow, here in one process, and here on one ps and two workers."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet_tf
from tests.compat.cluster import Cluster
from tests.compat.meaning import IN_PROCESS, PROGRAMS, Place, flow, queues, reads, scopes, sessions
from tests.compat.meaning.chains import run_chain

real.disable_v2_behavior()

__all__ = ["flow", "queues", "reads", "scopes", "sessions"]  # imported for what they register

pytestmark = pytest.mark.slow

CHAINS = [str(seed) for seed in range(40)]

_expected: dict[str, Any] = {}


def run(tf: Any, name: str, folder: Path, target: str = "", device: Any = None, other: str = "/cpu:0") -> Any:
    folder.mkdir()
    with tf.Graph().as_default(), tf.device(device) if device else contextlib.nullcontext():
        tf.set_random_seed(7)
        place = Place(tf, target, other, str(folder))
        return run_chain(place, int(name)) if name.isdigit() else PROGRAMS[name](place)


def expected(name: str, tmp_path: Path) -> Any:
    """TensorFlow's results; it is asked once for each program."""
    if name not in _expected:
        _expected[name] = run(real, name, tmp_path / "real")
    return _expected[name]


def assert_same(got: Any, wanted: Any, path: str = "result") -> None:
    """Equal structures of equal values; floats up to the last bits of a sum in another order."""
    if isinstance(wanted, dict):
        assert sorted(got) == sorted(wanted), path
        for key in wanted:
            assert_same(got[key], wanted[key], f"{path}[{key!r}]")
    elif isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted), path
        for i, pair in enumerate(zip(got, wanted, strict=True)):
            assert_same(*pair, path=f"{path}[{i}]")
    elif isinstance(wanted, (np.ndarray, np.generic, float)):
        assert np.asarray(got).dtype == np.asarray(wanted).dtype, path
        assert np.shape(got) == np.shape(wanted), path
        if np.asarray(wanted).dtype.kind in "fc":
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7, err_msg=path)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=path)
    else:
        assert got == wanted, path


@pytest.mark.parametrize("name", [*PROGRAMS, *CHAINS])
def test_in_process(name: str, tmp_path: Path) -> None:
    assert_same(run(fleet_tf, name, tmp_path / "ours"), expected(name, tmp_path))


@pytest.mark.parametrize("name", [*(name for name in PROGRAMS if name not in IN_PROCESS), *CHAINS])
def test_on_a_cluster(name: str, tmp_path: Path, fleet: Cluster) -> None:
    wanted = expected(name, tmp_path)
    target = fleet.target("worker")
    device = fleet_tf.train.replica_device_setter(
        cluster=fleet_tf.train.ClusterSpec(fleet.jobs), worker_device="/job:worker/task:0"
    )
    fleet_tf.Session.reset(target)  # no program sees the variables of another
    assert_same(run(fleet_tf, name, tmp_path / "ours", target, device, "/job:worker/task:1"), wanted)
