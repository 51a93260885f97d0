"""Estimators as SavedModels: receivers, signatures, exporters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.client.estimator import models

export = tf.estimator.export


@pytest.fixture
def trained(tmp_path: Path) -> Any:
    return tf.estimator.Estimator(models.linear, str(tmp_path / "model")).train(models.train_fn, steps=5)


def loaded(path: bytes, tags: list[str] | None = None) -> Any:
    session = tf.Session(graph=tf.Graph())
    return session, tf.saved_model.load(session, tags or [tf.saved_model.SERVING], path).signature_def


def test_a_model_is_served_as_it_predicts(trained: Any, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("one\n")
    path = trained.export_saved_model(
        str(tmp_path / "exports"), models.serving_fn, assets_extra={"more/w.txt": str(tmp_path / "words.txt")}
    )
    folder = Path(path.decode())
    assert folder.name.isdigit()
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]
    assert (folder / "assets.extra" / "more" / "w.txt").read_text() == "one\n"
    session, signatures = loaded(path)
    with session:
        signature = signatures["serving_default"]
        assert set(signature.outputs) == {"y", "twice"}
        y = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[0.5]]})
    w, b = models.after(5)
    np.testing.assert_allclose(y, [[w * 0.5 + b]], rtol=1e-4)


def test_exports_of_one_second_have_names_of_their_own(trained: Any, tmp_path: Path) -> None:
    paths = {trained.export_savedmodel(str(tmp_path / "e"), models.serving_fn) for _ in range(3)}
    assert len(paths) == 3


def test_all_modes_in_one_model(trained: Any, tmp_path: Path) -> None:
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 1], name="x")},
        tf.placeholder(tf.float32, [None, 1], name="label"),
    )
    modes = tf.estimator.ModeKeys
    path = trained.experimental_export_all_saved_models(
        str(tmp_path / "e"),
        {modes.PREDICT: models.serving_fn, modes.EVAL: supervised, modes.TRAIN: supervised},
    )
    session, signatures = loaded(path, ["eval"])
    with session:
        signature = signatures["eval"]
        assert set(signature.outputs) == {
            "loss",
            "predictions/y",
            "metrics/mae/value",
            "metrics/mae/update_op",
        }
        feeds = {signature.inputs["x"].name: [[0.0]], signature.inputs["label"].name: [[9.0]]}
        loss = session.run(signature.outputs["loss"].name, feeds)
    np.testing.assert_allclose(loss, (9 - models.after(5)[1]) ** 2, rtol=1e-4)
    for tag in (tf.saved_model.TRAINING, tf.saved_model.SERVING):
        loaded(path, [tag])[0].close()


def test_parsed_and_raw_receivers() -> None:
    spec = {"x": tf.FixedLenFeature([2], tf.float32)}
    parsed = export.build_parsing_serving_input_receiver_fn(spec, default_batch_size=3)()
    assert parsed.receiver_tensors["examples"].shape.as_list() == [3]
    assert parsed.features["x"].shape.as_list() == [3, 2]
    raw = export.build_raw_serving_input_receiver_fn({"x": tf.zeros([7, 2]), "n": tf.constant([1])})()
    assert raw.features["x"].shape.as_list() == [None, 2]
    assert raw.receiver_tensors["n"].dtype is tf.int32
    one = export.ServingInputReceiver(tf.zeros([1]), tf.zeros([1]))
    assert (list(one.features), list(one.receiver_tensors)) == (["feature"], ["input"])
    tensor = tf.zeros([1])
    assert export.TensorServingInputReceiver(tensor, tensor).features is tensor


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((None, 1), "features must be defined"),
        (({"x": 3}, 1), "features x must be a Tensor"),
        (({3.5: 1}, 1), "keys must be strings"),
    ],
)
def test_receivers_are_checked(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        export.ServingInputReceiver(*arguments)


def test_outputs_are_checked() -> None:
    number, word = tf.zeros([2, 3]), tf.constant([["a"]])
    for make, text in (
        (lambda: export.ClassificationOutput(), "At least one of scores and classes"),
        (lambda: export.ClassificationOutput(scores=word), "must be a float32 Tensor"),
        (lambda: export.ClassificationOutput(classes=number), "must be a string Tensor"),
        (lambda: export.RegressionOutput(word), "must be a float32 Tensor"),
        (lambda: export.PredictOutput({"a": 3}), "must be a Tensor"),
        (lambda: export.PredictOutput({3: number}), "must be a string"),
    ):
        with pytest.raises(ValueError, match=text):
            make()
    assert list(export.PredictOutput(number).outputs) == ["output"]
    assert list(export.PredictOutput({("head", "y"): number}).outputs) == ["head/y"]


def test_specs_are_checked() -> None:
    spec, loss = tf.estimator.EstimatorSpec, tf.constant(1.0)
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    output = export.PredictOutput(loss)
    cases: list[tuple[Any, type[Exception], str]] = [
        ({"mode": "train", "loss": tf.zeros([2]), "train_op": loss}, ValueError, "Loss must be scalar"),
        ({"mode": "eval", "loss": foreign}, ValueError, "from the default graph"),
        ({"mode": "eval", "loss": 3.0}, TypeError, "loss must be Tensor"),
        ({"mode": "eval", "loss": loss, "eval_metric_ops": [1]}, TypeError, "must be a dict"),
        ({"mode": "eval", "loss": loss, "eval_metric_ops": {"a": loss}}, TypeError, "update_op"),
        ({"mode": "infer"}, ValueError, "Missing predictions"),
        ({"mode": "infer", "predictions": loss, "export_outputs": {"a": 3}}, TypeError, "ExportOutput"),
        (
            {"mode": "infer", "predictions": loss, "export_outputs": {"a": output, "b": output}},
            *(ValueError, "none of them is specified as the default"),
        ),
        ({"mode": "eval", "loss": loss, "scaffold": 3}, TypeError, "scaffold must be"),
        ({"mode": "eval", "loss": loss, "training_hooks": [3]}, TypeError, "SessionRunHook"),
    ]
    for arguments, kind, text in cases:
        with pytest.raises(kind, match=text):
            spec(**arguments)
    made = spec("infer", predictions={"y": loss}, export_outputs={"a": output})
    assert made.export_outputs["serving_default"] is output
    assert spec("eval", loss=tf.ones([1])).loss.shape.as_list() == []


def exported(folder: Path, name: str) -> list[int]:
    return sorted(int(path.name) for path in (folder / "export" / name).iterdir())


def run(exporter: Any, estimator: Any, result: dict[str, Any], final: bool = False) -> Any:
    path = str(Path(estimator.model_dir) / "export" / exporter.name)
    return exporter.export(estimator, path, estimator.latest_checkpoint(), result, final)


def test_the_final_and_the_latest_exporter(trained: Any) -> None:
    folder = Path(trained.model_dir)
    last = tf.estimator.FinalExporter("last", models.serving_fn)
    assert run(last, trained, {}) is None
    assert Path(run(last, trained, {}, final=True).decode()).parent == folder / "export" / "last"
    latest = tf.estimator.LatestExporter("latest", models.serving_fn, exports_to_keep=2)
    paths = [int(Path(run(latest, trained, {}).decode()).name) for _ in range(3)]
    assert exported(folder, "latest") == paths[1:]


def test_the_best_exporter(trained: Any) -> None:
    best = tf.estimator.BestExporter("best", models.serving_fn)
    made = [run(best, trained, {"loss": loss}) is not None for loss in (3.0, 4.0, 2.0, 2.0, 1.0)]
    assert made == [True, False, True, False, True]


def test_the_best_exporter_knows_what_was_best_before(trained: Any) -> None:
    """Of event files; the result that is judged is written before it is."""

    def judge(loss: float, step: int) -> bool:
        # As in a new process.
        best = tf.estimator.BestExporter("best", models.serving_fn)
        with tf.summary.FileWriter(trained.eval_dir()) as writer:
            summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=loss)])
            writer.add_summary(summary, step)
        return run(best, trained, {"loss": np.float32(loss)}) is not None

    assert [judge(loss, step) for step, loss in enumerate((0.3, 0.4, 0.2, 0.25))] == [
        True,
        False,
        True,
        False,
    ]


def test_exporters_are_checked() -> None:
    for make, text in (
        (lambda: tf.estimator.LatestExporter("", models.serving_fn), '"name" argument is required'),
        (lambda: tf.estimator.LatestExporter("a", models.serving_fn, exports_to_keep=0), "positive number"),
        (lambda: tf.estimator.BestExporter(compare_fn=None), "must not be None"),  # type: ignore[arg-type]
        (lambda: tf.estimator.BestExporter(compare_fn=lambda a, b: True), "must include best_eval_result"),
    ):
        with pytest.raises(ValueError, match=text):
            make()
    compare = tf.estimator.BestExporter()._compare_fn
    with pytest.raises(ValueError, match="has no 'loss'"):
        compare(best_eval_result={}, current_eval_result={"loss": 1.0})
