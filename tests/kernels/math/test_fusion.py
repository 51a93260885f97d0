"""Groups of elementwise ops in blocks: the very bits that the ops give one by one.

But for exponentials and logarithms of the compiled kernels, which are as near to the truth as NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes
from tensorfleet_service.devices import blocks
from tensorfleet_service.devices.native import native
from tensorfleet_service.kernels.math import compiled, fusion
from tensorfleet_service.kernels.math.formulas import FORMULAS, steps
from tensorfleet_service.kernels.math.fusion import FusedGroup, FusedOp
from tensorfleet_service.kernels.registry import make_kernel
from tests.kernels.harness import call, make_node, run_op

SHAPE = (700, 300)
"""Several blocks, of which the last is not full, on more than one thread."""


APPROXIMATE = {"exp", "expm1", "log", "log1p", "tanh", "logaddexp", "arctan", "arctan2"}
"""Functions whose last bits are the library's own affair."""

BY_NUMPY = pytest.param(False, id="numpy")
COMPILED = pytest.param(
    True, id="compiled", marks=pytest.mark.skipif(native is None, reason="no compiled kernels")
)


@pytest.fixture(params=[BY_NUMPY, COMPILED], autouse=True)
def is_compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Each test runs with and without the compiled kernels."""
    if not request.param:
        monkeypatch.setattr(compiled, "native", None)
    return bool(request.param)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "WORTH_COMPILED", 1)
    monkeypatch.setattr(fusion, "WORTH", 1)
    monkeypatch.setattr(fusion, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 14)


def draw(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Any:
    """Numbers of all sizes, with zeros, infinities and NaN among them."""
    generator = np.random.default_rng(seed)
    values = np.asarray(generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 4, shape), dtype)
    flat = values.reshape(-1)
    for i, special in enumerate((0.0, -0.0, np.inf, -np.inf, np.nan)):
        flat[i + 7 : flat.size : 1001 + i] = special
    return values[()]


def bits(value: Any) -> bytes:
    """All bits, but for the sign and payload of NaN, which of two operands' NaN they come from is open."""
    array = np.asarray(value)
    return np.where(np.isnan(array), array.dtype.type(np.nan), array).tobytes()


def fused(op: str, *values: Any) -> Any:
    ops = [FusedOp(op, steps(op), [(True, i) for i in range(len(values))])]
    group = FusedGroup([op], lambda: ops, [0], values[0].dtype)
    with np.errstate(all="ignore"):
        result = group(*values)
    return None if result is None else result[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", [op for op in FORMULAS if op != "BiasAdd"])
def test_each_op(op: str, dtype: Any, is_compiled: bool) -> None:
    count = max(x for _, operands in steps(op) for x in operands if isinstance(x, int)) + 1
    values = [draw(SHAPE, dtype, seed) for seed in range(count)]
    result = fused(op, *values)
    expected = run_op(op, *values)
    assert result.dtype == dtype
    if is_compiled and dtype == np.float32 and APPROXIMATE & {ufunc for ufunc, _ in steps(op)}:
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-45)
        zeros = expected == 0
        assert (np.signbit(result) == np.signbit(expected))[zeros].all()
    else:
        assert bits(result) == bits(expected)


@pytest.mark.parametrize("op", ["AddV2", "Sub", "RealDiv", "Maximum", "SquaredDifference"])
@pytest.mark.parametrize("other", [(), (300,), (1, 300), (700, 1)])
@pytest.mark.parametrize("first", [True, False])
def test_operands_that_are_broadcast(op: str, other: tuple[int, ...], first: bool) -> None:
    values = [draw(SHAPE), draw(other, seed=1)]
    if not first:
        values.reverse()
    assert bits(fused(op, *values)) == bits(run_op(op, *values))


def test_of_more_than_two_dimensions() -> None:
    shape = (20, 5, 7, 300)
    for other in [(300,), (1, 1, 300), (20, 5, 7, 1), ()]:
        values = [draw(shape), draw(other, seed=1)]
        assert bits(fused("Mul", *values)) == bits(run_op("Mul", *values))


@pytest.mark.parametrize(
    "other", [(700,), (2, 3), (300, 1), (1, 700, 300), (1, 1, 300), (20, 1, 300), (1, 1)], ids=str
)
def test_other_shapes_are_left_to_the_kernel(other: tuple[int, ...]) -> None:
    assert fused("AddV2", draw(SHAPE), draw(other)) is None


def test_what_is_not_contiguous_is_copied_or_left_to_the_kernel(is_compiled: bool) -> None:
    part = draw((700, 1200))[:, 300:600]
    result = fused("AddV2", part, np.float32(1))
    if is_compiled:
        assert bits(result) == bits(part + np.float32(1))
    else:
        assert result is None
    assert fused("AddV2", draw(SHAPE), draw((600,))[::2]) is None


@pytest.mark.parametrize("op", sorted(fusion.ALIKE))
def test_ops_that_refuse_broadcasting_are_not_broadcast(op: str) -> None:
    assert fused(op, draw(SHAPE), draw((300,))) is None
    assert fused(op, np.float32(1), draw(SHAPE)) is None


def test_a_bias_is_a_row() -> None:
    value, bias = draw(SHAPE), draw((300,))
    assert bits(fused("BiasAdd", value, bias)) == bits(run_op("BiasAdd", value, bias))
    assert fused("BiasAdd", value, np.float32(1)) is None
    assert fused("BiasAdd", bias, value) is None


def random_group(generator: Any, dtype: Any, is_exact: bool) -> tuple[list[FusedOp], list[Any], list[int]]:
    """Ops that use earlier ones, inputs of all forms, and which results are wanted."""
    forms: list[tuple[int, ...]] = [SHAPE, SHAPE, (), (300,), (700, 1)]
    values = [draw(form, dtype, int(generator.integers(100))) for form in forms]
    names = [op for op in FORMULAS if op != "BiasAdd" and op not in fusion.ALIKE]
    if is_exact:
        names = [op for op in names if not APPROXIMATE & {ufunc for ufunc, _ in steps(op)}]
    ops = [FusedOp("Neg", steps("Neg"), [(True, 0)])]
    for i in range(1, int(generator.integers(2, 12))):
        op = names[int(generator.integers(len(names)))]
        count = max(x for _, operands in steps(op) for x in operands if isinstance(x, int)) + 1
        sources = [
            (False, int(generator.integers(max(0, i - 3), i)))
            if generator.random() < 0.6
            else (True, int(generator.integers(len(values))))
            for _ in range(count)
        ]
        ops.append(FusedOp(op, steps(op), sources))
    used = {i for op in ops for is_input, i in op.sources if not is_input}
    outputs = [i for i in range(len(ops)) if i not in used or generator.random() < 0.3]
    return ops, values, outputs


@pytest.mark.parametrize("seed", range(60))
def test_random_groups(seed: int, is_compiled: bool) -> None:
    generator = np.random.default_rng(seed)
    dtype = (np.float32, np.float64)[seed % 2]
    ops, values, outputs = random_group(generator, dtype, is_compiled)
    expected: list[Any] = []
    with np.errstate(all="ignore"):
        for op in ops:
            own = [values[i] if is_input else expected[i] for is_input, i in op.sources]
            node, flat = make_node(op.type, *own, T=dtypes.from_numpy(np.dtype(dtype)))
            expected.append(call(make_kernel(node), flat))
        before = [bits(value) for value in values]
        found = FusedGroup([op.type for op in ops], lambda own=ops: own, outputs, dtype)(*values)
    assert found is not None
    assert [bits(value) for value in values] == before  # inputs stay as they are
    for i, value in zip(outputs, found, strict=True):
        assert value.shape == np.shape(expected[i])
        assert bits(value) == bits(expected[i]), ops[i].type


def test_a_formula_that_is_no_chain_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMULAS, "Branches", "exp({0}) + exp({1})")
    with pytest.raises(ValueError, match="no chain"):
        steps("Branches")
