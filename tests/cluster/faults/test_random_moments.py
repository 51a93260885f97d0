"""A training that is hit at random moments: by signals, by ends of processes, by links that are cut.

TENSORFLEET_FAULT_SEEDS names the seeds, as `1,2,3`; without it there is one. What happens, and when,
follows from the seed alone, and is printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tensorfleet as tf
from tests.cluster import networks
from tests.cluster.faults import training
from tests.cluster.faults.served import END_SECONDS, Served, ended
from tests.cluster.networks import Network, Networks
from tests.cluster.signals import stopped
from tests.ports import free_ports
from tests.until import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SEEDS = [int(seed) for seed in os.environ.get("TENSORFLEET_FAULT_SEEDS", "1").split(",")]
SILENCE_SECONDS = 2.0  # the limit of silence here
GOES_ON_SECONDS = 60.0  # within which a busy machine trains again
TASKS = [("ps", 0), ("worker", 0), ("worker", 1)]

Place = tuple[str, int]


class Life(NamedTuple):
    """The work of a client in one of its sessions: when that was made, and the counts it was told."""

    made: float
    counts: list[int]


class Trainer:
    """A worker's client process."""

    def __init__(self, task: int, network: Network | None, arguments: dict[str, object]) -> None:
        self._network = network
        self._command = [
            *([] if network is None else ["nsenter", f"--net={network.path}"]),
            *(sys.executable, "-m", training.__name__, json.dumps({**arguments, "task": task})),
        ]
        self._out = tempfile.TemporaryFile("w+")  # noqa: SIM115  gone with the trainer
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.STDOUT,
            cwd=Path(__file__).parents[3],
            env={
                **os.environ,
                "no_proxy": "*",
                "NO_PROXY": "*",
                "TENSORFLEET_HEARTBEAT_SECONDS": str(SILENCE_SECONDS),
            },
        )

    def text(self) -> str:
        size = os.fstat(self._out.fileno()).st_size
        return os.pread(self._out.fileno(), size, 0).decode()

    def steps(self) -> int:
        return self.text().count("\nstep ")

    def lives(self) -> list[Life]:
        found: list[Life] = []
        for line in self.text().splitlines():
            kind, _, value = line.partition(" ")
            if kind == "session":
                found.append(Life(float(value), []))
            elif kind == "step":
                found[-1].counts.append(int(value))
        return found

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(END_SECONDS)

    def wait(self) -> int:
        return self._process.wait(END_SECONDS)

    def close(self) -> None:
        self.kill()
        self._out.close()


class Training:
    """A ps, two workers, and a client for each of these, which saves to `directory`."""

    def __init__(self, hosts: Networks | None, tasks: list[Served], directory: Path, stop: Path) -> None:
        self.hosts, self.directory = hosts, directory
        self.tasks = dict(zip(TASKS, tasks, strict=True))
        self.stop = stop
        spec = {"ps": [tasks[0].address], "worker": [tasks[1].address, tasks[2].address]}
        arguments: dict[str, object] = {"spec": spec, "directory": str(directory), "stop": str(stop)}
        self.trainers = [Trainer(i, self.tasks["worker", i].network, arguments) for i in range(2)]
        self.ends_of_ps: list[float] = []

    def go_on(self) -> float:
        """Returns when both workers have made three steps more; the seconds of that."""
        before = [trainer.steps() for trainer in self.trainers]
        began = time.monotonic()

        def went_on() -> bool:
            for trainer in self.trainers:
                assert trainer.running, trainer.text()[-3000:]
            return all(trainer.steps() >= n + 3 for trainer, n in zip(self.trainers, before, strict=True))

        until(went_on, GOES_ON_SECONDS)
        return time.monotonic() - began

    def saved(self) -> int:
        """The count of the last checkpoint; every element of it is the same."""
        path = tf.train.latest_checkpoint(str(self.directory))
        count = tf.train.NewCheckpointReader(path).get_tensor("count")
        assert (count == count[0]).all(), path
        return int(count[0])

    def end_task(self, place: Place, number: int, pause: float) -> None:
        """A signal that ends a task, which is there again after a while."""
        task = self.tasks[place]
        task.signal(number)
        code = task.wait()
        assert code == (0 if number == signal.SIGTERM else -number), task.text()[-3000:]
        if place[0] == "ps":
            self.ends_of_ps.append(time.time())
        time.sleep(pause)
        task.restart()

    def stop_task(self, place: Place, pause: float) -> None:
        """A task that is stopped for longer than the limit of silence."""
        task = self.tasks[place]
        with stopped(task.pid):
            time.sleep(SILENCE_SECONDS + pause)

    def cut(self, worker: int, pause: float) -> None:
        """A link that is down for longer than the limit of silence."""
        assert self.hosts is not None
        self.hosts[0].cut(self.hosts[1 + worker])
        time.sleep(SILENCE_SECONDS + pause)
        self.hosts[0].mend(self.hosts[1 + worker])

    def kill_client(self) -> None:
        """The client of the worker that is not the chief ends, and is started anew."""
        self.trainers[1].kill()
        self.trainers[1].start()


@pytest.fixture
def hosts() -> Iterator[Networks | None]:
    """Three hosts with links between them, or None where there can be none: then no link is cut."""
    reason = networks.missing()
    if reason:
        print(f"All tasks are on the loopback and no link is cut, as {reason}.")
        yield None
        return
    with contextlib.closing(Networks(3)) as found:
        yield found


@pytest.fixture
def train(hosts: Networks | None, tmp_path: Path) -> Iterator[Training]:
    ports = free_ports(3)
    places = [None] * 3 if hosts is None else list(hosts.hosts)
    addresses = [f"{'127.0.0.1' if n is None else n.host}:{p}" for n, p in zip(places, ports, strict=True)]
    spec = {"ps": addresses[:1], "worker": addresses[1:]}
    limit = {"TENSORFLEET_HEARTBEAT_SECONDS": str(SILENCE_SECONDS)}
    tasks = [Served(spec, *place, network, **limit) for place, network in zip(TASKS, places, strict=True)]
    with ended(tasks):
        made = Training(hosts, tasks, tmp_path / "checkpoints", tmp_path / "stop")
        try:
            yield made
        finally:
            for trainer in made.trainers:
                trainer.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_training_survives_faults_at_random_moments(train: Training, seed: int) -> None:
    source = random.Random(seed)
    faults = [
        ("SIGKILL", ("ps", 0)),
        ("SIGKILL", ("worker", source.randrange(2))),
        ("SIGTERM", source.choice(TASKS)),
        ("SIGSTOP", source.choice(TASKS)),
        ("client", ("worker", 1)),
    ]
    if train.hosts is not None:
        faults.append(("cut", ("worker", source.randrange(2))))
    source.shuffle(faults)
    print(f"seed {seed}: {faults}")
    train.go_on()
    for fault, place in faults:
        moment, pause = source.uniform(0, 1), source.uniform(0, 1)
        time.sleep(moment)
        saved = train.saved() if fault in ("SIGKILL", "SIGTERM") and place[0] == "ps" else 0
        seen = [len(trainer.lives()) for trainer in train.trainers]
        if fault == "SIGSTOP":
            train.stop_task(place, pause)
        elif fault == "cut":
            train.cut(place[1], pause)
        elif fault == "client":
            train.kill_client()
        else:
            train.end_task(place, getattr(signal, fault), pause)
        print(f"{fault} of {place}: steps again {train.go_on():.2f} s after its end")
        if saved:  # nothing that a checkpoint had is lost
            for trainer, lives in zip(train.trainers, seen, strict=True):
                assert trainer.lives()[lives].counts[0] > saved, trainer.text()[-3000:]

    train.stop.touch()
    for trainer in train.trainers:
        assert trainer.wait() == 0, trainer.text()[-3000:]
        assert "\ntorn" not in trainer.text()
        assert float(trainer.text().rpartition("over ")[2]) < 1e-3
    _no_step_is_lost_or_doubled(train)
    _checkpoints_are_whole(train)
    _nothing_is_left(train)


def _no_step_is_lost_or_doubled(train: Training) -> None:
    """Between two ends of the ps each acknowledged step has a count of its own.

    Counts that nobody was told are of steps whose answer was lost: at most one for each session that ended.
    """
    for born, died in zip([0.0, *train.ends_of_ps], [*train.ends_of_ps, float("inf")], strict=True):
        lives = [life for trainer in train.trainers for life in trainer.lives() if born <= life.made < died]
        for life in lives:
            assert life.counts == sorted(life.counts)
        counts = sorted(count for life in lives for count in life.counts)
        assert len(set(counts)) == len(counts), "two steps had the same count: an increment is lost"
        unknown = counts[-1] - counts[0] + 1 - len(counts)
        assert unknown <= len(lives), f"{unknown} counts of nobody, with {len(lives)} sessions"


def _checkpoints_are_whole(train: Training) -> None:
    state = tf.train.get_checkpoint_state(str(train.directory))
    assert state is not None
    for path in state.all_model_checkpoint_paths:
        reader = tf.train.NewCheckpointReader(path)
        count = reader.get_tensor("count")
        assert (count == count[0]).all(), path
    # The last one is of the end: both are written by the same steps, in either order.
    assert abs(int(reader.get_tensor("global_step")) - int(count[0])) <= len(train.trainers) * 8
    np.testing.assert_allclose(reader.get_tensor("weights"), training.TRUE, atol=0.02)
    assert not [name for name in os.listdir(train.directory) if "tempstate" in name]


def _nothing_is_left(train: Training) -> None:
    """No shared memory with clients that have left, no child, and tasks that end well when told to."""
    for task in train.tasks.values():
        # Tasks of one host share memory with each other, those of several do not.
        until(lambda task=task: train.hosts is None or not task.shared_memory())
        children = Path(f"/proc/{task.pid}/task/{task.pid}/children").read_text()
        assert not children, children
    for task in train.tasks.values():
        task.signal(signal.SIGTERM)
    for task in train.tasks.values():
        assert task.wait() == 0, task.text()[-3000:]
        assert "Traceback" not in task.text(), task.text()[-3000:]
