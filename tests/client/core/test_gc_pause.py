"""The collector after a pause."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from tensorfleet.core import gc_pause


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_what_was_built_is_old_and_still_collected() -> None:
    with gc_pause.paused():
        built: list[Any] = [[i] for i in range(2 * gc_pause.MANY)]
        cycle = Cycle()
        watched = weakref.ref(cycle)
    young = {id(found) for found in gc.get_objects(generation=0)}
    assert not any(id(each) in young for each in built)
    assert not gc.get_freeze_count()
    del cycle
    gc.collect()
    assert watched() is None


def test_few_objects_stay_young() -> None:
    gc.collect()
    with gc_pause.paused():
        built = [[i] for i in range(10)]
        young = {id(found) for found in gc.get_objects(generation=0)}
    assert all(id(each) in young for each in built)
