"""What a client sends computes no longer than somebody wants it, and lets others compute meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.security.settings import Security
from tensorfleet_service.data import dataset as datasets
from tests.security.conftest import MakeTasks
from tests.until import until

SECONDS = 30.0
Make = Callable[[Any], Any]

Data = tf.data.Dataset


def endless() -> Any:
    return Data.from_tensors(np.int64(1)).repeat()


ENDLESS: dict[str, Make] = {
    "filter": lambda data: data.filter(lambda x: x < 0),
    "filter of a filter": lambda data: data.filter(lambda x: x > 0).filter(lambda x: x < 0),
    "batch of a filter": lambda data: data.filter(lambda x: x < 0).batch(10),
    "skip": lambda data: data.skip(1 << 60),
    "shard": lambda data: data.shard(1 << 60, (1 << 60) - 1),
    "unique": lambda data: data.apply(tf.data.experimental.unique()).skip(1),
    "shuffle": lambda data: data.shuffle(1 << 60),
    "window": lambda data: data.window(1 << 60).flat_map(lambda rows: rows),
    "sparse batch": lambda data: data.batch(3).apply(
        tf.data.experimental.dense_to_sparse_batch(1 << 60, [3])
    ),
    "unbatch": lambda data: data.map(lambda _: tf.zeros([0])).apply(tf.data.experimental.unbatch()),
    "rejection_resample": lambda data: data.filter(lambda x: x < 0).apply(
        tf.data.experimental.rejection_resample(lambda x: tf.cast(x, tf.int32), [0.5, 0.5])
    ),
    "batch": lambda data: data.batch(1 << 60),
    "padded batch": lambda data: data.padded_batch(1 << 60, []),
    "flat_map": lambda data: data.flat_map(lambda _: Data.range(0)),
    "interleave": lambda data: data.interleave(lambda _: Data.range(0), 2),
    "empty again and again": lambda data: data.take(0).repeat(1 << 60),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_dataset_without_an_element_ends_with_the_step_that_wants_it(
    tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """And is there for the next step, that of a client who waits longer."""
    checks = 0
    check = datasets.Run.check

    def counted(run: datasets.Run) -> None:
        nonlocal checks
        checks += 1
        check(run)

    monkeypatch.setattr(datasets.Run, "check", counted)
    task = tasks({"worker:0": Security()})["worker:0"]
    value = tf.data.make_initializable_iterator(ENDLESS[kind](endless()))
    take = value.get_next()
    with tf.Session(task.target) as session:
        session.run(value.initializer)
        for _ in range(2):
            with pytest.raises(errors.DeadlineExceededError):
                session.run(take, options=tf.RunOptions(timeout_in_ms=300))
            until(lambda: not _at_work(task), SECONDS)
            before = checks
            assert before
            assert session.run(tf.constant(2.0)) == 2.0
            assert checks == before


def _at_work(task: Any) -> bool:
    """Whether a thread makes elements for an iterator of the task."""
    found = [r for key, r in list(task._worker.resources._table.items()) if key[1] == "iterator"]
    assert found
    return any(resource._place is not None and resource._place._busy for resource in found)


def test_an_endless_dataset_of_a_closed_session_ends(tasks: MakeTasks) -> None:
    task = tasks({"worker:0": Security()})["worker:0"]
    take = tf.data.make_one_shot_iterator(endless().filter(lambda x: x < 0).prefetch(2)).get_next()
    session = tf.Session(task.target)
    with pytest.raises(errors.DeadlineExceededError):
        session.run(take, options=tf.RunOptions(timeout_in_ms=300))
    places = [r._place for key, r in task._worker.resources._table.items() if key[1] == "iterator"]
    session.close()
    for place in places:
        assert place is not None
        until(lambda ahead=place._elements: not ahead._tasks, SECONDS)  # type: ignore[attr-defined,misc]


@pytest.mark.parametrize(
    ("there", "wanted", "checks"),
    [(100_000, 95_000, 9), (25_000, 1 << 40, 2), (5, 10, 0), (10_000, 10_000, 0)],
)
def test_many_elements_are_gathered_in_pieces(there: int, wanted: int, checks: int) -> None:
    """During one call that goes over them, no other thread has the interpreter."""
    run = SimpleNamespace(check=lambda: found.append(1))
    found: list[int] = []
    items: Any = iter(range(there))
    assert datasets.taken(items, wanted, run) == list(range(min(there, wanted)))  # type: ignore[arg-type]
    assert len(found) == checks


def test_the_search_for_a_part_of_an_image_is_bounded(tasks: MakeTasks) -> None:
    task = tasks({"worker:0": Security()})["worker:0"]
    whole = [[[0.0, 0.0, 1.0, 1.0]]]
    how: dict[str, Any] = {"min_object_covered": 1.0, "area_range": [0.0001, 0.0002]}
    found = tf.image.sample_distorted_bounding_box([10, 10, 3], whole, max_attempts=1 << 30, **how)
    few = tf.image.sample_distorted_bounding_box([10, 10, 3], whole, max_attempts=100, **how)
    with tf.Session(task.target) as session:
        with pytest.raises(
            errors.InvalidArgumentError, match="max_attempts is 1073741824, at most 100000 are allowed"
        ):
            session.run(found)
        assert session.run(few)[1].tolist() == [10, 10, -1]
