"""What the records of collectives do once their lock is free."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from tensorfleet_service.worker.collectives.records import Records


def test_one_call_that_fails_does_not_keep_the_others_from_theirs() -> None:
    records = Records()
    later = Mock()

    def note() -> None:
        records.afterwards(Mock(side_effect=ValueError("first")))
        records.afterwards(later)
        later.assert_not_called()

    with pytest.raises(ValueError, match="first"):
        records.call_locked(note)
    later.assert_called_once_with()
