"""Operands that several products of a plan share: packed once, and nothing but the time shows it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import native
from tensorfleet_service.executor import shared_operands
from tests.service.executor.test_plan import Step, failure, plan

pytestmark = pytest.mark.skipif(native.native is None, reason="no compiled kernels")

UNROLLED = """
x = Placeholder()
w = Placeholder()
a = MatMul(x, w)
b = MatMul(a, w)
c = MatMul(b, w)
d = MatMul(c, w) transpose_b=True
e = MatMul(d, w) transpose_b=True
f = MatMul(e, w) transpose_b=True
g = MatMul(f, w) transpose_a=True
h = MatMul(g, w)
"""
FEEDS, FETCHES = ("x", "w"), ("a", "b", "c", "d", "e", "f", "g", "h")


def values(rows: int, size: int, dtype: Any = np.float32) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal((rows, size)).astype(dtype),
        (rng.standard_normal((size, size)) / size**0.5).astype(dtype),
    ]


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is packed from now on: each matrix, and whether it is given transposed."""
    made: list[Any] = []
    pack = native.pack

    def noted(b: Any, is_turned: bool) -> Any:
        found = pack(b, is_turned)
        if found is not None:
            made.append((b, is_turned))
        return found

    monkeypatch.setattr(shared_operands.native, "pack", noted)
    return made


def run(arguments: list[Any], monkeypatch: pytest.MonkeyPatch, least: int = 3) -> Any:
    monkeypatch.setattr(shared_operands, "LEAST_PRODUCTS", least)
    return plan(UNROLLED, FEEDS, FETCHES).function(Step(), arguments)


@pytest.mark.parametrize(("rows", "size"), [(64, 64), (90, 90), (128, 128)])
def test_the_bits_are_those_of_products_one_by_one(
    rows: int, size: int, packed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = values(rows, size)
    found = run(arguments, monkeypatch)
    assert [(b is arguments[1], is_turned) for b, is_turned in packed] == [(True, False), (True, True)]
    alone = run(arguments, monkeypatch, 99)
    assert len(packed) == 2
    for one, other in zip(found, alone, strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_is_packed_is_not_kept_beyond_its_last_product() -> None:
    lines = plan(UNROLLED, FEEDS, FETCHES).source.splitlines()
    made = [match[1] for line in lines if (match := re.match(r" (v\d+) = p\d+\(", line))]
    assert len(made) == 2
    for name, count in zip(made, (4, 3), strict=True):
        uses = [line for line in lines if re.search(rf"m\d+\(.*, {name}\)", line)]
        ended = [name in line.partition("; del ")[2] for line in uses]
        assert ended == [False] * (count - 1) + [True]


@pytest.mark.parametrize(
    "arguments",
    [values(3, 3), values(300, 64)[:1] + values(64, 64)[1:], values(64, 64, np.float64)],
    ids=["small", "many rows", "float64"],
)
def test_others_are_computed_as_ever(
    arguments: list[Any], packed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = UNROLLED[: UNROLLED.index("g = ")]
    found = plan(text, FEEDS, FETCHES[:6]).function(Step(), arguments)
    assert not packed
    expected = arguments[0]
    for i, value in enumerate(found):
        expected = expected @ (arguments[1] if i < 3 else arguments[1].T)
        np.testing.assert_allclose(value, expected, atol=1e-4)


def test_a_matrix_in_pieces_is_not_packed(packed: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = values(64, 64)
    found = run([x, np.asfortranarray(w)], monkeypatch)
    assert not packed
    for one, other in zip(found, run([x, w], monkeypatch, 99), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_without_memory_products_read_the_operand_itself(
    packed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = values(64, 64)
    expected = run(arguments, monkeypatch)

    def none_left(b: Any, is_turned: bool) -> Any:
        raise MemoryError

    monkeypatch.setattr(shared_operands.native, "pack", none_left)
    for one, other in zip(run(arguments, monkeypatch), expected, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("shapes", [((64, 65), (64, 64)), ((64,), (64, 64)), ((64, 64), (64, 64, 1))])
def test_errors_are_those_of_a_product(shapes: Any) -> None:
    arguments = [np.ones(shape, np.float32) for shape in shapes]
    alone = UNROLLED[: UNROLLED.index("b = ")]
    expected = failure(plan(alone, FEEDS, FETCHES[:1]), arguments).message
    assert "node a" in expected
    assert failure(plan(UNROLLED, FEEDS, FETCHES), arguments).message == expected
