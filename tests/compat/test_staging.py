"""Staging areas give what TensorFlow's give, in the same order, wait and fail where those do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from tensorflow.python.ops import data_flow_ops

import tensorfleet as fleet

real.disable_v2_behavior()

AREAS = {
    real: (data_flow_ops.StagingArea, data_flow_ops.MapStagingArea),
    fleet: (fleet.contrib.staging.StagingArea, fleet.contrib.staging.MapStagingArea),
}
SECONDS = 20
Program = Callable[[Any, Any, Any, Any], Any]


def line(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    made = area([tf.int32, tf.string], shapes=[[], None])
    x = tf.placeholder(tf.int32)
    put, get, size, peek = made.put([x, tf.as_string(x)]), made.get(), made.size(), made.peek(1)
    for i in range(3):
        run(put, {x: i})
    found = [run(size), run(peek), run(get), run(get), run(size)]
    run(made.clear())
    return [*found, run(size), [t.get_shape().as_list() if t.get_shape().ndims == 0 else None for t in get]]


def named(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    made = area([tf.int32, tf.float32], names=["i", "f"], shapes=[[], [1]])
    run(made.put({"f": tf.constant([0.5]), "i": tf.constant(3)}))
    return run(made.get())


def waiting(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    """One step waits for a tuple, another one for room."""
    made = area([tf.int32], capacity=1)
    x = tf.placeholder(tf.int32, [])
    put, get, peek = made.put([x]), made.get(), made.peek(0)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(run(peek)), daemon=True)]
    threads += [threading.Thread(target=run, args=(put, {x: i}), daemon=True) for i in (1, 2, 3)]
    threads[0].start()
    for thread in threads[1:]:
        thread.start()
    for thread in threads[:1]:
        thread.join(SECONDS)
    first = found[0][0]
    taken = sorted(run(get)[0] for _ in range(3))
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    return taken, first in taken, run(made.size())


def by_bytes(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    made = area([tf.float32], memory_limit=40)
    put, get = made.put([tf.zeros([8])]), made.get()
    run(put)
    thread = threading.Thread(target=run, args=(put,), daemon=True)
    thread.start()
    run(get)
    thread.join(SECONDS)
    assert not thread.is_alive()
    return run(made.size())


def too_large(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    run(area([tf.float32], memory_limit=16).put([tf.zeros([8])]))


def shared(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    run(area([tf.int32], shared_name="both").put([tf.constant(7)]))
    return run(area([tf.int32], shared_name="both").get())


@pytest.mark.parametrize("ordered", [False, True])
def test_keys(ordered: bool) -> None:
    def keys(tf: Any, run: Any, unused: Any, area: Any) -> Any:
        made = area([tf.int32, tf.float32], ordered=ordered)
        key, x = tf.placeholder(tf.int64), tf.placeholder(tf.int32)
        whole = made.put(key, [x, tf.cast(x, tf.float32)], [0, 1])
        halves = made.put(key, [x], [0]), made.put(key, [tf.cast(x, tf.float32)], [1])
        taken, peeked, anyone = made.get(key), made.peek(key), made.get()
        second = made.get(key, indices=[1])
        sizes = made.size(), made.incomplete_size()
        for i in (5, 3):
            run(whole, {key: i, x: 10 * i})
        run(halves[0], {key: 9, x: 1})
        found = [run(sizes), run(peeked, {key: 5})]
        run(halves[1], {key: 9, x: 2})
        found += [run(sizes), run(taken, {key: 9}), run(second, {key: 5})]
        found += [run(made.get(tf.constant(5, tf.int64), indices=[0]))]
        run(whole, {key: 4, x: 40})
        found += [sorted(run(anyone)[0] for _ in range(2)), run(sizes)]
        return found

    assert_alike(keys)


def ordered_keys(tf: Any, run: Any, unused: Any, area: Any) -> Any:
    made = area([tf.int32], ordered=True)
    for i in (5, 3, 4):
        run(made.put(tf.constant(i, tf.int64), [tf.constant(i)], [0]))
    anyone = made.get()
    found = [run(anyone) for _ in range(2)]
    run(made.clear())
    return [*found, run(made.size())]


def part_twice(tf: Any, run: Any, unused: Any, area: Any) -> Any:
    put = area([tf.int32, tf.int32]).put(tf.constant(1, tf.int64), [tf.constant(1)], [0])
    run(put)
    run(put)


def part_that_is_gone(tf: Any, run: Any, unused: Any, area: Any) -> Any:
    made = area([tf.int32, tf.int32])
    run(made.put(tf.constant(1, tf.int64), [tf.constant(1), tf.constant(2)], [0, 1]))
    get = made.get(tf.constant(1, tf.int64), indices=[0])
    run(get)
    run(get)


def number_of_shapes(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    area([tf.int32], shapes=[[], []])


def number_of_values(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    area([tf.int32]).put([tf.constant(1), tf.constant(2)])


def other_shape(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    area([tf.int32], shapes=[[2]]).put([tf.constant([1])])


def no_names(tf: Any, run: Any, area: Any, unused: Any) -> Any:
    area([tf.int32]).put({"a": tf.constant(1)})


def plain(value: Any) -> Any:
    """Values in a form that compares."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def ended(tf: Any, program: Program) -> Any:
    # Ops of TensorFlow's that wait have a thread each: of the session's own, as others may have made the
    # process's pool with fewer.
    config = tf.ConfigProto(inter_op_parallelism_threads=8, use_per_session_threads=True)
    with tf.Graph().as_default() as graph, tf.Session(config=config) as session:

        def run(fetches: Any, feeds: Any = None) -> Any:
            with graph.as_default():
                return session.run(fetches, feeds)

        try:
            return plain(program(tf, run, *AREAS[tf]))
        except Exception as e:
            return type(e).__name__


def assert_alike(program: Program) -> Any:
    theirs, ours = (ended(tf, program) for tf in (real, fleet))
    assert ours == theirs
    return ours


def test_a_key_that_is_there_is_refused() -> None:
    """TensorFlow drops the second tuple, and says nothing."""

    def key_twice(tf: Any, run: Any, unused: Any, area: Any) -> Any:
        put = area([tf.int32]).put(tf.constant(1, tf.int64), [tf.constant(1)], [0])
        run(put)
        run(put)

    assert ended(fleet, key_twice) == "InvalidArgumentError"


@pytest.mark.parametrize("program", [line, named, waiting, by_bytes, shared, ordered_keys])
def test_values(program: Program) -> None:
    assert not isinstance(assert_alike(program), str)


@pytest.mark.parametrize(
    "program",
    [
        *(too_large, part_twice, part_that_is_gone, number_of_shapes, number_of_values),
        *(other_shape, no_names),
    ],
)
def test_errors(program: Program) -> None:
    assert isinstance(assert_alike(program), str)
