"""Cells of recurrent networks on a GPU, forward and backward, beside the CPU's kernels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.kernels.nn import cuda_recurrent
from tensorfleet_service.kernels.registry import make_kernel
from tests.kernels.harness import call, make_node

SIZES = [(1, 1, 1), (3, 4, 2), (5, 2, 37), (4, 20, 150)]
"""Batch, inputs and cells: of one block of threads, and of more."""

TIME = 4


def _values(dtype: Any, *shapes: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(7)
    return [(0.4 * random.normal(size=shape)).astype(dtype) for shape in shapes]


def _both(xp: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """Compares both kernels' outputs, and returns the CPU's."""
    node, values = make_node(op_type, *inputs, **attrs)
    wanted = [np.asarray(value) for value in call(make_kernel(node), values)]
    node, _ = make_node(op_type, *inputs, xp=xp, **attrs)
    # The number of steps is the host's.
    moved = [value if np.ndim(value) == 0 else xp.asarray(value) for value in values]
    for found, other in zip(call(make_kernel(node), moved), wanted, strict=True):
        found = xp.asnumpy(found)
        assert (found.dtype, found.shape) == (other.dtype, other.shape)
        tolerance = 2e-2 if other.dtype == np.float16 else 1e-5
        scale = max(float(np.nanmax(np.abs(other.astype(float)), initial=0)), 1)
        np.testing.assert_allclose(found.astype(float), other.astype(float), tolerance, tolerance * scale)
    return wanted


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("peephole", [True, False])
def test_lstm_cells(xp: Any, dtype: Any, size: tuple[int, int, int], peephole: bool) -> None:
    batch, inputs, cells = size
    weights = (inputs + cells, 4 * cells), (cells,), (cells,), (cells,), (4 * cells,)
    own = _values(dtype, (batch, inputs), (batch, cells), (batch, cells), *weights)
    attrs = {"forget_bias": 0.7, "cell_clip": 0.3, "use_peephole": peephole}
    made = _both(xp, "LSTMBlockCell", own, attrs)
    given = _values(dtype, (batch, cells), (batch, cells))
    _both(xp, "LSTMBlockCellGrad", [*own, *made[:6], *given], {"use_peephole": peephole})


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", [*SIZES, (0, 3, 2), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("peephole", [True, False])
@pytest.mark.parametrize("version", ["", "V2"])
@pytest.mark.parametrize("steps", [TIME, 2, 0])
def test_lstms_of_sequences(
    xp: Any, dtype: Any, size: tuple[int, int, int], peephole: bool, version: str, steps: int
) -> None:
    batch, inputs, cells = size
    weights = (inputs + cells, 4 * cells), (cells,), (cells,), (cells,), (4 * cells,)
    own = _values(dtype, (TIME, batch, inputs), (batch, cells), (batch, cells), *weights)
    attrs: dict[str, Any] = {"use_peephole": peephole, "cell_clip": 0.5}
    attrs |= {} if version else {"forget_bias": 0.2}
    made = _both(xp, f"BlockLSTM{version}", [np.int64(steps), *own], attrs)
    given = _values(dtype, (TIME, batch, cells), (TIME, batch, cells))
    parts = [np.int64(steps), *own, *made, *given]
    _both(xp, f"BlockLSTMGrad{version}", parts, {"use_peephole": peephole})


@pytest.mark.parametrize("size", [*SIZES, (0, 3, 2), (2, 0, 3)], ids=str)
def test_gru_cells(xp: Any, size: tuple[int, int, int]) -> None:
    batch, inputs, cells = size
    weights = (inputs + cells, 2 * cells), (inputs + cells, cells), (2 * cells,), (cells,)
    own = _values(np.float32, (batch, inputs), (batch, cells), *weights)
    made = _both(xp, "GRUBlockCell", own, {})
    _both(xp, "GRUBlockCellGrad", [*own, *made[:3], *_values(np.float32, (batch, cells))], {})


def test_a_nan_is_not_clipped(xp: Any) -> None:
    own = _values(np.float32, (1, 2), (1, 3), (1, 3), (5, 12), (3,), (3,), (3,), (12,))
    own[1][0, 1] = np.nan
    made = _both(xp, "LSTMBlockCell", own, {"cell_clip": 0.1})
    np.testing.assert_array_equal(np.isnan(made[1]), [[False, True, False]])


def test_a_step_is_a_product_and_a_kernel(xp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launched: Counter[str] = Counter()
    launch, product = cuda_recurrent._launch, xp.matmul

    def noted(xp: Any, name: str, *args: Any, **kwargs: Any) -> None:
        launched[name] += 1
        launch(xp, name, *args, **kwargs)

    def multiplied(*args: Any, **kwargs: Any) -> Any:
        launched["product"] += 1
        return product(*args, **kwargs)

    monkeypatch.setattr(cuda_recurrent, "_launch", noted)
    monkeypatch.setattr(xp, "matmul", multiplied)
    own = _values(np.float32, (TIME, 2, 3), (2, 5), (2, 5), (8, 20), (5,), (5,), (5,), (20,))
    made = _both(xp, "BlockLSTM", [np.int64(TIME), *own], {})
    # One product more is that of the inputs of all steps.
    assert launched == {"lstm_forward": TIME, "product": TIME + 1}
    launched.clear()
    _both(xp, "BlockLSTMGrad", [np.int64(TIME), *own, *made, made[1], made[6]], {"use_peephole": False})
    assert launched == {"lstm_backward": TIME, "product": TIME + 3}
