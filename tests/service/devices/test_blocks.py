"""Work that is divided among threads: large reductions, products and losses; what is common to them."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import blocks
from tensorfleet_service.devices.blas import large_product
from tensorfleet_service.devices.blocks import in_parallel, scratch, shares, split
from tensorfleet_service.kernels.math import reduction
from tensorfleet_service.kernels.nn import cross_entropy
from tensorfleet_service.kernels.registry import make_kernel
from tests.kernels.harness import make_node, run_op

TIMEOUT = 20.0
NAME = "refused"  # of threads that cannot be started


def test_all_parts_are_done_once() -> None:
    done: list[int] = []
    in_parallel(done.append, list(range(1000)))
    assert sorted(done) == list(range(1000))


def test_several_threads_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "thread_count", lambda: 2)
    both = threading.Barrier(2)
    places: list[int] = []
    in_parallel(lambda part: places.append(both.wait(TIMEOUT)), [0, 1])  # neither could go on alone
    assert sorted(places) == [0, 1]


def test_one_part_needs_no_other_thread() -> None:
    threads: list[threading.Thread] = []
    in_parallel(lambda part: threads.append(threading.current_thread()), [0])
    assert threads == [threading.current_thread()]


def test_nothing_is_kept_after_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "thread_count", lambda: 2)
    busy, end = threading.Event(), threading.Event()

    def hold() -> None:
        busy.set()
        end.wait(TIMEOUT)

    # With all other threads at other work, the request for help stays queued.
    others = [blocks._threads().submit(hold) for _ in range(blocks._threads()._max_workers)]
    assert busy.wait(TIMEOUT)
    array = np.ones(10)
    free = sys.getrefcount(array)

    def use(part: int) -> None:
        array[part] = part

    in_parallel(use, [0, 1, 2])
    del use
    assert sys.getrefcount(array) == free
    end.set()
    for other in others:
        other.result(TIMEOUT)


def test_where_no_thread_can_be_started_the_caller_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "thread_count", lambda: 4)
    pool = ThreadPoolExecutor(3, NAME)
    monkeypatch.setattr(blocks, "_threads", lambda: pool)

    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith(NAME):
            raise RuntimeError("can't start new thread")
        start(thread)

    done: list[int] = []
    with monkeypatch.context() as limits:
        limits.setattr(threading.Thread, "start", refuse)
        in_parallel(done.append, list(range(8)))
    assert sorted(done) == list(range(8))
    pool.submit(lambda: None).result(TIMEOUT)  # which goes through the requests that are left
    pool.shutdown()


def test_a_request_whose_thread_did_not_start_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # The only thread that there is takes it, while the caller is at work.
    monkeypatch.setattr(blocks, "thread_count", lambda: 3)
    pool = ThreadPoolExecutor(2, NAME)
    monkeypatch.setattr(blocks, "_threads", lambda: pool)
    go_on, both = threading.Event(), threading.Barrier(2)
    pool.submit(go_on.wait, TIMEOUT)
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith(NAME):
            go_on.set()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []

    def work(part: int) -> None:
        both.wait(TIMEOUT)
        done.append(part)

    in_parallel(work, [0, 1, 2, 3])
    assert sorted(done) == [0, 1, 2, 3]
    monkeypatch.undo()
    pool.shutdown()


@pytest.mark.parametrize("failing", range(8))
def test_an_error_of_any_part_is_raised(failing: int) -> None:
    def work(part: int) -> None:
        if part == failing:
            raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match=f"part {failing}"):
        in_parallel(work, list(range(8)))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_ranges_are_whole(size: int) -> None:
    for ranges in (split(size, 3), shares(size)) if size else ():
        assert [i for begin, end in ranges for i in range(begin, end)] == (
            list(range(size)) if ranges else []
        )


def test_scratch_is_of_the_thread() -> None:
    first, second = scratch(2, 100, np.float32)
    assert first.dtype == np.float32
    assert first.size == second.size == 100
    assert not np.shares_memory(first, second)
    assert np.shares_memory(first, scratch(1, 50, np.float64)[0])
    other: list[Any] = []
    thread = threading.Thread(target=lambda: other.extend(scratch(1, 100, np.float32)))
    thread.start()
    thread.join(TIMEOUT)
    assert not np.shares_memory(first, other[0])


@pytest.mark.parametrize("op", ["Sum", "Prod", "Max", "Min", "Mean"])
@pytest.mark.parametrize("axes", [[0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("keep", [False, True])
def test_large_reductions(op: str, axes: list[int], keep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).uniform(0.9, 1.1, (5, 6, 7)).astype(np.float32)
    whole = run_op(op, x, np.array(axes, np.int32), keep_dims=keep)
    monkeypatch.setattr(reduction, "LARGE", 1)
    monkeypatch.setattr(reduction, "PART", 8)
    divided = run_op(op, x, np.array(axes, np.int32), keep_dims=keep)
    assert divided.shape == whole.shape
    np.testing.assert_allclose(divided, whole, rtol=1e-6)
    views = run_op(op, x[:, ::2, ::-1], np.array(axes, np.int32), keep_dims=keep)
    monkeypatch.setattr(reduction, "LARGE", 1000)
    np.testing.assert_allclose(
        views, run_op(op, x[:, ::2, ::-1], np.array(axes, np.int32), keep_dims=keep), rtol=1e-6
    )


def test_a_sum_does_not_depend_on_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal(3_000_001).astype(np.float32)
    sums = set()
    for count in (1, 2, 3, 8):
        monkeypatch.setattr(reduction, "thread_count", lambda count=count: count)
        monkeypatch.setattr(blocks, "thread_count", lambda count=count: count)
        sums |= {run_op("Sum", x, np.int32(0)).tobytes() for _ in range(5)}
    assert len(sums) == 1
    np.testing.assert_allclose(run_op("Sum", x, np.int32(0)), x.sum(dtype=np.float64), rtol=1e-4)


@pytest.mark.parametrize("shape", [(300, 20, 50), (20, 300, 50), (50, 20, 301)])
def test_large_products(shape: tuple[int, int, int]) -> None:
    generator = np.random.default_rng(0)
    a = generator.standard_normal(shape[:2]).astype(np.float32)
    b = generator.standard_normal(shape[1:]).astype(np.float32)
    np.testing.assert_allclose(large_product(a, b), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("block_bytes", [10_000, cross_entropy.ROW_BLOCK_BYTES])
def test_cross_entropy_of_many_rows(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "ROW_BLOCK_BYTES", block_bytes)
    generator = np.random.default_rng(0)
    logits = generator.standard_normal((3000, 70)).astype(np.float32) * 5
    labels = generator.uniform(0, 1, (3000, 70)).astype(np.float32)
    # Where nothing is expected, a class may be impossible.
    logits[17, 3], labels[17, 3] = -np.inf, 0
    loss, gradient = run_op("SoftmaxCrossEntropyWithLogits", logits, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
        total = np.exp(exact).sum(axis=1, keepdims=True)
        products = labels * (np.log(total) - exact)
    products[17, 3] = 0
    np.testing.assert_allclose(loss, products.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(gradient, np.exp(exact) / total - labels, rtol=1e-4, atol=1e-6)
    node, values = make_node("SoftmaxCrossEntropyWithLogits", logits, labels)
    node.used_outputs = (0,)
    alone = make_kernel(node)
    assert callable(alone)
    with np.errstate(all="ignore"):
        only_loss, nothing = alone(*values)
    np.testing.assert_array_equal(only_loss, loss)
    assert nothing is None
