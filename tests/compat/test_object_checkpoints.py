"""Object-based checkpoints: TensorFlow reads ours, and we read TensorFlow's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from tensorflow.core.protobuf import trackable_object_graph_pb2

import tensorfleet as fleet

KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


def model(tf: Any, use_resource: bool) -> tuple[Any, Any, Any]:
    """(checkpoint, its variables by names, a training step)"""
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=use_resource)
    w = tf.get_variable("w", initializer=3, use_resource=use_resource, trainable=False)
    optimizer = tf.train.AdamOptimizer(0.1)
    step = optimizer.minimize(tf.reduce_sum(v * v), var_list=[v])
    module = tf.Module("m")
    module.w, module.items, module.title = w, [v], "no variable"
    checkpoint = tf.train.Checkpoint(v=v, m=module, opt=optimizer, step=tf.train.get_or_create_global_step())
    variables = {"v": v, "w": w, "moment": optimizer.get_slot(v, "m"), "power": optimizer.variables()[0]}
    return checkpoint, variables, step


def written(tf: Any, path: Path, use_resource: bool) -> tuple[str, dict[str, Any]]:
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, variables, step = model(tf, use_resource)
        session.run(tf.global_variables_initializer())
        session.run([step, variables["w"].assign(7)])
        saved = checkpoint.save(str(path / "ck"), session=session)
        return saved, session.run(variables)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("writer", [fleet, real])
@pytest.mark.parametrize("reader", [fleet, real])
def test_each_reads_the_others(tmp_path: Path, writer: Any, reader: Any, use_resource: bool) -> None:
    saved, expected = written(writer, tmp_path, use_resource)
    assert saved == reader.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "ck-1")
    with reader.Graph().as_default(), reader.Session() as session:
        checkpoint, variables, _ = model(reader, not use_resource)
        checkpoint.restore(saved).assert_consumed().run_restore_ops(session)
        found = session.run(variables)
        assert session.run(checkpoint.save_counter) == 1
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


def test_the_object_graphs_are_equal(tmp_path: Path) -> None:
    messages = []
    for tf, name in ((fleet, "ours"), (real, "theirs")):
        (tmp_path / name).mkdir()
        saved, _ = written(tf, tmp_path / name, True)
        content = real.train.load_checkpoint(saved).get_tensor(KEY)
        messages.append(trackable_object_graph_pb2.TrackableObjectGraph.FromString(content))
        shapes = fleet.train.load_checkpoint(saved).get_variable_to_shape_map()
        messages.append(shapes)
    assert messages[0] == messages[2]
    assert messages[1] == messages[3]


def outcomes(tf: Any, saved: str) -> list[str]:
    """What a status says of programs that have less, more or something else than the checkpoint."""
    seen = []
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable([0.0, 0.0]), tf.Variable(5, name="more")
        for objects in ({"v": v}, {"v": v, "more": w}, {"other": w}):
            status = tf.train.Checkpoint(**objects).restore(saved)
            for method in ("assert_existing_objects_matched", "assert_nontrivial_match", "assert_consumed"):
                try:
                    getattr(status, method)()
                    seen.append("passes")
                except AssertionError:
                    seen.append("fails")
        status = tf.train.Checkpoint(v=v, more=w).restore(saved)
        status.initialize_or_restore(session)
        seen.append(str(session.run([v, w])))
        tf.train.Checkpoint(v=v, more=w).restore(None).initialize_or_restore(session)
        seen.append(str(session.run([v, w])))
    return seen


def test_what_does_not_fit(tmp_path: Path) -> None:
    saved, _ = written(fleet, tmp_path, True)
    assert outcomes(fleet, saved) == outcomes(real, saved)
    for tf in (fleet, real):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="expecting a trackable object"):
            tf.train.Checkpoint(x=object())
        with tf.Graph().as_default(), pytest.raises(tf.errors.NotFoundError):
            tf.train.Checkpoint(x=tf.Variable(1)).restore(str(tmp_path / "none"))


def test_checkpoints_of_savers_must_have_the_names(tmp_path: Path) -> None:
    for tf in (fleet, real):
        with tf.Graph().as_default(), tf.Session() as session:
            v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
            session.run(tf.global_variables_initializer())
            path = tf.train.Saver({"v": v, "other": w}).save(session, str(tmp_path / tf.__name__))
            if tf is fleet:  # TensorFlow asks such a checkpoint for the save counter, too
                session.run(v.assign(5.0))
                tf.train.Checkpoint(v=v).restore(path).run_restore_ops(session)
                assert session.run(v) == 1.0
            with pytest.raises(tf.errors.NotFoundError):
                tf.train.Checkpoint(v=v, other=w).restore(path).run_restore_ops(session)


def managed(tf: Any, path: Path) -> list[Any]:
    """Checkpoints that a manager keeps, and what a new manager finds."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0)
        more = v.assign_add(1.0)
        session.run(v.initializer)
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(path), 2, checkpoint_name="c")
        assert manager.restore_or_initialize() is None
        for _ in range(3):
            session.run(more)
            manager.save()
        manager.save(checkpoint_number=9)
        names = [Path(name).name for name in manager.checkpoints]
        seen: list[Any] = [names, sorted(p.name for p in path.iterdir())]
        session.run(v.initializer)
        again = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(path), max_to_keep=2)
        status = again.checkpoint.restore(again.latest_checkpoint)
        status.run_restore_ops(session)
        return [*seen, [Path(name).name for name in again.checkpoints], session.run(v)]


def test_managers(tmp_path: Path) -> None:
    results = []
    for tf, name in ((fleet, "ours"), (real, "theirs")):
        (tmp_path / name).mkdir()
        results.append(managed(tf, tmp_path / name))
    assert results[0] == results[1]
    assert results[0][0] == ["c-3", "c-9"]
