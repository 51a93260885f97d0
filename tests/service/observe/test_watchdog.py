"""The watchdog: which steps it says to make no progress, and in which words."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet_service.devices.memory import BUDGET, Budget
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.observe import watchdog as watchdog_module
from tensorfleet_service.observe.watchdog import IDLE_SECONDS, Watchdog
from tensorfleet_service.worker.progress import activities
from tensorfleet_service.worker.worker import Worker
from tests.service.executor.test_step import TASK, Done, arrivals, register
from tests.service.fake_peers import FakePeers
from tests.until import until

CHAIN = """
    x = Placeholder()
    a = Neg(x) @ /task:1
    b = Exp(a) @ /task:0/cpu:0
    c = Square(b) @ /task:1
    d = Sub(c, b) @ /task:0/cpu:0
    """


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(TASK, task_devices(TASK, 1, cpus=3, gpus=0), 1)
    made.create_session("session", False)
    yield made
    made.close()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_step_without_progress_is_told_once_in_the_words_of_deadlines(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    worker.connect(FakePeers())
    made, _ = register(worker, CHAIN, ["x"], ["d"])
    watchdog = Watchdog(worker, 60.0)
    done = Done()
    worker.run(made, 7, [np.float32(1)][: len(made.layout.args)], done)
    first, second = arrivals(made)
    now = time.monotonic()
    for later in (0.0, 31.0, 59.0, 61.5, 100.0):
        watchdog.look(now + later)
        assert watchdog.stalled == (later > 60)
    ((text),) = warnings(caplog)
    (activity,) = activities(worker, [7])
    assert activity.texts[0] in text
    assert "step 7 has made no progress for" in text
    assert f"waits for tensor a (edge {first}) from /job:worker/task:1 to /job:worker/task:0" in text
    assert watchdog.stalls == 1

    worker.deliver(7, [first], [np.float32(0)])
    watchdog.look(now + 110)
    assert watchdog.stalled == 0
    assert "step 7 goes on" in caplog.text
    watchdog.look(now + 169)
    assert len(warnings(caplog)) == 1
    watchdog.look(now + 171)
    assert f"tensor c (edge {second})" in warnings(caplog)[1]

    worker.deliver(7, [second], [np.float32(3)])
    assert done.result() == [2.0]
    watchdog.look(now + 200)
    assert watchdog.stalled == 0
    assert not watchdog._seen


def test_steps_that_come_and_go_are_not_told(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    worker.connect(FakePeers())
    made, _ = register(worker, CHAIN, ["x"], ["d"])
    watchdog = Watchdog(worker, 60.0)
    now = time.monotonic()
    for number in range(10):
        done = Done()
        worker.run(made, number, [], done)
        watchdog.look(now + 20 * number)
        for edge in arrivals(made):
            worker.deliver(number, [edge], [np.float32(0)])
        done.result()
    assert warnings(caplog) == []
    assert watchdog.stalls == 0


def test_zero_seconds_look_at_nothing(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog = Watchdog(worker, 0.0)
    monkeypatch.setattr(Worker, "running", None)
    watchdog.look(time.monotonic())


def test_memory_is_given_back_once_after_each_busy_time(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    watchdog = Watchdog(worker)
    used = 5.0
    given_back: list[float] = []
    now = 0.0
    monkeypatch.setattr(time, "process_time", lambda: used)
    monkeypatch.setattr(BUDGET, "release", lambda: given_back.append(now))
    for now in range(100):
        used += 0.5 if now < 10 or now == 60 else 0.001
        watchdog.trim(now)
    assert given_back == [9 + IDLE_SECONDS, 60 + IDLE_SECONDS]


class _Exhausted(Budget):
    """A budget whose memory is exhausted again while it is rebased for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.was_exhausted = True
        self.rebased = 0

    def rebase(self, is_busy: bool = False) -> bool:
        self.rebased += 1
        if self.rebased == 1:
            self.was_exhausted = True
        return True

    def release(self) -> None:
        pass

    def refresh(self) -> None:
        pass


def test_memory_that_is_exhausted_during_a_look_is_looked_at_again(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = _Exhausted()
    monkeypatch.setattr(watchdog_module, "BUDGET", budget)
    monkeypatch.setattr(watchdog_module, "TICK_SECONDS", 0.01)
    watchdog = Watchdog(worker)
    watchdog.start()
    try:
        # The watchdogs of other servers of this process may look, too.
        until(lambda: budget.rebased >= 2 and not budget.was_exhausted)
    finally:
        watchdog.close()
        watchdog._thread.join(10)
