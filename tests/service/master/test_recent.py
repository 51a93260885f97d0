"""The table of what was used last, which steps use while another thread makes room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import pytest

from tensorfleet_service.master.recent import Recent
from tensorfleet_service.net import limits


class UsedMeanwhile(OrderedDict[int, str]):
    """Entries of which another thread uses one as soon as somebody begins to look through them."""

    def __iter__(self) -> Iterator[int]:
        found = super().__iter__()
        self.move_to_end(2)
        return found


def test_room_is_made_while_entries_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SIGNATURES", 3)
    recent: Recent[int, str] = Recent()
    recent.entries = UsedMeanwhile()
    for key in range(3):
        assert recent.put(key, f"{key}", ["name"]) == []
    recent.used(0)
    assert recent.put(3, "3", ["name"]) == [(1, "1")]
    assert {key: recent.entries[key] for key in (0, 2, 3)} == {0: "0", 2: "2", 3: "3"}
    assert len(recent.entries) == 3


def test_names_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SIGNATURE_NAMES", 10)
    recent: Recent[int, str] = Recent()
    assert recent.put(1, "a", [range(4)]) == recent.put(2, "b", [range(4)]) == []
    assert recent.put(3, "c", [range(4)]) == [(1, "a")]
    recent.pop(2)
    assert recent.put(4, "d", [range(4)]) == []
    assert recent.put(5, "e", [range(30)]) == [(3, "c"), (4, "d")]
    assert recent.put(6, "f", []) == [(5, "e")]
