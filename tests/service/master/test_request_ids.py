"""Request ids of a session."""

from __future__ import annotations

import pytest

from tensorfleet.core import errors
from tensorfleet_service.master.request_ids import RequestIds


def test_the_latest_are_known() -> None:
    ids = RequestIds(3)
    for number in (0, 5, 0, 6, 7):
        ids.check_new(number)
    for number in (5, 6, 7):
        with pytest.raises(errors.AbortedError, match=f"request_id {number} was received before"):
            ids.check_new(number)
    ids.check_new(8)
    ids.check_new(5)  # the oldest was forgotten
    with pytest.raises(errors.AbortedError):
        ids.check_new(7)
