"""Positions of iterators in checkpoints: what follows a restore is what would have followed without it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.data.dataset import Dataset as ServiceDataset, Run
from tensorfleet_service.data.iterator import IteratorResource
from tensorfleet_service.data.position import Position
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.pool import Pool

Dataset = tf.data.Dataset
Make = Callable[[Path], Any]


def _records(path: Path) -> list[str]:
    names = [str(path / "a.tfrecord"), str(path / "b.tfrecord")]
    for name in names:
        if not tf.gfile.Exists(name):
            with tf.python_io.TFRecordWriter(name) as writer:
                for i in range(5):
                    writer.write(f"{name[-10]}{i}".encode())
    return names


def _lines(path: Path) -> str:
    (path / "x.csv").write_text("1,a\n2,b\n3,c\n4,d\n5,e\n")
    return str(path / "x.csv")


def _damaged(path: Path) -> str:
    (path / "y.csv").write_text('1,a\n2,"b"x\n3,c\n4,"d"x\n5,e\n6,f\n7,g\n8,h\n9,i\n')
    return str(path / "y.csv")


def _interleaved(source: Any, **options: Any) -> Any:
    return source.interleave(lambda x: Dataset.range(x * 10, x * 10 + 4).shuffle(3, seed=4), **options)


experimental = tf.data.experimental
PIPELINES: dict[str, Make] = {
    "rows in a shuffled order, twice": lambda _: (
        Dataset.from_tensor_slices(np.arange(9)).shuffle(4, seed=3).repeat(2).batch(2)
    ),
    "a buffer of elements": lambda _: Dataset.range(12).map(lambda x: x * 2).shuffle(5).repeat(),
    "one order for all passes": lambda _: (
        Dataset.range(5).shuffle(5, seed=1, reshuffle_each_iteration=False).repeat(3)
    ),
    "shuffle_and_repeat": lambda _: Dataset.range(6).apply(experimental.shuffle_and_repeat(4, 3, seed=2)),
    "cache": lambda _: Dataset.range(4).shuffle(4, seed=2).cache().repeat(4),
    "take, skip and shard": lambda _: Dataset.range(50).skip(3).shard(3, 1).take(9),
    "zip and concatenate": lambda _: Dataset.zip(
        (Dataset.range(8).concatenate(Dataset.range(4)), Dataset.range(20).shuffle(3, seed=1))
    ),
    "filter and window": lambda _: (
        Dataset.range(40).filter(lambda x: x % 2 < 1).window(3, 2).flat_map(lambda part: part.batch(3))
    ),
    "flat_map": lambda _: Dataset.range(4).flat_map(lambda x: Dataset.range(x + 2).shuffle(4, seed=2)),
    "caches that a function makes": lambda _: Dataset.range(1, 3).flat_map(
        lambda x: Dataset.range(x * 10, x * 10 + 3).cache().repeat(3)
    ),
    "interleave": lambda _: _interleaved(Dataset.range(1, 5), cycle_length=2, block_length=2),
    "prefetch": lambda _: Dataset.range(20).shuffle(6, seed=7).map(lambda x: x + 1).prefetch(3),
    "parallel map": lambda _: Dataset.range(20).map(lambda x: x * x, num_parallel_calls=3).shuffle(3, seed=1),
    "padded batches": lambda _: (
        Dataset.range(1, 12).map(lambda x: tf.fill([x], x)).padded_batch(2, padded_shapes=[None])
    ),
    "SparseTensors": lambda _: (
        Dataset.range(1, 12)
        .map(lambda x: tf.fill([x % 5], x))
        .apply(experimental.dense_to_sparse_batch(2, [6]))
        .repeat(2)
        .shuffle(3, seed=1)
        .prefetch(2)
    ),
    "unbatch and unique": lambda _: (
        Dataset.from_tensor_slices([[1, 2, 1], [2, 3, 4], [4, 5, 6]])
        .apply(experimental.unbatch())
        .apply(experimental.unique())
    ),
    "scan and take_while": lambda _: (
        Dataset.range(30)
        .apply(experimental.scan(np.int64(0), lambda state, x: (state + x, state + x)))
        .apply(experimental.take_while(lambda x: x < 60))
    ),
    "groups": lambda _: Dataset.range(24).apply(
        experimental.group_by_window(lambda x: x % 3, lambda key, part: part.shuffle(4, seed=1), 4)
    ),
    "texts": lambda _: Dataset.from_tensor_slices([f"t{i}" for i in range(9)]).shuffle(4, seed=3),
    "records": lambda path: tf.data.TFRecordDataset(_records(path)).shuffle(3, seed=1).repeat(2),
    "records that are no records": lambda path: experimental.CsvDataset(
        _damaged(path), [tf.int32, tf.string]
    ).apply(experimental.ignore_errors()),
    "values": lambda path: experimental.CsvDataset(_lines(path), [tf.int32, tf.string]).repeat(2),
    "mixed": lambda _: experimental.sample_from_datasets(
        [Dataset.range(10), Dataset.range(100, 110)], [0.5, 0.5], seed=2
    ),
    "errors on the way": lambda _: (
        Dataset.range(9)
        .map(lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x % 4, tf.float32), "zero"))
        .apply(experimental.ignore_errors())
        .prefetch(2)
    ),
}


def _graph(make: Make, path: Path) -> tuple[tf.Graph, Any, Any, Any]:
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(5)
        iterator = tf.data.make_initializable_iterator(make(path))
        tf.add_to_collection(
            tf.GraphKeys.SAVEABLE_OBJECTS, experimental.make_saveable_from_iterator(iterator)
        )
        return graph, iterator, iterator.get_next(), tf.train.Saver()


def _rest(session: tf.Session, element: Any, count: int) -> list[Any]:
    found: list[Any] = []
    try:
        for _ in range(count):
            found.append([np.asarray(part).tolist() for part in tf.nest.flatten(session.run(element))])
    except tf.errors.OutOfRangeError:
        found.append("end")
    return found


def _up_to_end(found: list[Any]) -> list[Any]:
    return found[: found.index("end") + 1] if "end" in found else found


@pytest.mark.parametrize("name", PIPELINES)
def test_elements_after_a_restore(name: str, tmp_path: Path) -> None:
    graph, iterator, element, saver = _graph(PIPELINES[name], tmp_path)
    saved = {}
    with tf.Session(graph=graph) as session:
        session.run(iterator.initializer)
        for given in (0, 4, 7):
            before = sum(len(found) for found in saved.values()) if saved else 0
            found = _rest(session, element, given - before)
            path = saver.save(session, str(tmp_path / "model"), global_step=given)
            saved[path] = found
        rest = _rest(session, element, 30)
    parts = [*saved.values(), rest]
    after = {
        path: _up_to_end([*itertools.chain.from_iterable(parts[i + 1 :])]) for i, path in enumerate(saved)
    }
    graph, iterator, element, saver = _graph(PIPELINES[name], tmp_path)  # as after a restart
    with tf.Session(graph=graph) as session:
        for path, expected in after.items():
            session.run(iterator.initializer)
            saver.restore(session, path)
            assert _rest(session, element, len(expected)) == expected


def test_restore_moves_the_same_iterator_back(tmp_path: Path) -> None:
    graph, iterator, element, saver = _graph(PIPELINES["a buffer of elements"], tmp_path)
    with tf.Session(graph=graph) as session:
        session.run(iterator.initializer)
        _rest(session, element, 5)
        path = saver.save(session, str(tmp_path / "model"))
        expected = _rest(session, element, 9)
        saver.restore(session, path)
        assert _rest(session, element, 9) == expected


@pytest.mark.parametrize("policy", ["FAIL", "WARN", "IGNORE"])
def test_state_outside_of_the_iterator(policy: str, tmp_path: Path) -> None:
    iterator = tf.data.make_initializable_iterator(
        Dataset.range(5).map(lambda x: x + tf.random.uniform([], 0, 9, tf.int64))
    )
    saveable = experimental.make_saveable_from_iterator(iterator, experimental.ExternalStatePolicy[policy])
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(iterator.initializer)
        if policy == "FAIL":
            with pytest.raises(tf.errors.FailedPreconditionError, match="stateful"):
                saver.save(session, str(tmp_path / "model"))
        else:
            saver.restore(session, saver.save(session, str(tmp_path / "model")))


def test_what_cannot_be_saved_or_restored(tmp_path: Path) -> None:
    graph, iterator, element, saver = _graph(PIPELINES["prefetch"], tmp_path)
    with tf.Session(graph=graph) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Save\(\) failed"):
            saver.save(session, str(tmp_path / "model"))
        session.run(iterator.initializer)
        path = saver.save(session, str(tmp_path / "model"))
    fails = pytest.raises(tf.errors.FailedPreconditionError, match=r"Restore\(\) failed")
    with tf.Session(graph=graph) as session, fails:
        saver.restore(session, path)
    graph, iterator, element, saver = _graph(PIPELINES["texts"], tmp_path)
    with tf.Session(graph=graph) as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="another dataset"):
            saver.restore(session, path)
        assert _rest(session, element, 1)  # the iterator is where it was
    graph, iterator, _, saver = _graph(
        lambda _: Dataset.from_generator(lambda: iter(range(3)), tf.int32), tmp_path
    )
    with tf.Session(graph=graph) as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="stateful"):
            saver.save(session, str(tmp_path / "other"))


def test_a_file_that_is_not_there_fails_the_step_alone(tmp_path: Path) -> None:
    names = [*_records(tmp_path)[:1], str(tmp_path / "missing"), *_records(tmp_path)[1:]]
    graph, iterator, element, saver = _graph(lambda _: tf.data.TFRecordDataset(names), tmp_path)
    with tf.Session(graph=graph) as session:
        session.run(iterator.initializer)
        _rest(session, element, 5)
        with pytest.raises(tf.errors.NotFoundError):
            session.run(element)
        path = saver.save(session, str(tmp_path / "model"))
        expected = _rest(session, element, 9)
        assert len(expected) == 6
        saver.restore(session, path)
        assert _rest(session, element, 9) == expected


class _Slow(ServiceDataset):
    """Numbers, each of which is made once it is allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = True
        self.asked, self.allowed = threading.Semaphore(0), threading.Semaphore(0)

    def items(self, run: Run) -> Any:
        return _Numbers(self)


class _Numbers(Position):
    STATE = ("_number",)

    def __init__(self, slow: _Slow) -> None:
        self._slow = slow
        self._number = 0

    def __next__(self) -> Any:
        self._slow.asked.release()
        assert self._slow.allowed.acquire(timeout=20)
        self._number += 1
        return (self._number,)


def _result(future: Any) -> Any:
    assert isinstance(future, Future)
    done = threading.Event()
    if future.start(lambda _: done.set()):
        assert done.wait(20)
    return future.result()


def test_the_element_of_a_step_that_has_ended_is_not_taken_for_the_position() -> None:
    slow, pool = _Slow(), Pool("test")
    iterator = IteratorResource("", "slow", "", [], [], pool)
    iterator.initialize(slow)
    first: Any = iterator.get_next()
    assert slow.asked.acquire(timeout=20)  # a thread makes its element
    saved, second = iterator.save(), iterator.get_next()
    first.cancel()
    slow.allowed.release()
    state = _result(saved)
    assert state["elements"] == {"_number": 1}
    assert state["unclaimed"] == [(1,)], "nobody has had it"
    assert _result(second) == (1,)
    slow.allowed.release()
    assert _result(iterator.get_next()) == (2,)
    iterator.restore(state)
    assert iterator.get_next() == (1,)
    iterator.close()
    pool.close()


@pytest.mark.parametrize("then", ["initialize", "close"])
def test_a_step_that_begins_anew_during_a_restore_is_the_later_one(then: str) -> None:
    pool = Pool("test")
    restoring, may_go_on = threading.Event(), threading.Event()

    class SlowToRestore(_Slow):
        def items(self, run: Run) -> Any:
            return _SlowToRestore(self)

    class _SlowToRestore(_Numbers):
        def restore(self, state: Any) -> None:
            restoring.set()
            assert may_go_on.wait(20)
            super().restore(state)

    slow = SlowToRestore()
    iterator = IteratorResource("", "slow", "", [], [], pool)
    iterator.initialize(slow)
    state = _result(iterator.save())
    thread = threading.Thread(target=iterator.restore, args=(state,))
    thread.start()
    assert restoring.wait(20)
    other = _Slow()
    if then == "initialize":
        iterator.initialize(other)
    else:
        iterator.close()
    may_go_on.set()
    thread.join(20)
    assert not thread.is_alive()
    assert iterator.dataset is (other if then == "initialize" else None)
    iterator.close()
    pool.close()
