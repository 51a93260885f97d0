"""tf.contrib.summary: operations that write their summaries themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

summary = tf.contrib.summary


def _events(directory: Path) -> list[Any]:
    [name] = [str(path) for path in directory.glob("events.out.tfevents.*")]
    return list(tf.train.summary_iterator(name))


def test_what_a_training_writes(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        loss = tf.placeholder(tf.float32, [])
        writer = summary.create_file_writer(str(tmp_path), flush_millis=10)
        with writer.as_default(), summary.record_summaries_every_n_global_steps(2):
            with tf.name_scope("train"):
                every = summary.scalar("loss", loss)
            with summary.always_record_summaries():
                summary.histogram("values", [1.0, 2.0], family="all")
                summary.image("picture", tf.zeros([2, 3, 3, 1]), max_images=1)
                summary.audio("sound", tf.zeros([1, 8, 1]), 100, 1)
                summary.generic("tensor", np.arange(3))
            with summary.never_record_summaries():
                summary.scalar("never", loss)
        assert len(summary.all_summary_ops()) == 6
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.FailedPreconditionError, match="or not initialized"):
            session.run(every, {loss: 0.0})
        with writer.as_default():
            summary.initialize(graph=graph)
        train = tf.assign_add(step, 1)
        for value in range(4):
            session.run(every, {loss: float(value)})
            session.run(train)
        session.run(summary.all_summary_ops(), {loss: 9.0})
        session.run([writer.flush(), writer.close()])
    first, drawn, *events = _events(tmp_path)
    assert first.file_version == "brain.Event:2"
    assert b"train/loss" in drawn.graph_def
    losses = [(e.step, v.simple_value) for e in events for v in e.summary.value if v.tag == "train/loss"]
    assert losses == [(0, 0.0), (2, 2.0), (4, 9.0)]
    tags = {v.tag for e in events for v in e.summary.value}
    assert {"all/all/values", "picture/image", "sound/audio", "tensor"} <= tags
    assert "never" not in tags


def test_writers_that_write_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.get_or_create_global_step()
        with pytest.raises(RuntimeError, match="No default"):
            summary.initialize(session=session)
        with summary.create_file_writer(None).as_default(), summary.always_record_summaries():
            session.run(summary.scalar("loss", 1.0))
        assert summary.all_summary_ops() == []
        assert not summary.should_record_summaries()
    assert summary.eval_dir("/models", "test") == "/models/eval_test"


def test_steps_of_ones_own_and_events(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        writer = summary.create_file_writer(str(tmp_path), filename_suffix=".mine")
        session.run(writer.init())
        event = tf.Event(step=5, wall_time=1.5, file_version="x")
        with writer.as_default(), summary.always_record_summaries():
            session.run(summary.scalar("loss", 2, step=7))
            session.run(summary.import_event(event.SerializeToString()))
            with pytest.raises(tf.errors.DataLossError, match=r"Bad tf\.Event"):
                session.run(summary.import_event(b"\xff"))
    _, number, imported = _events(tmp_path)
    assert (number.step, number.summary.value[0].simple_value) == (7, 2.0)
    assert imported == event
    assert next(tmp_path.iterdir()).name.endswith(".mine")
