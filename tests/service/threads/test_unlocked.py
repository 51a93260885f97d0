"""NumPy's functions by parts give what they give as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfleet_service.threads import unlocked


@pytest.mark.parametrize("counts", [[3, 0, 0, 2, 7, 0], [0, 0, 0, 0, 0, 12], [0] * 6, 3, 0])
def test_repeat(counts: list[int] | int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlocked, "PART", 4)
    values = np.arange(6.0)
    found = unlocked.repeat(values, np.array(counts))
    assert found.tolist() == np.repeat(values, counts).tolist()
    assert found.dtype == values.dtype
    assert unlocked.repeat(values[:0], np.zeros(0, np.int64)).tolist() == []
