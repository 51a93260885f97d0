"""The collector after a pause."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

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


@pytest.fixture
def leaving_out() -> Iterator[None]:
    gc_pause.leave_out()
    yield
    gc_pause.leave_out(False)
    assert not gc.get_freeze_count()


@pytest.mark.usefixtures("leaving_out")
def test_what_was_built_is_left_out_until_there_is_a_look_at_all() -> None:
    assert gc.get_freeze_count()
    with gc_pause.paused():
        built: list[Any] = [[i] for i in range(2 * gc_pause.MANY)]
        cycle = Cycle()
        watched = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert watched() is not None
    seen = {id(each) for each in gc.get_objects()}
    assert not any(id(each) in seen for each in built)
    with gc_pause.paused():
        gc_pause.look_at_all()  # not while a graph is built
        assert watched() is not None
    gc_pause.look_at_all()
    assert watched() is None
    assert gc.get_freeze_count() > len(built)


@pytest.mark.usefixtures("leaving_out")
def test_what_comes_later_is_collected() -> None:
    cycle = Cycle()
    watched = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert watched() is None
