"""The compiled module by itself: what it refuses before it computes, and that its threads share work."""

from __future__ import annotations

import os
import struct
import threading
from typing import Any

import numpy as np
import pytest

native: Any = pytest.importorskip("tensorfleet_kernels._native")

NUMBER, ROW, COLUMN, FULL, OUTPUT, UPDATED = range(6)
STEP = {name: i for i, name in enumerate(native.STEPS)}
REFUSED = (ValueError, TypeError, BufferError)


def code(*instructions: tuple[int, int, int, int]) -> bytes:
    return b"".join(struct.pack("iiii", *instruction) for instruction in instructions)


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def evaluate(instructions: bytes, operands: tuple[Any, ...], forms: list[int], **sizes: int) -> None:
    sizes = {"rows": 6, "width": 5, "temporaries": 1, "threads": 2} | sizes
    native.evaluate(instructions, operands, bytes(forms), *sizes.values())


ADD = code((STEP["add"], 2, 0, 1))


@pytest.mark.parametrize(
    ("instructions", "change"),
    [
        (code((len(STEP), 2, 0, 1)), {}),
        (code((-1, 2, 0, 1)), {}),
        (code((STEP["add"], 0, 0, 1)), {}),  # writes an input
        (code((STEP["add"], 4, 0, 1)), {}),  # a temporary that there is not
        (code((STEP["add"], 2, -1, 1)), {}),
        (code((STEP["add"], 2, 0, 99)), {}),
        (ADD[:-1], {}),
        (ADD * 600, {}),
        (ADD, {"rows": 7}),
        (ADD, {"width": 6}),
        (ADD, {"rows": -6, "width": -5}),
        (ADD, {"rows": 1 << 62, "width": 1 << 62}),
        (ADD, {"temporaries": 1000}),
        (ADD, {"temporaries": -1}),
    ],
)
def test_code_that_does_not_fit_is_refused(instructions: bytes, change: dict[str, int]) -> None:
    out = np.zeros((6, 5), np.float32)
    with pytest.raises(ValueError):  # noqa: PT011
        evaluate(instructions, (floats(6, 5), floats(6, 5), out), [FULL, FULL, OUTPUT], **change)
    assert not out.any()


def test_two_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="instruction"):
        evaluate(ADD, (1.0, 2.0, floats(6, 5)), [NUMBER, NUMBER, OUTPUT])
    with pytest.raises(ValueError, match="instruction"):
        evaluate(code((STEP["exp"], 1, 0, 0)), (1.0, floats(6, 5)), [NUMBER, OUTPUT])


@pytest.mark.parametrize(
    "wrong",
    [
        floats(5, 6)[:, :5],
        floats(5, 6).T,
        floats(6, 5).astype(np.float64),
        floats(6, 5).astype(">f4"),
        floats(6, 5).view(np.int32),
        floats(6, 4),
        "text",
        None,
        1.0,
    ],
)
@pytest.mark.parametrize("form", [FULL, ROW, COLUMN, 77])
def test_operands_that_do_not_fit_are_refused(wrong: Any, form: int) -> None:
    out = np.zeros((6, 5), np.float32)
    with pytest.raises(REFUSED):
        evaluate(ADD, (floats(6, 5), wrong, out), [FULL, form, OUTPUT])
    assert not out.any()


def test_outputs_are_apart_from_all_others_and_writable() -> None:
    x = floats(7, 5)
    for operands in ((x[:6], x[1:], x[:6]), (x[:6], x[1:], x[1:])):
        with pytest.raises(ValueError, match="shares memory"):
            evaluate(ADD, operands, [FULL, FULL, OUTPUT])
    constant = floats(6, 5)
    constant.flags.writeable = False
    with pytest.raises(REFUSED):
        evaluate(ADD, (x[:6], x[1:], constant), [FULL, FULL, OUTPUT])
    out = np.zeros((6, 5), np.float32)
    evaluate(ADD, (x[:6], x[1:], out), [FULL, FULL, OUTPUT])  # inputs may share
    np.testing.assert_array_equal(out, x[:6] + x[1:])


@pytest.mark.parametrize("shape", [(1, 1), (1, 5000), (5000, 1), (3, 1024), (700, 3), (33, 1025), (9, 3001)])
def test_every_form_at_every_width(shape: tuple[int, int]) -> None:
    rows, width = shape
    full, row, column, out = floats(*shape), floats(width, seed=1), floats(rows, 1, seed=2), floats(*shape)
    instructions = code(
        (STEP["multiply"], 5, 0, 1),
        (STEP["add"], 5, 5, 2),
        (STEP["maximum"], 4, 5, 3),
        (STEP["negative"], 4, 4, 0),
    )
    operands, forms = (full, row, column, 0.25, out), [FULL, ROW, COLUMN, NUMBER, OUTPUT]
    evaluate(instructions, operands, forms, rows=rows, width=width)
    np.testing.assert_array_equal(out, -np.maximum(full * row + column, np.float32(0.25)))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 5], np.int32),
        np.array([-1, 0], np.int64),
        np.array([0, 1], np.int16),
        np.zeros(3, np.int32),
    ],
)
def test_labels_that_are_no_class_are_refused(labels: Any) -> None:
    loss, gradient = np.zeros(2, np.float32), np.zeros((2, 5), np.float32)
    with pytest.raises(REFUSED):
        native.cross_entropy(floats(2, 5), labels, loss, gradient, 2, 5, True, 1)
    assert not loss.any()
    assert not gradient.any()


@pytest.mark.parametrize(
    "windows",
    [
        ((2, 2), (0, 2), (0, 0)),
        ((0, 2), (2, 2), (0, 0)),
        ((2, 2), (2, 2), (-1, 0)),
        ((1 << 40, 2), (2, 2), (0, 0)),
    ],
)
def test_windows_that_are_none_are_refused(windows: Any) -> None:
    with pytest.raises(ValueError, match="windows"):
        native.max_pool(floats(1, 4, 4, 3), floats(1, 2, 2, 3), (1, 4, 4, 3), (2, 2), *windows, 1)


def test_sizes_of_images_are_checked() -> None:
    for shape, out in (
        ((1, 4, 4, 4), (2, 2)),
        ((1, 4, 4, 3), (2, 3)),
        ((-1, -4, 4, 3), (2, 2)),
        ((2**40,) * 4, (2, 2)),
    ):
        with pytest.raises(ValueError, match="array"):
            native.max_pool(floats(1, 4, 4, 3), floats(1, 2, 2, 3), shape, out, (2, 2), (2, 2), (0, 0), 1)


def test_results_do_not_depend_on_the_threads() -> None:
    x = floats(3000, 48)
    results = set()
    for threads in (1, 2, 3, 64):
        sums, out = np.zeros(48, np.float32), np.empty_like(x)
        native.column_sums(x, sums, 3000, 48, threads)
        native.softmax(x, out, 3000, 48, False, threads)
        results.add(sums.tobytes() + out.tobytes())
    assert len(results) == 1


def test_calls_at_the_same_time() -> None:
    x = floats(2000, 300)
    expected = -x
    failures = []

    def work() -> None:
        out = np.empty_like(x)
        for _ in range(50):
            out[...] = 0
            evaluate(
                code((STEP["negative"], 1, 0, 0)), (x, out), [FULL, OUTPUT], rows=2000, width=300, threads=4
            )
            if not np.array_equal(out, expected):
                failures.append(out)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures


def test_a_forked_process_has_threads_of_its_own() -> None:
    x, sums = floats(5000, 64), np.zeros(64, np.float32)
    native.column_sums(x, sums, 5000, 64, 3)
    child = os.fork()
    if child == 0:
        again = np.zeros(64, np.float32)
        native.column_sums(x, again, 5000, 64, 3)
        os._exit(0 if np.array_equal(again, sums) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("size", [-1, 0, 99, 101, 1 << 62])
def test_copies_of_another_size_are_refused(size: int) -> None:
    source, target = np.ones(100, np.uint8), np.zeros(100, np.uint8)
    with pytest.raises(REFUSED):
        native.copy(source, target, size, 2)
    assert not target.any()


def test_copies_that_overlap_or_cannot_be_written_are_refused() -> None:
    memory = np.arange(200, dtype=np.uint8)
    with pytest.raises(REFUSED):
        native.copy(memory[:100], memory[99:199], 100, 2)
    with pytest.raises(REFUSED):
        native.copy(memory[:100], bytes(100), 100, 2)
    with pytest.raises(REFUSED):
        native.copy(memory[::2], np.zeros(100, np.uint8), 100, 2)
    with pytest.raises(REFUSED):
        native.copy(np.zeros(100, np.float32), np.zeros(100, np.uint8), 100, 2)
    np.testing.assert_array_equal(memory, np.arange(200))
