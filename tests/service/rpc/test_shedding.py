"""When filters are set and taken away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tensorfleet_service.net import syn_filter
from tensorfleet_service.net.refusals import Refusals
from tensorfleet_service.rpc.shedding import Shedding


class Shares(Refusals):
    """Refusals whose shares the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[str, float] = {}

    def shares(self, now: float | None = None) -> dict[str, float]:
        return self.said


def test_a_filter_that_could_not_be_set_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[dict[str, float]] = []
    works = False

    def attach(ports: Iterable[int], descriptors: Iterable[int], shares: Mapping[str, float]) -> bool:
        tried.append(dict(shares))
        return works

    monkeypatch.setattr(syn_filter, "attach", attach)
    refusals = Shares()
    shedding = Shedding([1], refusals)
    shedding.look()
    assert tried == []
    refusals.said = {"192.0.2.1/32": 0.5}
    shedding.look()
    shedding.look()
    assert len(tried) == 2
    works = True
    shedding.look()
    shedding.look()
    assert len(tried) == 3
    refusals.said = {}
    shedding.look()
    shedding.look()
    assert tried[3:] == [{}]
