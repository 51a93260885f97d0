"""The hooks that write files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf


def counter() -> Any:
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def checkpoints(directory: Path) -> list[int]:
    """The steps of the checkpoints that are there."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in directory.glob("*.index"))


def events(directory: Path) -> list[Any]:
    return [
        event
        for path in sorted(directory.glob("events.out.tfevents.*"))
        for event in tf.train.summary_iterator(str(path))
    ]


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self, stop_at: int) -> None:
        self.calls: list[tuple[str, int]] = []
        self.stop_at = stop_at

    def begin(self) -> None:
        self.calls.append(("begin", -1))

    def before_save(self, session: Any, global_step_value: int) -> None:
        self.calls.append(("before", int(global_step_value)))

    def after_save(self, session: Any, global_step_value: int) -> bool:
        self.calls.append(("after", int(global_step_value)))
        return bool(global_step_value >= self.stop_at)

    def end(self, session: Any, global_step_value: int) -> None:
        self.calls.append(("end", int(global_step_value)))


def test_checkpoints_at_the_start_regularly_and_at_the_end(tmp_path: Path) -> None:
    add = counter()
    listener = Listener(stop_at=8)
    scaffold = tf.train.Scaffold()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=4, scaffold=scaffold, listeners=[listener], checkpoint_basename="c"
    )
    with tf.train.SingularMonitoredSession([hook], scaffold) as session:
        while not session.should_stop():
            session.run(add)
        assert checkpoints(tmp_path) == [0, 4, 8]
        session.raw_session().run(add)
    assert checkpoints(tmp_path) == [0, 4, 8, 9]
    saves = [(when, step) for step in (0, 4, 8, 9) for when in ("before", "after")]
    assert listener.calls == [("begin", -1), *saves, ("end", 9)]
    assert (tmp_path / "graph.pbtxt").exists()
    assert (tmp_path / "c-9.meta").exists()


def test_a_saver_of_the_collection(tmp_path: Path) -> None:
    add = counter()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_secs=1000, save_graph_def=False)
    with tf.train.SingularMonitoredSession([hook]) as session:
        for _ in range(3):
            session.run(add)
    assert checkpoints(tmp_path) == [0, 3]
    assert not (tmp_path / "graph.pbtxt").exists()
    assert not list(tmp_path.glob("*.meta"))


def test_no_saver(tmp_path: Path) -> None:
    counter()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_secs=1000)
    hook.begin()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(RuntimeError, match="No items in collection savers"):
            hook.after_create_session(session, None)
        for _ in range(2):
            tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
        with pytest.raises(RuntimeError, match="More than one item in collection savers"):
            hook.after_create_session(session, None)


def test_training_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    for start in (0, 5):
        with tf.Graph().as_default():
            add = counter()
            with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
                assert session.run("global_step:0") == start
                for _ in range(5):
                    session.run(add)
    assert checkpoints(tmp_path)[-1] == 10


def test_summaries(tmp_path: Path) -> None:
    add = counter()
    step = tf.train.get_global_step()
    tf.summary.scalar("double", tf.cast(step, tf.float32) * 2)
    with tf.train.MonitoredTrainingSession(
        summary_dir=str(tmp_path), save_summaries_steps=2, log_step_count_steps=3
    ) as session:
        for _ in range(7):
            session.run(add)
    tags: dict[str, list[int]] = {}
    for event in events(tmp_path):
        for value in event.summary.value:
            tags.setdefault(value.tag, []).append(event.step)
    assert tags["double"] == [1, 3, 5, 7]
    assert tags["global_step/sec"] == [4, 7]


def test_profiles(tmp_path: Path) -> None:
    add = counter()
    hook = tf.train.ProfilerHook(save_steps=3, output_dir=str(tmp_path))
    with tf.train.SingularMonitoredSession([hook]) as session:
        for _ in range(8):
            session.run(add)
    traces = sorted(tmp_path.glob("timeline-*.json"))
    assert len(traces) >= 2
    assert all(json.loads(path.read_text())["traceEvents"] for path in traces)
    assert any(event.HasField("tagged_run_metadata") for event in events(tmp_path))


def test_a_profiler_without_interval_is_refused_before_it_makes_files() -> None:
    with pytest.raises(ValueError, match="Either every_secs or every_steps should be provided"):
        tf.train.ProfilerHook()
