"""Products that are computed beside what follows them: which ones, that nothing but the time shows it."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import beside as devices_beside, blocks
from tensorfleet_service.devices.beside import Beside
from tensorfleet_service.executor import branches, plan_writer
from tests.service.executor.test_plan import Step, failure, plan

LAYERS = """
x = Placeholder()
w = Placeholder()
v = Placeholder()
y = MatMul(x, w)
z = MatMul(y, v)
dv = MatMul(y, z) transpose_a=True
dy = MatMul(z, v) transpose_b=True
n = Neg(dy)
dw = MatMul(x, n) transpose_a=True
s = Sub(dv, dw)
"""
FEEDS, FETCHES = ("x", "w", "v"), ("s",)


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "thread_count", lambda: 2)


def values(size: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((size, size)).astype(np.float32) for _ in FEEDS]


def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The products that plans start from now on."""
    made = []

    def start(*arguments: Any) -> Beside:
        made.append(Beside(*arguments))
        return made[-1]

    monkeypatch.setattr(branches, "Beside", start)
    return made


def run(text: str, arguments: list[Any], feeds: Any = FEEDS, fetches: Any = FETCHES) -> Any:
    return plan(text, feeds, fetches).function(Step(), arguments)


def test_a_product_that_is_not_needed_soon_is_computed_beside_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = started(monkeypatch)
    found = run(LAYERS, values(160))
    assert len(made) == 1  # dv: all others are needed at once
    monkeypatch.setattr(branches, "thread_count", lambda: 1)
    alone = run(LAYERS, values(160))
    assert len(made) == 1
    for one, other in zip(found, alone, strict=True):
        assert one.tobytes() == other.tobytes()


def test_small_products_and_those_that_use_all_cores_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made = started(monkeypatch)
    for size in (3, 40, 100, 320):
        run(LAYERS, values(size))
    assert not made


def test_a_product_with_no_other_beside_it_is_written_as_ever() -> None:
    text = "x = Placeholder()\ny = MatMul(x, x)\nz = MatMul(y, y)"
    assert "Beside" not in plan(text, ["x"], ["z"]).source
    assert "Beside" in plan(LAYERS, FEEDS, FETCHES).source


def test_where_no_thread_is_free_the_plan_computes() -> None:
    expected = run(LAYERS, values(160))
    begun, go_on = threading.Semaphore(0), threading.Event()
    workers = max(1, blocks.thread_count() - 1)

    def occupy() -> None:
        begun.release()
        go_on.wait(60)

    for _ in range(workers):
        blocks.submit(occupy)
    try:
        for _ in range(workers):
            assert begun.acquire(timeout=60)
        found = run(LAYERS, values(160))
    finally:
        go_on.set()
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_failure_is_laid_to_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(a: Any, b: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(branches, "Beside", lambda _, *arguments: Beside(fail, *arguments))
    error = failure(plan(LAYERS, FEEDS, FETCHES), values(160))
    assert "{{node dv}}" in error.message
    assert "no room" in error.message


def test_inputs_that_do_not_fit_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = started(monkeypatch)
    x, w, v = values(160)
    error = failure(plan(LAYERS, FEEDS, FETCHES), [x, w, np.ones((200, 160), np.float32)])
    assert "In[0]: [160,160], In[1]: [200,160]" in error.message
    error = failure(plan(LAYERS, FEEDS, FETCHES), [x, w[0], v])
    assert "ndims" in error.message
    assert not made


def test_traced_plans_compute_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made = started(monkeypatch)
    function, _ = plan(LAYERS, FEEDS, FETCHES).traced()
    function(Step(), values(160))
    assert not made


def test_what_a_failed_step_does_not_need_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    submitted: list[Any] = []
    monkeypatch.setattr(devices_beside, "submit", lambda function, job: submitted.append((function, job)))

    class Argument:
        pass

    argument = Argument()
    known = weakref.ref(argument)
    value = Beside(calls.append, argument)
    del argument
    assert known() is not None
    del value
    gc.collect()
    assert known() is None
    for function, job in submitted:
        function(job)
    assert not calls


def test_a_value_is_computed_once_and_its_arguments_end(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[Any] = []
    monkeypatch.setattr(devices_beside, "submit", lambda function, job: submitted.append((function, job)))
    calls: list[int] = []

    def call(x: Any) -> int:
        calls.append(len(x))
        return len(calls)

    value = Beside(call, np.ones(3))
    assert value.get() == 1
    for function, job in submitted:
        function(job)
    assert calls == [3]
    failing = Beside(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.get()
    assert plan_writer.Beside is Beside


def test_a_value_that_was_taken_is_not_kept_by_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[Any] = []
    monkeypatch.setattr(devices_beside, "submit", lambda *request: submitted.append(request))
    value = Beside(np.zeros, 3).get()
    known = weakref.ref(value)
    del value
    assert known() is None  # at once, though no thread has looked at the request yet
    assert len(submitted) == 1


def test_an_error_that_was_raised_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_beside, "submit", lambda *request: None)

    class Argument:
        pass

    def fail(argument: Argument) -> None:
        raise MemoryError("no room")

    argument = Argument()
    known = weakref.ref(argument)
    gc.disable()  # what would keep it is a cycle: the error's traceback has the frames
    try:
        try:
            Beside(fail, argument).get()
        except MemoryError:
            pass
        else:
            pytest.fail("no error")
        del argument
        assert known() is None
    finally:
        gc.enable()


def test_where_no_thread_can_be_started_the_plan_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run(LAYERS, values(160))
    pool = ThreadPoolExecutor(1, "refused")
    monkeypatch.setattr(blocks, "_threads", lambda: pool)

    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("refused"):
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as limits:
        limits.setattr(threading.Thread, "start", refuse)
        found = run(LAYERS, values(160))
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()
