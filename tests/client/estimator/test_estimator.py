"""tf.estimator.Estimator: train, evaluate, predict, and how it calls its functions."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.client.estimator import models


def estimator(folder: Path, **options: Any) -> Any:
    model_fn = options.pop("model_fn", models.linear)
    return tf.estimator.Estimator(model_fn, str(folder), **options)


def line(trained: Any) -> tuple[float, float]:
    return (
        float(trained.get_variable_value("line/w")[0, 0]),
        float(trained.get_variable_value("line/b")[0]),
    )


def test_training_goes_on_where_it_ended(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    assert made.latest_checkpoint() is None
    assert made.train(models.train_fn, steps=7) is made
    np.testing.assert_allclose(line(made), models.after(7), rtol=1e-5)
    again = estimator(tmp_path)
    again.train(models.train_fn, steps=3)
    np.testing.assert_allclose(line(again), models.after(10), rtol=1e-5)
    assert again.get_variable_value("global_step") == 10
    assert again.get_variable_names() == ["global_step", "line/b", "line/w"]
    again.train(models.train_fn, max_steps=12).train(models.train_fn, max_steps=11)
    assert again.get_variable_value("global_step") == 12
    assert again.latest_checkpoint() == str(tmp_path / "model.ckpt-12")


def test_training_ends_with_the_input(tmp_path: Path) -> None:
    made = estimator(tmp_path).train(models.eval_fn)
    assert made.get_variable_value("global_step") == 4


@pytest.mark.parametrize("kind", ["dataset", "tensors", "list", "queue"])
def test_what_input_functions_return(kind: str, tmp_path: Path) -> None:
    def input_fn() -> Any:
        if kind == "dataset":
            return models.train_fn()
        if kind == "queue":
            return tf.estimator.inputs.numpy_input_fn(
                {"x": models.X}, models.Y, batch_size=64, num_epochs=None, shuffle=False
            )()
        both = ({"x": tf.constant(models.X)}, tf.constant(models.Y))
        return both if kind == "tensors" else list(both)

    made = estimator(tmp_path).train(input_fn, steps=5)
    np.testing.assert_allclose(line(made), models.after(5), rtol=1e-5)
    if kind in ("tensors", "list"):
        assert made.evaluate(input_fn, steps=2)["global_step"] == 5


def test_an_evaluation_is_of_all_examples(tmp_path: Path) -> None:
    made = estimator(tmp_path).train(models.train_fn, steps=20)
    w, b = models.after(20)
    error = w * models.X + b - models.Y
    result = made.evaluate(models.eval_fn)
    assert set(result) == {"loss", "mae", "global_step"}
    np.testing.assert_allclose(result["loss"], np.mean(error**2), rtol=1e-4)
    np.testing.assert_allclose(result["mae"], np.mean(abs(error)), rtol=1e-4)
    assert result["global_step"] == 20
    first = made.evaluate(models.eval_fn, steps=1, name="first")
    np.testing.assert_allclose(first["mae"], np.mean(abs(error[:16])), rtol=1e-4)
    (path,) = Path(made.eval_dir("first")).glob("*.tfevents.*")
    written = {
        value.tag: value.simple_value
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
        if value.HasField("simple_value")
    }
    np.testing.assert_allclose(written["mae"], first["mae"])
    assert made.eval_dir() == str(tmp_path / "eval")


def test_an_evaluation_of_an_older_checkpoint(tmp_path: Path) -> None:
    made = estimator(tmp_path).train(models.train_fn, steps=2).train(models.train_fn, steps=2)
    older = made.evaluate(models.eval_fn, checkpoint_path=str(tmp_path / "model.ckpt-2"))
    assert older["global_step"] == 2
    assert older["loss"] > made.evaluate(models.eval_fn)["loss"]


def test_without_a_checkpoint_initial_values_are_evaluated(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    np.testing.assert_allclose(made.evaluate(models.eval_fn)["loss"], np.mean(models.Y**2), rtol=1e-5)
    assert next(made.predict(models.eval_fn))["y"] == [0.0]
    for ask in (made.get_variable_names, lambda: made.get_variable_value("line/w")):
        with pytest.raises(ValueError, match="Could not find trained model"):
            ask()
    with pytest.raises(ValueError, match="Couldn't find trained model"):
        made.export_saved_model(str(tmp_path / "e"), models.serving_fn)


def test_predictions(tmp_path: Path) -> None:
    made = estimator(tmp_path).train(models.train_fn, steps=20)
    w, b = models.after(20)
    found = list(made.predict(models.eval_fn))
    assert len(found) == 64
    np.testing.assert_allclose([each["y"] for each in found], w * models.X + b, rtol=1e-4)
    assert set(found[0]) == {"y", "twice"}
    assert set(next(made.predict(models.eval_fn, predict_keys="y"))) == {"y"}
    batches = list(made.predict(models.eval_fn, yield_single_examples=False))
    assert [len(batch["y"]) for batch in batches] == [16] * 4
    with pytest.raises(ValueError, match="Expected to run at least one output"):
        next(made.predict(models.eval_fn, predict_keys=["z"]))


def test_a_caller_has_its_own_graph_between_predictions(tmp_path: Path) -> None:
    made = estimator(tmp_path).train(models.train_fn, steps=1)
    own = tf.get_default_graph()
    predictions = made.predict(models.eval_fn)
    next(predictions)
    assert tf.get_default_graph() is own
    predictions.close()
    assert tf.get_default_graph() is own


def test_predictions_of_one_tensor_and_of_different_lengths(tmp_path: Path) -> None:
    def one(features: Any, mode: str) -> Any:
        return tf.estimator.EstimatorSpec(mode, predictions=features["x"])

    def uneven(features: Any, mode: str) -> Any:
        return tf.estimator.EstimatorSpec(mode, predictions={"a": features["x"], "b": tf.constant([1])})

    assert next(estimator(tmp_path, model_fn=one).predict(models.eval_fn)) == [0.0]
    with pytest.raises(ValueError, match="Batch length of predictions should be same"):
        next(estimator(tmp_path, model_fn=uneven).predict(models.eval_fn))


def test_functions_get_what_they_have_parameters_for(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def model_fn(features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
        seen["model"] = (mode, params, config.model_dir)
        return models.linear(features, labels, mode, params)

    def input_fn(params: Any, mode: str, config: Any) -> Any:
        seen["input"] = (mode, params, config.model_dir)
        return models.train_fn()

    params = {"rate": 0.25}
    made = estimator(tmp_path, model_fn=model_fn, params=params).train(input_fn, steps=3)
    assert seen["model"] == seen["input"] == ("train", params, str(tmp_path))
    np.testing.assert_allclose(line(made), models.after(3, 0.25), rtol=1e-5)
    made.params["rate"] = 9
    assert made.params == params
    # What a partial has bound is no parameter any more.
    bound = functools.partial(models.linear, params={"rate": 0.125})
    again = estimator(tmp_path / "p", model_fn=bound).train(models.train_fn, steps=2)
    np.testing.assert_allclose(line(again), models.after(2, 0.125), rtol=1e-5)


def test_a_model_as_a_method_of_an_object(tmp_path: Path) -> None:
    class Model:
        rate = 0.25

        def __call__(self, features: Any, labels: Any, mode: str) -> Any:
            return models.linear(features, labels, mode, {"rate": self.rate})

        def fn(self, features: Any, labels: Any, mode: str) -> Any:
            return self(features, labels, mode)

    for index, function in enumerate((Model(), Model().fn)):
        made = estimator(tmp_path / str(index), model_fn=function).train(models.train_fn, steps=2)
        np.testing.assert_allclose(line(made), models.after(2, 0.25), rtol=1e-5)


def without(name: str) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        spec = models.linear(features, labels, mode)._asdict()
        kept = {key: value for key, value in spec.items() if key not in (name, "export_outputs")}
        return tf.estimator.EstimatorSpec(**kept)

    return model_fn


@pytest.mark.parametrize(
    ("model_fn", "text"),
    [
        (lambda labels: None, "must include features argument"),
        (lambda features, nope: None, r"not expected args: \['nope'\]"),
        (lambda features: None, "model_fn does not take labels, but input_fn returns labels"),
        (lambda features, labels: None, "model_fn should return an EstimatorSpec"),
        (without("loss"), "Missing loss"),
        (without("train_op"), "Missing train_op"),
    ],
)
def test_models_are_checked(model_fn: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=text):
        estimator(tmp_path, model_fn=model_fn).train(models.train_fn, steps=1)


def test_arguments_are_checked(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    for options, text in (
        ({"steps": 1, "max_steps": 1}, "both steps and max_steps"),
        ({"steps": 0}, "steps > 0"),
        ({"max_steps": -1}, "max_steps > 0"),
    ):
        with pytest.raises(ValueError, match=text):
            made.train(models.train_fn, **options)
    with pytest.raises(ValueError, match="steps > 0"):
        made.evaluate(models.eval_fn, steps=0)
    with pytest.raises(TypeError, match="Hooks must be a SessionRunHook"):
        made.train(models.train_fn, hooks=[3], steps=1)
    with pytest.raises(TypeError, match="CheckpointSaverListener"):
        made.train(models.train_fn, saving_listeners=[3], steps=1)
    with pytest.raises(ValueError, match="len 2 tuple"):
        made.train(lambda: (1, 2, 3), steps=1)
    with pytest.raises(ValueError, match="does not include params"):
        tf.estimator.Estimator(lambda features: None, params={"a": 1})
    with pytest.raises(ValueError, match="model_fn must be provided"):
        tf.estimator.Estimator(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="instance of `RunConfig`"):
        tf.estimator.Estimator(models.linear, config=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="with different values"):
        estimator(tmp_path, config=tf.estimator.RunConfig(model_dir="other"))


def test_methods_cannot_be_overridden() -> None:
    class Mine(tf.estimator.Estimator):
        def train(self, *args: Any, **kwargs: Any) -> Any:
            return self

    with pytest.raises(ValueError, match=r"cannot override members of Estimator.*\['train'\]"):
        Mine(models.linear)


def test_a_metric_cannot_be_called_loss(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        spec = models.linear(features, labels, mode)
        return spec._replace(eval_metric_ops={"loss": spec.eval_metric_ops["mae"]})

    with pytest.raises(ValueError, match='Metric with name "loss" is not allowed'):
        estimator(tmp_path, model_fn=model_fn).evaluate(models.eval_fn)


def test_a_directory_is_made_where_none_is_given() -> None:
    made = tf.estimator.Estimator(models.linear)
    assert os.path.isdir(made.model_dir)
    os.rmdir(made.model_dir)


def test_a_parameter_server_does_not_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = '{"cluster": {"chief": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", cluster)
    with pytest.raises(ValueError, match=r"use tf\.estimator\.train_and_evaluate"):
        estimator(tmp_path).train(models.train_fn, steps=1)


class Noted(tf.train.CheckpointSaverListener):
    def __init__(self) -> None:
        self.saved: list[int] = []

    def after_save(self, session: Any, global_step_value: int) -> None:
        self.saved.append(int(global_step_value))


def test_checkpoints_and_their_listeners(tmp_path: Path) -> None:
    listener = Noted()
    config = tf.estimator.RunConfig(save_checkpoints_steps=2, keep_checkpoint_max=2)
    made = estimator(tmp_path, config=config).train(models.train_fn, steps=5, saving_listeners=[listener])
    assert listener.saved == [0, 2, 4, 5]
    state = tf.train.get_checkpoint_state(made.model_dir)
    assert [Path(path).name for path in state.all_model_checkpoint_paths] == ["model.ckpt-4", "model.ckpt-5"]
    off = estimator(tmp_path / "off", config=tf.estimator.RunConfig(save_checkpoints_secs=None))
    with pytest.raises(ValueError, match="There should be a CheckpointSaverHook"):
        off.train(models.train_fn, steps=1, saving_listeners=[listener])
    off.train(models.train_fn, steps=1)
    assert off.latest_checkpoint() is None
    # A hook of the user's own takes the place of the estimator's.
    own = estimator(tmp_path / "own")
    hook = tf.train.CheckpointSaverHook(own.model_dir, save_steps=3)
    listener.saved.clear()
    own.train(models.train_fn, steps=4, hooks=[hook], saving_listeners=[listener])
    assert listener.saved == [0, 3, 4]


def test_hooks_of_all_kinds_are_called(tmp_path: Path) -> None:
    class Counts(tf.train.SessionRunHook):
        runs = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.runs += 1

    hooks = {name: Counts() for name in ("training", "training_chief", "evaluation", "prediction")}

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        spec = models.linear(features, labels, mode)
        return spec._replace(**{f"{name}_hooks": (hook,) for name, hook in hooks.items()})

    made, given = estimator(tmp_path, model_fn=model_fn), Counts()
    made.train(models.train_fn, hooks=[given], steps=3)
    made.evaluate(models.eval_fn, hooks=[given])
    assert len(list(made.predict(models.eval_fn, hooks=[given]))) == 64
    assert given.runs == 3 + 4 + 4
    assert {name: hook.runs for name, hook in hooks.items()} == {
        **{"training": 3, "training_chief": 3, "evaluation": 4, "prediction": 4}
    }


def test_a_loss_that_is_no_number_ends_training(tmp_path: Path) -> None:
    made = estimator(tmp_path, params={"rate": 1e30})
    with pytest.raises(tf.train.NanLossDuringTrainingError):
        made.train(models.train_fn, steps=20)


def test_a_scaffold_with_its_own_local_init_op_keeps_metrics(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        extra = tf.get_local_variable("extra", [], initializer=tf.ones_initializer())
        spec = models.linear(features, labels, mode)
        if mode == tf.estimator.ModeKeys.TRAIN:
            return spec
        return spec._replace(scaffold=tf.train.Scaffold(local_init_op=extra.initializer))

    made = estimator(tmp_path, model_fn=model_fn).train(models.train_fn, steps=1)
    assert made.evaluate(models.eval_fn)["global_step"] == 1


def test_the_graphs_seed(tmp_path: Path) -> None:
    def value(folder: str, seed: int) -> float:
        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            tf.get_variable("random", [], initializer=tf.random_normal_initializer())
            return models.linear(features, labels, mode)

        config = tf.estimator.RunConfig(tf_random_seed=seed)
        made = estimator(tmp_path / folder, model_fn=model_fn, config=config)
        return float(made.train(models.train_fn, steps=1).get_variable_value("random"))

    assert value("a", 1) == value("b", 1) != value("c", 2)
