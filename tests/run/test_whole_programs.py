"""Whole programs, which make their data and check what they learn: alone, and on a ps and two workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import tensorfleet as tf
from tensorfleet.run import reading
from tests.compat.cluster import Cluster, running

PROGRAMS = Path(__file__).parent / "whole"
SECONDS = 300

# How each is called: the program, and arguments. The name of a folder of its own stands for {}.
CALLS = {
    "actor_critic": ["actor_critic"],
    "char_rnn_sample": ["char_rnn_sample", "--save_dir={}"],
    "cnn_records_by_dataset": ["cnn_records", "--input=dataset", "--data_dir={}"],
    "cnn_records_by_queues": ["cnn_records", "--input=queues", "--data_dir={}"],
    "dcgan": ["dcgan"],
    "ptb_lm": ["ptb_lm"],
    "seq2seq_beam": ["seq2seq_beam", "--out_dir={}"],
    "slim_resnet": ["slim_resnet", "--train_dir={}"],
    "towers": ["towers"],
    "word2vec_nce": ["word2vec_nce"],
}
# Steps of all workers are more on the cluster, as some are taken with gradients that are late.
ON_CLUSTER = {
    "cnn_records_by_dataset": ["--max_steps=300"],
    "cnn_records_by_queues": ["--max_steps=300"],
    "seq2seq_beam": ["--max_steps=600"],
    "slim_resnet": ["--max_number_of_steps=90"],
}
# One program makes the graph for all workers.
IN_GRAPH = {"towers"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running({"ps": 1, "worker": 2}, tmp_path_factory.mktemp("cluster")) as started:
        yield started


def start(name: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    program, *own = (part.format(folder) for part in CALLS[name])
    command = [sys.executable, "-m", "tensorfleet.run", str(PROGRAMS / f"{program}.py"), *own, *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        # The programs run beside each other, and in turn with the tasks.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def finish(*programs: subprocess.Popen[str]) -> None:
    """Waits for all; what each has to reach, it has asserted itself."""
    with ExitStack() as stack:
        for program in programs:
            stack.enter_context(program)
            stack.callback(program.kill)
        for program in programs:
            text, _ = program.communicate(timeout=SECONDS)
            assert program.returncode == 0, text


def test_every_program_is_run() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == {program for program, *_ in CALLS.values()}


@pytest.mark.parametrize("name", sorted({program for program, *_ in CALLS.values()}))
def test_the_doctor_finds_nothing_missing(name: str) -> None:
    assert reading.read(PROGRAMS / f"{name}.py").findings == []


@pytest.mark.parametrize("name", CALLS)
def test_alone(name: str, tmp_path: Path) -> None:
    finish(start(name, tmp_path))


@pytest.mark.cluster
@pytest.mark.parametrize("name", CALLS)
def test_on_a_cluster(name: str, tmp_path: Path, cluster: Cluster) -> None:
    """The variables are on the ps, and each worker has its own part of the work."""
    for job, addresses in cluster.jobs.items():
        for index in range(len(addresses)):
            tf.Session.reset(cluster.target(job, index))
    flags = ["--num_ps_tasks=1", *ON_CLUSTER.get(name, [])]
    programs = [start(name, tmp_path, *flags, f"--master={cluster.target('worker')}")]
    if name not in IN_GRAPH:
        programs.append(start(name, tmp_path, *flags, f"--master={cluster.target('worker', 1)}", "--task=1"))
    finish(*programs)
