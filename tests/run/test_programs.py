"""Programs as people wrote them for TensorFlow 1.x, each run as it is by `tensorfleet run`."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tensorfleet.run import reading
from tests.ports import free_ports

PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 300

# What each prints in its last line, or the beginning of that.
ALONE = {
    "attention": "accuracy",
    "autoencoder": "loss",
    "constants": "all of",
    "deep": "accuracy",
    "dqn": "chosen",
    "gan": "done generator/g1/BatchNorm/beta",
    "mnist_estimator": "accuracy",
    "mnist_softmax": "accuracy",
    "policy_gradient": "reward grows",
    "resnet": "names ['Conv/BatchNorm/beta', 'Conv/BatchNorm/gamma', 'Conv/weights', 'block/conv1",
    "rnn_mnist": "accuracy",
    "slim_train": "accuracy",
    "translate": "loss falls",
    "wide_deep": "accuracy",
    "word2vec": "similar (10, 10)",
}
ARGUMENTS = {
    "deep": "--data_dir={}",
    "mnist_estimator": "{}",
    "mnist_softmax": "--data_dir={}",
    "rnn_mnist": "{}",
    "wide_deep": "--model_dir=model",
}


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MNIST's four files with patterns that are easily told from each other."""
    folder = tmp_path_factory.mktemp("digits")
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2, (10, 28, 28)) * 200
    for name, count in (("train", 5500), ("t10k", 500)):
        labels = rng.integers(0, 10, count).astype(np.uint8)
        images = (patterns[labels] + rng.integers(0, 56, (count, 28, 28))).astype(np.uint8)
        header = struct.pack(">IIII", 2051, count, 28, 28)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())
    return folder


def test_every_program_is_run() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == {*ALONE, "distributed", "squares"}


@pytest.mark.parametrize("name", [*ALONE, "distributed", "squares"])
def test_the_doctor_finds_nothing_missing(name: str) -> None:
    assert reading.read(PROGRAMS / f"{name}.py").findings == []


@pytest.mark.parametrize("name", ALONE)
def test_programs(name: str, digits: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tensorfleet.run", str(PROGRAMS / f"{name}.py")]
    if name in ARGUMENTS:
        command.append(ARGUMENTS[name].format(digits))
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith(ALONE[name])
    if last.startswith("accuracy"):
        assert float(last.split()[1]) > 0.8


def test_tests_and_benchmarks() -> None:
    command = [sys.executable, "-m", "tensorfleet.run", str(PROGRAMS / "squares.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert "Ran 7 tests" in done.stderr
    assert "OK (skipped=2)" in done.stderr  # test_session is none
    done = subprocess.run([*command, "--benchmarks=Square"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SquareBenchmark.benchmarkSquare: iters 3, wall_time ")


@pytest.mark.parametrize("flags", [[], ["--supervisor"]], ids=["monitored", "supervisor"])
def test_between_graph_replication(flags: list[str]) -> None:
    hosts = [f"127.0.0.1:{port}" for port in free_ports(3)]
    command = [sys.executable, "-m", "tensorfleet.run", str(PROGRAMS / "distributed.py"), *flags]
    command += [f"--ps_hosts={hosts[0]}", f"--worker_hosts={hosts[1]},{hosts[2]}"]
    started = [
        subprocess.Popen(
            [*command, f"--job_name={job}", f"--task_index={index}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for job, index in (("ps", 0), ("worker", 0), ("worker", 1))
    ]
    try:
        for worker in started[1:]:
            out, err = worker.communicate(timeout=SECONDS)
            assert worker.returncode == 0, err
            assert out.startswith("loss")
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_an_estimator_on_chief_ps_worker_and_evaluator(tmp_path: Path) -> None:
    """Each process is told by TF_CONFIG what it is; the evaluator is not in the cluster."""
    hosts = [f"127.0.0.1:{port}" for port in free_ports(3)]
    cluster = {"chief": hosts[:1], "ps": hosts[1:2], "worker": hosts[2:]}
    model = tmp_path / "model"
    program = str(PROGRAMS / "wide_deep.py")
    command = [sys.executable, "-m", "tensorfleet.run", program, f"--model_dir={model}"]
    with ExitStack() as stack:
        started = {}
        for job in ("ps", "worker", "evaluator", "chief"):
            task = {"cluster": cluster, "task": {"type": job, "index": 0}}
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "TF_CONFIG": json.dumps(task), "OPENBLAS_NUM_THREADS": "1"},
            )
            started[job] = stack.enter_context(process)
            stack.callback(process.kill)
        texts = {}
        for job in ("chief", "worker", "evaluator"):
            out, texts[job] = started[job].communicate(timeout=SECONDS)
            assert started[job].returncode == 0, texts[job]
        assert "Saving checkpoints for 0 into" in texts["chief"]
        assert "Saving checkpoints" not in texts["worker"]
        assert "Loss for final step" in texts["worker"]
        step, accuracy = out.splitlines()[-2:]
        assert int(step.removeprefix("step ")) >= 400
        assert float(accuracy.removeprefix("accuracy ")) > 0.85
        started["ps"].send_signal(signal.SIGTERM)
        _, text = started["ps"].communicate(timeout=60)
        assert started["ps"].returncode == 0, text
    (exported,) = (model / "export" / "final").iterdir()
    assert (exported / "saved_model.pb").exists()
    assert list((model / "eval").glob("*.tfevents.*"))
