"""Ragged tensors of many rows go into variants, and out of them, by parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors, tensor_util
from tensorfleet_service.kernels import variant_messages
from tensorfleet_service.kernels.array import ragged_variants
from tensorfleet_service.kernels.registry import KernelNode, make_kernel
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import RUNNING

SPLITS = np.array([0, 3, 3, 4, 9, 10, 10, 16, 17])
INNER = np.concatenate([[0], np.cumsum(np.arange(17) % 3)])
VALUES = np.arange(INNER[-1], dtype=np.float32)


def kernel(op: str, inputs: list[Any], outputs: list[Any], **attrs: Any) -> Any:
    node = KernelNode(
        name=op,
        op=op,
        attrs={"Tsplits": dtypes.int64, "Tvalues": dtypes.float32, **attrs},
        input_types=inputs,
        output_types=outputs,
        device="/job:localhost/replica:0/task:0/device:CPU:0",
        xp=np,
        resources=Resources(),
        graph_seed=None,
    )
    return make_kernel(node)


def to_variant() -> Any:
    return kernel(
        "RaggedTensorToVariant", [*[dtypes.int64] * 2, dtypes.float32], [dtypes.variant], batched_input=True
    )


def from_variant() -> Any:
    outputs = [dtypes.int64, dtypes.int64, dtypes.float32]
    ranks = {"input_ragged_rank": 1, "output_ragged_rank": 2}
    return kernel("RaggedTensorFromVariant", [dtypes.variant], outputs, **ranks)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlocked, "LISTED", 3)
    monkeypatch.setattr(ragged_variants, "_LOOKS", 2)
    monkeypatch.setattr(tensor_util, "_MESSAGES", 3)


def test_there_and_back_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    whole = np.concatenate

    def noting(arrays: Any) -> Any:
        sizes.append(len(arrays))
        return whole(arrays)

    monkeypatch.setattr(np, "concatenate", noting)
    rows = to_variant()(SPLITS, INNER, VALUES)
    assert [row.rows for row in rows] == np.diff(SPLITS).tolist()
    again = variant_messages.from_message(variant_messages.to_message(rows))
    for given in (rows, again):
        sizes.clear()
        for found, expected in zip(from_variant()(given), (SPLITS, INNER, VALUES), strict=True):
            assert found.dtype == expected.dtype
            assert found.tolist() == expected.tolist()
        assert sizes.count(2) >= 8  # the last ones put these together
    assert len(variant_messages.to_messages(rows)) == len(rows)


def test_gradients_by_parts() -> None:
    rows = to_variant()(SPLITS, INNER, VALUES)
    gradient = kernel(
        "RaggedTensorToVariantGradient", [dtypes.variant, dtypes.int64, dtypes.int32], [dtypes.float32]
    )
    found = gradient(rows, SPLITS, np.array(VALUES.shape, np.int32))
    assert found.tolist() == VALUES.tolist()
    with pytest.raises(errors.InvalidArgumentError, match="is no ragged tensor"):
        gradient(np.array([np.zeros(3)] * 2 + [None], object)[2:], SPLITS, np.array([0], np.int32))


def test_no_rows() -> None:
    empty = to_variant()(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.float32))
    assert empty.shape == (0,)
    assert [x.tolist() for x in from_variant()(empty)] == [[0], [0], []]


class _Ending:
    def __init__(self) -> None:
        self.looks = 2

    @property
    def error(self) -> errors.OpError | None:
        self.looks -= 1
        return None if self.looks >= 0 else errors.CancelledError(None, None, "it was cancelled")


def test_the_end_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = to_variant()(SPLITS, INNER, VALUES)
    for run in (lambda: to_variant()(SPLITS, INNER, VALUES), lambda: from_variant()(rows)):
        monkeypatch.setattr(RUNNING, "step", _Ending(), raising=False)
        with pytest.raises(errors.CancelledError):
            run()
