"""Checkpoints of variables on two ps: gathered by the session's task, or by shards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.session import timeline
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def servers() -> Iterator[Cluster]:
    cluster = Cluster({"ps": 2, "worker": 1}, {"ps": "grpc+stream", "worker": "grpc+stream"}, None)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def session(servers: Cluster) -> Iterator[Any]:
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            tf.Variable(np.arange(6.0).reshape(2, 3), name="v")
        with tf.device("/job:ps/task:1"):
            tf.Variable(["a", "bc"], name="w", use_resource=True)
        with tf.Session(servers.target("worker")) as session:
            yield session


def values(session: Any) -> list[Any]:
    return [value.tolist() for value in session.run(tf.global_variables())]


EXPECTED = [[[0, 1, 2], [3, 4, 5]], [b"a", b"bc"]]


@pytest.mark.parametrize("sharded", [False, True])
def test_variables_come_back(sharded: bool, session: Any, tmp_path: Path) -> None:
    saver = tf.train.Saver(sharded=sharded)
    session.run(tf.global_variables_initializer())
    path = saver.save(session, str(tmp_path / "m"), global_step=3)
    shards = 2 if sharded else 1
    data = [f"m-3.data-{i:05d}-of-{shards:05d}" for i in range(shards)]
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", *data, "m-3.index", "m-3.meta"]
    v, w = tf.global_variables()
    session.run([v.assign(v * 0), w.assign(["", ""])])
    saver.restore(session, tf.train.latest_checkpoint(str(tmp_path)))
    assert values(session) == EXPECTED
    # Either can be restored as the other, and without a cluster.
    session.run([v.assign(v * 0), w.assign(["", ""])])
    tf.train.Saver(sharded=not sharded).restore(session, path)
    assert values(session) == EXPECTED
    assert tf.train.load_variable(path, "v").tolist() == EXPECTED[0]


def test_variables_are_gathered_by_the_task_of_the_session(session: Any, tmp_path: Path) -> None:
    saver = tf.train.Saver()
    session.run(tf.global_variables_initializer())
    metadata = tf.RunMetadata()
    session.run(
        "save/control_dependency:0",
        {"save/Const:0": str(tmp_path / "m")},
        tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
        metadata,
    )
    places = {n.node_name: d.device for d in metadata.step_stats.dev_stats for n in d.node_stats}
    assert places["save/SaveV2"].startswith("/job:worker/replica:0/task:0/")
    assert saver.as_saver_def().save_tensor_name == "save/control_dependency:0"
    # The timeline of this step has a process for each task, and an arrow for each tensor that came.
    text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    for task in ("ps/replica:0/task:0", "ps/replica:0/task:1", "worker/replica:0/task:0"):
        assert f'"name": "/job:{task}/' in text
    assert text.count('"ph": "s"') == text.count('"ph": "f"') >= 2


def test_a_missing_directory_is_reported(session: Any, tmp_path: Path) -> None:
    saver = tf.train.Saver()
    session.run(tf.global_variables_initializer())
    with pytest.raises(ValueError, match="Parent directory"):
        saver.save(session, str(tmp_path / "a" / "b" / "m"))


def test_shards_on_other_file_systems_are_explained(session: Any, tmp_path: Path) -> None:
    """A ps without a shared directory: its part cannot be seen where the parts are put together."""
    tf.train.Saver(sharded=True)
    session.run(tf.global_variables_initializer())
    merge = tf.get_default_graph().get_operation_by_name("save/MergeV2Checkpoints")
    # The first shard is written, but its name leads nowhere on the task that puts the parts together.
    elsewhere = [str(tmp_path / "other" / "part"), str(tmp_path / "m_temp" / "part-00001-of-00002")]
    feeds = {"save/Const:0": str(tmp_path / "m"), merge.inputs[0]: elsewhere}
    with pytest.raises(errors.NotFoundError, match=r"other/part did not exist .*sharded=False"):
        session.run(merge, feeds)
    assert not tf.train.checkpoint_exists(str(tmp_path / "m"))
