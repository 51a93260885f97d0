"""`tf.contrib.session_bundle`: exports of the time before SavedModels."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensorfleet as tf
from tensorfleet.contrib.session_bundle import constants, exporter, gc, manifest_pb2


def _exporter(sharded: bool = False) -> tuple[exporter.Exporter, tf.Tensor, tf.Tensor]:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.multiply(x, tf.Variable(2.0, name="w"), name="y")
    tf.Variable(7, trainable=False, name="global_step")
    return exporter.Exporter(tf.train.Saver(sharded=sharded)), x, y


@pytest.mark.parametrize("sharded", [False, True])
def test_an_export_is_a_checkpoint_with_signatures(tmp_path: Path, sharded: bool) -> None:
    (tmp_path / "words.txt").write_text("a\nb\n")
    with tf.Graph().as_default(), tf.Session() as session:
        model, x, y = _exporter(sharded)
        words = tf.constant(str(tmp_path / "words.txt"), name="words")
        session.run(tf.global_variables_initializer())
        model.init(
            session.graph.as_graph_def(),
            init_op=tf.no_op("start"),
            clear_devices=True,
            default_graph_signature=exporter.regression_signature(x, y),
            named_graph_signatures={
                "inputs": exporter.generic_signature({"x": x}),
                "classes": exporter.classification_signature(x, scores_tensor=y),
            },
            assets_collection=[words],
        )
        directory = model.export(f"{tmp_path}/models/", "global_step:0", session)
        assert directory == str(tmp_path / "models" / "00000007").encode()
        with pytest.raises(RuntimeError, match="Duplicate export dir"):
            model.export(str(tmp_path / "models"), "global_step:0", session)
    export = tmp_path / "models" / "00000007"
    assert (export / "assets" / "words.txt").read_text() == "a\nb\n"
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(str(export / "export.meta")).restore(session, str(export / "export"))
        assert session.run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [2.0, 4.0]
        (packed,) = tf.get_collection(constants.SIGNATURES_KEY)
        assert packed.type_url == "type.googleapis.com/tensorflow.serving.Signatures"
        signatures = manifest_pb2.Signatures.FromString(packed.value)
        assert signatures.default_signature.regression_signature.output.tensor_name == "y:0"
        named = signatures.named_signatures
        assert named["inputs"].generic_signature.map["x"].tensor_name == "x:0"
        assert named["classes"].classification_signature.scores.tensor_name == "y:0"
        (asset,) = tf.get_collection(constants.ASSETS_KEY)
        assert manifest_pb2.AssetFile.FromString(asset.value).filename == "words.txt"
        assert tf.get_collection(constants.INIT_OP_KEY)[0].name == "start"
        (graph,) = tf.get_collection(constants.GRAPH_KEY)
        assert not any(node.device for node in tf.GraphDef.FromString(graph.value).node)


def test_old_exports_are_deleted(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        model, _, _ = _exporter()
        session.run(tf.global_variables_initializer())
        model.init()
        versions = tf.Variable(0, name="version")
        for version in (1, 2, 10):
            session.run(versions.assign(version))
            model.export(str(tmp_path), versions, session, gc.largest_export_versions(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000002", "00000010"]


def test_what_an_exporter_refuses() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        model, x, _ = _exporter()
        with pytest.raises(RuntimeError, match="init must be called first"):
            model.export("nowhere", "global_step:0", session)
        for asset, error in (
            (x, "Only constants"),
            (tf.constant(1), "should be string"),
            ("path", "not a Tensor"),
        ):
            with pytest.raises(TypeError, match=error):
                model.init(assets_collection=[asset])
        with pytest.raises(ValueError, match="invalid asset"):
            model.init(assets_collection=[tf.constant("")])
        model.init()
        with pytest.raises(RuntimeError, match="only once"):
            model.init()


def test_which_exports_are_kept() -> None:
    paths = [gc.Path(f"/models/{version}", version) for version in (0, 1, 3, 4, 5, 9)]

    def kept(choice: gc.Choice) -> list[int]:
        return sorted(path.export_version for path in choice(paths))

    assert kept(gc.largest_export_versions(2)) == [5, 9]
    assert kept(gc.one_of_every_n_export_versions(3)) == [3, 5, 9]
    assert kept(gc.mod_export_version(2)) == [0, 4]
    assert kept(gc.union(gc.largest_export_versions(1), gc.mod_export_version(4))) == [0, 4, 9]
    assert kept(gc.negation(gc.mod_export_version(3))) == [1, 4, 5]
