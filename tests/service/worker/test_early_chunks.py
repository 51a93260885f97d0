"""Chunks of collectives that have not begun, and may never."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfleet_service.net import limits
from tensorfleet_service.worker.collectives.records import Records


@pytest.mark.parametrize("size", [0, 10])
def test_early_chunks_and_what_is_known_of_dropped_ones_are_bounded(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(limits, "MAX_EARLY_BYTES", 100_000)
    monkeypatch.setattr(limits, "REMEMBERED_ROUNDS", 50)
    records = Records()
    for round_id in range(1, 1001):
        assert records.taker(round_id, 0, np.zeros(size, np.float32)) is None
    assert 0 < len(records.early) < 500
    assert len(records._ended) == 50
    assert records.early.take(1) == []
    assert len(records.early.take(1000)) == 1
