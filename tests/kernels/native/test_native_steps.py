"""Steps of the compiled kernels that are several at once, or tell numbers of one kind from others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import native
from tensorfleet_service.kernels.math import compiled
from tensorfleet_service.kernels.math.compiled import FULL, UPDATED, compile_steps, elementwise
from tests.kernels.harness import run_op

pytestmark = pytest.mark.skipif(native.native is None, reason="no compiled kernels")


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def wild(count: int, seed: int) -> Any:
    """Numbers of all magnitudes, whole ones, halves, and all that are special."""
    generator = np.random.default_rng(seed)
    found = np.exp2(generator.uniform(-149, 128, count)) * generator.choice([-1, 1], count)
    found[::3] = generator.integers(-20, 20, len(found[::3])) / 2
    found[::31] = generator.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, 3.4e38], len(found[::31]))
    with np.errstate(over="ignore"):
        return found.astype(np.float32)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e5, 1e30])
def test_remainders_are_numpys_bit_by_bit(scale: float) -> None:
    for seed in range(3):
        x, y = floats(20_000, seed=seed) * np.float32(scale), floats(20_000, seed=seed + 9)
        assert run_op("FloorMod", x, y).tobytes() == np.remainder(x, y).tobytes()
        # Quotients that are whole, or nearly.
        x = np.nextafter(y * np.rint(x), np.float32([-np.inf, 0.0, np.inf, 0.0] * 5000))
        assert run_op("FloorMod", x, y).tobytes() == np.remainder(x, y).tobytes()


def test_remainders_of_all_numbers() -> None:
    x, y = wild(30_000, 1), wild(30_000, 2)
    with np.errstate(all="ignore"):
        expected = np.remainder(x, y)
    found = run_op("FloorMod", x, y)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("place", [0, 1])
def test_remainders_with_one_number(place: int) -> None:
    values = floats(5000)
    operands = ("0.7", "x0") if place == 0 else ("x0", "0.7")
    steps = compile_steps([("remainder", "o0", operands)], {"x0": FULL}, ["o0"], 0)
    assert steps is not None
    out = np.empty_like(values)
    steps.run((values,), (out,), 5000, 1)
    one = np.float32(0.7)
    expected = np.remainder(one, values) if place == 0 else np.remainder(values, one)
    assert out.tobytes() == expected.tobytes()


def test_lgamma() -> None:
    x = np.concatenate([floats(5000) * 4, np.abs(floats(3000)) * 1000, 1 + floats(1000) / 1024])
    expected = np.array([math.lgamma(value) for value in x.tolist()], np.float32)
    np.testing.assert_allclose(run_op("Lgamma", x), expected, rtol=2e-7, atol=1e-9)
    x[:9] = [0.0, -0.0, -1.0, -7.0, np.inf, -np.inf, np.nan, 1.0, 2.0]
    found = run_op("Lgamma", x)[:9]
    np.testing.assert_array_equal(found, [np.inf] * 6 + [np.nan, 0.0, 0.0])


@pytest.mark.parametrize(("depth", "reach"), [(1, 1), (7, 3), (24, 2), (33, 33), (40, 0)])
def test_sums_of_squares_nearby(depth: int, reach: int) -> None:
    x = floats(150, depth)
    out = np.full_like(x, np.nan)
    native.native.near_squares(x, out, 150, depth, reach, 2)
    padded = np.pad(x * x, ((0, 0), (reach, reach)))
    expected = np.zeros_like(x)
    for offset in range(2 * reach + 1):
        expected += padded[:, offset : offset + depth]
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("sizes", [(3, 5, -1), (3, 5, 6), (3, 4, 1), (-3, 5, 1), (1 << 62, 1 << 62, 1)])
def test_sums_that_do_not_fit_are_refused(sizes: tuple[int, ...]) -> None:
    x, out = floats(3, 5), floats(3, 5)
    with pytest.raises((ValueError, TypeError)):
        native.native.near_squares(x, out, *sizes, 1)
    with pytest.raises(ValueError, match="shares"):
        native.native.near_squares(x, x, 3, 5, 1, 1)


ROWS = {
    "move": [
        ("subtract", "t0", ("x0", "o0")),
        ("multiply", "t0", ("t0", "0.25")),
        ("add", "o0", ("o0", "t0")),
    ],
    "add_product": [("multiply", "t0", ("x0", "x1")), ("add", "o0", ("o0", "t0"))],
    "subtract_product": [("multiply", "t0", ("x0", "0.3")), ("subtract", "o0", ("o0", "t0"))],
    "subtract_quotient": [("divide", "t0", ("x0", "x1")), ("subtract", "o0", ("o0", "t0"))],
    "add_to_root": [("absolute", "t0", ("x0",)), ("sqrt", "t0", ("t0",)), ("add", "t0", ("t0", "0.1"))],
}


def result(steps: list[compiled.Step], combines: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, int]:
    """The bits of what steps make of the same values, and the number of instructions."""
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "COMBINED", compiled.COMBINED if combines else ())
        made = compile_steps(steps, {"x0": FULL, "x1": FULL}, ["o0"], 2, UPDATED)
    assert made is not None
    out = floats(3000, seed=3)
    made.run((floats(3000), floats(3000, seed=1)), (out,), 3000, 1)
    return out.tobytes(), len(made._code) // 16


@pytest.mark.parametrize("name", list(ROWS))
def test_steps_at_once_have_the_bits_of_the_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[compiled.Step] = [*ROWS[name]]
    if name == "add_to_root":
        steps.append(("multiply", "o0", ("t0", "x1")))
    together, count = result(steps, True, monkeypatch)
    apart, all_of_them = result(steps, False, monkeypatch)
    assert count < all_of_them == len(steps)
    assert together == apart


def test_two_numbers_are_no_operands_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[compiled.Step] = [
        ("subtract", "t0", ("2", "o0")),
        ("multiply", "t0", ("t0", "0.25")),
        ("add", "o0", ("o0", "t0")),
    ]
    assert result(steps, True, monkeypatch)[0] == result(steps, False, monkeypatch)[0]


def test_a_value_that_is_read_later_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for steps in ROWS.values():
        read: list[compiled.Step] = [*steps, ("add", "o0", ("t0", "o0")), ("multiply", "o0", ("o0", "t0"))]
        assert result(read, True, monkeypatch)[0] == result(read, False, monkeypatch)[0]
    written: list[compiled.Step] = [
        *ROWS["add_product"],
        ("negative", "t0", ("x0",)),
        ("add", "o0", ("o0", "t0")),
    ]
    assert result(written, True, monkeypatch)[1] == 3


def test_small_arrays_and_others_stay_with_numpy() -> None:
    step = elementwise([("remainder", "out", ("x0", "x1"))], 2, 0)
    assert step is not None
    for x, y in (
        (floats(5), floats(5)),
        (floats(5000, 2), floats(2)),
        (floats(9).astype(np.float64), floats(9)),
    ):
        if x.dtype == y.dtype:
            np.testing.assert_array_equal(run_op("FloorMod", x, y), np.remainder(x, y))
    x = floats(6000).astype(np.float64)
    np.testing.assert_array_equal(run_op("FloorMod", x, x[::-1]), np.remainder(x, x[::-1]))


@pytest.mark.parametrize("shift", [0, 1, 4, 15])
@pytest.mark.parametrize("count", [3, 12, 511, 512, 513, 1537, 70_001])
def test_pieces_begin_at_lines_of_the_cache_wherever_arrays_lie(count: int, shift: int) -> None:
    memory = np.full((2, count + 32), np.nan, np.float32)
    x, out = memory[0, shift : shift + count], memory[1, shift + 2 : shift + 2 + count]
    x[:] = floats(count)
    steps = compile_steps(
        [("multiply", "t0", ("x0", "x0")), ("subtract", "o0", ("t0", "3.0"))], {"x0": FULL}, ["o0"], 1
    )
    assert steps is not None
    steps.run((x,), (out,), count, 1)
    assert out.tobytes() == (x * x - np.float32(3)).tobytes()
    assert np.isnan(memory[1, : shift + 2]).all()
    assert np.isnan(memory[1, shift + 2 + count :]).all()
