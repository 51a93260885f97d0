"""tf.train.Saver, the `checkpoint` file, readers, and graphs as files, in a session of this process."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.train import checkpoint_management, restore_errors


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def initialized(session: Any) -> None:
    session.run(tf.global_variables_initializer())


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_come_back(use_resource: bool, session: Any, tmp_path: Path) -> None:
    values: list[Any] = [[1.0, 2.0], 3, [[True]], [b"a", b"bc"], np.zeros((0, 2)), np.array([1j])]
    variables = [tf.Variable(v, name=f"v{i}", use_resource=use_resource) for i, v in enumerate(values)]
    saver = tf.train.Saver()
    initialized(session)
    before = session.run(variables)
    path = saver.save(session, str(tmp_path / "m"))
    assert path == str(tmp_path / "m")
    assert names(tmp_path) == ["checkpoint", "m.data-00000-of-00001", "m.index", "m.meta"]
    with tf.Session() as other:
        saver.restore(other, path)
        for found, value in zip(other.run(variables), before, strict=True):
            assert found.dtype == value.dtype
            np.testing.assert_array_equal(found, value)


def test_names_of_a_dict_are_those_in_the_checkpoint(session: Any, tmp_path: Path) -> None:
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    initialized(session)
    path = tf.train.Saver({"x": v, "y": w}).save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(path) == [("x", []), ("y", [])]
    tf.train.Saver({"y": v}).restore(session, path)
    assert session.run([v, w]) == [2.0, 2.0]


def test_what_cannot_be_saved(session: Any) -> None:
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    v = tf.Variable(1.0)
    with pytest.raises(TypeError, match="passed in a dict or a list"):
        tf.train.Saver(v)
    with pytest.raises(TypeError, match=r"not a Variable|Not a variable"):
        tf.train.Saver({"x": tf.constant(1)})
    with pytest.raises(ValueError, match="two variables have the same name"):
        tf.train.Saver([v, v])
    with pytest.raises(ValueError, match="restored with two names"):
        tf.train.Saver({"a": v, "b": v})
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tf.train.Saver([v], defer_build=True)
    with pytest.raises(ValueError, match="V2"):
        tf.train.Saver(write_version=7)
    with pytest.raises(ValueError, match="V2"):
        tf.train.Saver(write_version=tf.train.SaverDef.V1, sharded=True)
    with pytest.raises(RuntimeError, match="build"):
        tf.train.Saver(defer_build=True).save(session, "m")
    with pytest.raises(ValueError, match="save_tensor_name"):
        tf.train.Saver(saver_def=tf.train.SaverDef())


def test_an_empty_saver_does_nothing(session: Any, tmp_path: Path) -> None:
    saver = tf.train.Saver(allow_empty=True)
    assert saver.save(session, str(tmp_path / "m"), write_meta_graph=False) is None
    saver.restore(session, "nowhere")
    assert names(tmp_path) == []


def test_old_checkpoints_are_deleted(session: Any, tmp_path: Path) -> None:
    tf.Variable(1.0, name="v")
    step = tf.Variable(7, name="step")
    initialized(session)
    saver = tf.train.Saver(max_to_keep=2, pad_step_number=True)
    paths = [saver.save(session, str(tmp_path / "m"), global_step=i) for i in range(3)]
    paths.append(saver.save(session, str(tmp_path / "m"), global_step=step))
    assert paths[3] == str(tmp_path / "m-00000007")
    assert saver.last_checkpoints == paths[2:]
    assert [name for name in names(tmp_path) if name.endswith("index")] == [
        "m-00000002.index",
        "m-00000007.index",
    ]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == paths[3]
    assert list(state.all_model_checkpoint_paths) == paths[2:]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[3]
    # A new Saver goes on where this one was.
    another = tf.train.Saver(max_to_keep=2, name="another")
    another.recover_last_checkpoints([*state.all_model_checkpoint_paths, str(tmp_path / "gone")])
    assert another.last_checkpoints == paths[2:]
    another.save(session, str(tmp_path / "m"), global_step=8)
    assert not tf.train.checkpoint_exists(paths[2])


def test_all_checkpoints_are_kept(session: Any, tmp_path: Path) -> None:
    tf.Variable(1.0)
    initialized(session)
    saver = tf.train.Saver(max_to_keep=None)
    for i in range(7):
        saver.save(session, str(tmp_path / "m"), global_step=i, write_meta_graph=False)
    assert len(names(tmp_path)) == 2 * 7 + 1
    assert saver.last_checkpoints == []


def test_one_of_every_few_hours_is_kept(session: Any, tmp_path: Path) -> None:
    tf.Variable(1.0)
    initialized(session)
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    paths = [saver.save(session, str(tmp_path / "m"), global_step=i) for i in range(3)]
    assert all(map(tf.train.checkpoint_exists, paths))


def test_relative_paths(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tf.Variable(1.0)
    initialized(session)
    tf.train.Saver().save(session, os.path.join("sub", "m"))
    assert 'model_checkpoint_path: "m"' in Path("sub/checkpoint").read_text()
    assert tf.train.latest_checkpoint("sub") == os.path.join("sub", "m")
    tf.train.Saver(save_relative_paths=True).save(session, str(tmp_path / "sub" / "n"))
    assert 'model_checkpoint_path: "n"' in Path("sub/checkpoint").read_text()
    assert tf.train.Saver().save(session, "here") == "here"
    assert tf.train.latest_checkpoint(".") == os.path.join(".", "here")


def test_names_that_collide(session: Any, tmp_path: Path) -> None:
    tf.Variable(1.0)
    saver = tf.train.Saver()
    with pytest.raises(ValueError, match="collides with"):
        saver.save(session, str(tmp_path / "checkpoint"))
    with pytest.raises(ValueError, match="must not contain path"):
        saver.save(session, str(tmp_path / "m"), latest_filename="a/b")
    with pytest.raises(TypeError, match="must be a Session"):
        saver.save(None, str(tmp_path / "m"))


def test_errors_of_saving(session: Any, tmp_path: Path) -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized"):
        saver.save(session, str(tmp_path / "m"))
    assert names(tmp_path) == []
    initialized(session)
    with pytest.raises(ValueError, match=r"Parent directory of .* doesn't exist"):
        saver.save(session, str(tmp_path / "a" / "b" / "m"))


def test_errors_of_restoring(session: Any, tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    initialized(session)
    saver = tf.train.Saver()
    path = saver.save(session, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="when it is None"):
        saver.restore(session, None)
    with pytest.raises(ValueError, match=r"not a valid checkpoint: .*none"):
        saver.restore(session, str(tmp_path / "none"))
    missing = tf.train.Saver({"v": v, "w": tf.Variable(0.0)})
    with pytest.raises(errors.NotFoundError, match=r"Key w not found in checkpoint\n.*m: w\n.*nothing"):
        missing.restore(session, path)
    for other, text in (
        (tf.Variable([1.0]), "shape is .1,. in the graph, but .2,."),
        (tf.Variable([1, 2]), "int32"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=rf"tensor_name = v; .*{text}"):
            tf.train.Saver({"v": other}).restore(session, path)
    # Without knowledge of the variables it is the step that fails.
    step = tf.train.Saver({"w": v}, name="step").as_saver_def()
    with pytest.raises(errors.NotFoundError, match=r"Restoring from checkpoint failed[\s\S]*Key w not found"):
        tf.train.Saver(saver_def=step).restore(session, path)
    data = tmp_path / "m.data-00000-of-00001"
    data.write_bytes(b"\x01" + data.read_bytes()[1:])
    with pytest.raises(errors.DataLossError, match=r"m\.data.*tensor v: Checksum does not match"):
        saver.restore(session, path)
    assert session.run(v).tolist() == [1.0, 2.0]


def test_files_that_this_process_does_not_see(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where the session's task is on another machine."""
    tf.Variable(1.0, name="v")
    initialized(session)
    saver = tf.train.Saver()
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "tensorfleet"):
        patch.setattr(checkpoint_management, "checkpoint_exists", lambda prefix: False)
        path = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
    assert "which this process cannot read" in caplog.text
    assert names(tmp_path) == ["m.data-00000-of-00001", "m.index"]
    # And the other way round: the task does not find what this process sees.
    monkeypatch.setattr(restore_errors, "check", lambda *arguments: os.unlink(path + ".index"))
    with pytest.raises(errors.NotFoundError, match="another file system"):
        saver.restore(session, path)


@pytest.mark.parametrize("use_resource", [False, True])
def test_reshape(use_resource: bool, session: Any, tmp_path: Path) -> None:
    v = tf.Variable(np.arange(6.0), name="v", use_resource=use_resource)
    w = tf.Variable(np.zeros((2, 3)), name="w", use_resource=use_resource)
    initialized(session)
    path = tf.train.Saver({"x": v}).save(session, str(tmp_path / "m"))
    tf.train.Saver({"x": w}, reshape=True).restore(session, path)
    assert session.run(w).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_slices_of_a_partitioned_variable(session: Any, tmp_path: Path) -> None:
    whole = np.arange(10.0).reshape(5, 2)
    parts = []
    for start, end in ((0, 3), (3, 5)):
        part = tf.Variable(whole[start:end], name=f"p/part_{len(parts)}")
        part._set_save_slice_info(tf.Variable.SaveSliceInfo("p", [5, 2], [start, 0], [end - start, 2]))
        parts.append(part)
    initialized(session)
    saver = tf.train.Saver(parts)
    path = saver.save(session, str(tmp_path / "m"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "p"), whole)
    session.run([part.assign(part * 0) for part in parts])
    saver.restore(session, path)
    np.testing.assert_array_equal(np.concatenate(session.run(parts)), whole)
    one = tf.Variable(whole * 0, name="one")
    tf.train.Saver({"p": one}).restore(session, path)
    np.testing.assert_array_equal(session.run(one), whole)


def test_sharded_in_one_process(session: Any, tmp_path: Path) -> None:
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0], name="v")
    w = tf.Variable([2.0], name="w", use_resource=True)
    initialized(session)
    saver = tf.train.Saver(sharded=True)
    path = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
    assert names(tmp_path) == ["checkpoint", "m.data-00000-of-00002", "m.data-00001-of-00002", "m.index"]
    session.run([v.assign([0.0]), w.assign([0.0])])
    saver.restore(session, path)
    assert [x.tolist() for x in session.run([v, w])] == [[1.0], [2.0]]


def test_exported_graphs(session: Any, tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(3.0, name="w", use_resource=True, trainable=False)
    tf.add(v, w, name="sum")
    tf.add_to_collection("mine", v + 1)
    tf.add_to_collection("mine", "not a tensor")
    tf.add_to_collection("numbers", 7)
    initialized(session)
    path = tf.train.Saver().save(session, str(tmp_path / "m"))
    for scope, prefix in ((None, ""), ("there", "there/")):
        with tf.Graph().as_default() as graph, tf.Session() as other:
            saver = tf.train.import_meta_graph(path + ".meta", import_scope=scope)
            saver.restore(other, path)
            assert other.run(prefix + "sum:0").tolist() == [4.0, 5.0]
            assert [v.name for v in tf.global_variables()] == [prefix + "v:0", prefix + "w:0"]
            assert tf.trainable_variables() == [tf.global_variables()[0]]
            assert graph.get_collection("numbers") == [7]
            assert graph.get_collection("mine") == []
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))
    (tmp_path / "bad.meta").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OSError, match="Cannot parse"):
        tf.train.import_meta_graph(str(tmp_path / "bad.meta"))


def test_saver_def_goes_through_scopes(session: Any) -> None:
    with tf.name_scope("outer"):
        tf.Variable(1.0)
        saver = tf.train.Saver()
    inner = saver.to_proto("outer")
    assert inner.save_tensor_name == "save/control_dependency:0"
    assert saver.to_proto("elsewhere") is None
    assert tf.train.Saver.from_proto(inner, "outer").as_saver_def() == saver.as_saver_def()


def test_readers(session: Any, tmp_path: Path) -> None:
    tf.Variable([[1.0, 2.0]], name="a/v")
    tf.Variable(b"text", name="s")
    initialized(session)
    path = tf.train.Saver().save(session, str(tmp_path / "m"))
    reader = tf.train.load_checkpoint(tmp_path)
    assert reader.get_variable_to_shape_map() == {"a/v": [1, 2], "s": []}
    assert reader.get_variable_to_dtype_map() == {"a/v": tf.float32, "s": tf.string}
    assert reader.has_tensor("s")
    assert not reader.has_tensor("t")
    assert reader.get_tensor("s") == b"text"
    assert tf.train.load_variable(path, "a/v:0").tolist() == [[1.0, 2.0]]
    assert reader.debug_string() == b"a/v (DT_FLOAT) [1,2]\ns (DT_STRING) []\n"
    with pytest.raises(errors.NotFoundError, match="Key t not found"):
        reader.get_tensor("t")
    with pytest.raises(ValueError, match="Couldn't find"):
        tf.train.load_checkpoint(tmp_path.parent / tmp_path.name / "..")
    with pytest.raises(errors.NotFoundError, match="none"):
        tf.train.NewCheckpointReader(str(tmp_path / "none"))


def test_state_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = str(tmp_path)
    assert tf.train.get_checkpoint_state(directory) is None
    assert tf.train.latest_checkpoint(directory) is None
    tf.train.update_checkpoint_state(directory, "m-2", ["m-1"])
    state = tf.train.get_checkpoint_state(directory)
    assert list(state.all_model_checkpoint_paths) == [f"{directory}/m-1", f"{directory}/m-2"]
    assert tf.train.latest_checkpoint(directory) is None  # its files are not there
    with pytest.raises(RuntimeError, match="conflicts with"):
        tf.train.update_checkpoint_state(directory, f"{directory}/checkpoint")
    with pytest.raises(ValueError, match="timestamps"):
        tf.train.generate_checkpoint_state_proto(directory, "a", ["a"], [1.0, 2.0])
    (tmp_path / "checkpoint").write_text("nonsense {")
    with caplog.at_level(logging.WARNING, "tensorfleet"):
        assert tf.train.get_checkpoint_state(directory) is None
    assert "Checkpoint ignored" in caplog.text
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        tf.train.get_checkpoint_state(directory)


def test_removing(session: Any, tmp_path: Path) -> None:
    tf.Variable(1.0)
    initialized(session)
    saver = tf.train.Saver()
    path = saver.save(session, str(tmp_path / "m[1]"))
    saver.save(session, str(tmp_path / "m1"))
    assert tf.train.checkpoint_exists(path)
    assert len(tf.train.get_checkpoint_mtimes([path, str(tmp_path / "none")])) == 1
    tf.train.remove_checkpoint(path)
    assert not (tmp_path / "m[1].index").exists()
    assert tf.train.checkpoint_exists(str(tmp_path / "m1"))


def test_graphs_as_files(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="c")
    path = tf.train.write_graph(graph, str(tmp_path / "new"), "g.pbtxt")
    assert 'name: "c"' in Path(path).read_text()
    path = tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "g.pb", as_text=False)
    assert tf.GraphDef.FromString(Path(path).read_bytes()) == graph.as_graph_def()


def test_a_saver_of_format_v1_writes_one_file_and_restores_from_both_formats(
    session: Any, tmp_path: Path
) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(3, name="w")
    session.run(tf.global_variables_initializer())
    old, new = tf.train.Saver(write_version=tf.train.SaverDef.V1, max_to_keep=1), tf.train.Saver()
    paths = [old.save(session, str(tmp_path / "old"), step) for step in (1, 2)]
    assert paths[1] is not None
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[1]
    assert names(tmp_path) == ["checkpoint", "old-2", "old-2.meta"]
    for path in (paths[1], new.save(session, str(tmp_path / "new"))):
        session.run([v.assign([0.0, 0.0]), w.assign(0)])
        old.restore(session, path)
        assert session.run(v).tolist() == [1.0, 2.0]
        assert session.run(w) == 3


@pytest.mark.parametrize("max_to_keep", [None, 1, 5])
def test_a_save_that_is_overtaken_does_not_become_the_latest(
    max_to_keep: int | None, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.Variable(1.0)
    initialized(session)
    saver = tf.train.Saver(max_to_keep=max_to_keep)
    save = saver._run_save

    def overtaken(sess: Any, name: str) -> str:
        saved = save(sess, name)
        monkeypatch.setattr(saver, "_run_save", save)
        saver.save(session, str(tmp_path / "m"), global_step=2)
        return saved

    monkeypatch.setattr(saver, "_run_save", overtaken)
    first = saver.save(session, str(tmp_path / "m"), global_step=1)
    latest = str(tmp_path / "m-2")
    assert tf.train.latest_checkpoint(str(tmp_path)) == latest
    assert saver.last_checkpoints == ({None: [], 1: [latest], 5: [first, latest]}[max_to_keep])
    assert saver.save(session, str(tmp_path / "m"), global_step=1) == first  # begun last, whatever its name
    assert tf.train.latest_checkpoint(str(tmp_path)) == first


def test_each_directory_has_its_own_latest_checkpoint(session: Any, tmp_path: Path) -> None:
    """A save that is overtaken by one into another directory is the latest of its own."""
    tf.get_variable("x", initializer=1.0)
    session.run(tf.global_variables_initializer())
    saver = tf.train.Saver()
    paths = [str(tmp_path / name / "m") for name in "ab"]
    for path in paths:
        Path(path).parent.mkdir()
    run_save = saver._run_save

    def overtaken(sess: Any, name: str) -> str:
        saver._run_save = run_save  # type: ignore[method-assign]
        saver.save(sess, paths[1])
        return run_save(sess, name)

    saver._run_save = overtaken  # type: ignore[method-assign]
    saver.save(session, paths[0])
    assert [tf.train.latest_checkpoint(str(Path(path).parent)) for path in paths] == paths
