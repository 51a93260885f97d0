"""The example programs, with our client and with TensorFlow's own, on the same servers."""

from __future__ import annotations

import importlib.util
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorfleet.examples
from tests.compat.cluster import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

EXAMPLES = Path(tensorfleet.examples.__file__).parent
OUR_IMPORT = "import tensorfleet as tf\n"
THEIR_IMPORT = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"


def load(name: str, with_tensorflow: bool) -> types.ModuleType:
    """The program as a module of its own; its import is the only line that changes."""
    path = EXAMPLES / f"{name}.py"
    source = path.read_text()
    assert source.count(OUR_IMPORT) == 1
    if with_tensorflow:
        source = source.replace(OUR_IMPORT, THEIR_IMPORT)
    spec = importlib.util.spec_from_loader(f"{name}_{with_tensorflow}", loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def both(name: str, *arguments: str) -> tuple[Any, Any]:
    return tuple(load(name, with_tensorflow).main(*arguments) for with_tensorflow in (False, True))  # type: ignore[return-value]


def test_add_238(local: Cluster) -> None:
    assert both("add_238", local.target("local")) == (238, 238)


def test_mean_of_slices(local: Cluster) -> None:
    ours, theirs = both("mean_of_slices", local.target("local"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert ours[0] == pytest.approx(ours[1], rel=1e-6)


def test_split_sum(fleet: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert both("split_sum", fleet.target("ps")) == (45, 45)
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("45") == 2
    for task in ("/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"):
        assert sum(line.startswith(task) for line in lines) == 2, f"both traces show {task}"


def test_matmul_in_parts(fleet: Cluster) -> None:
    devices = [f"/job:worker/task:{index}" for index in range(2)]
    ours, theirs = both("matmul_in_parts", fleet.target("worker"), *devices)
    np.testing.assert_array_equal(ours, theirs)
    assert ours.shape == (8, 3)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_random_matmul(local: Cluster, device: str) -> None:
    """The sum of A times its transpose for uniform A: n cubed / 4, within a few per cent."""
    for result in both("random_matmul", local.target("local"), device, 300):
        assert result == pytest.approx(300**3 / 4, rel=0.05)
