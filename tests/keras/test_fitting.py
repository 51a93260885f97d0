"""What `fit` takes and calls, files of models, clusters, estimators."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

keras = tf.keras
X = np.random.RandomState(0).rand(32, 3).astype(np.float32)
Y = X @ np.array([[1.0], [2.0], [-1.0]], np.float32)


def linear(optimizer: Any = "sgd") -> Any:
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(3,))])
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


def batches() -> Iterator[Any]:
    while True:
        for begin in range(0, 32, 8):
            yield X[begin : begin + 8], Y[begin : begin + 8]


class Batches(keras.utils.Sequence):  # type: ignore[misc, name-defined, unused-ignore]
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return X[index * 8 : index * 8 + 8], Y[index * 8 : index * 8 + 8]


@pytest.mark.parametrize("kind", ["generator", "sequence", "dataset", "iterator"])
def test_batches_from_elsewhere_train_as_arrays_do(kind: str) -> None:
    model = linear()
    start = model.get_weights()
    model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    expected = model.get_weights()
    model.set_weights(start)
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    source = {
        "generator": batches,
        "sequence": Batches,
        "dataset": lambda: dataset,
        "iterator": lambda: dataset.repeat().make_one_shot_iterator(),
    }[kind]()
    steps = 4 if kind in ("generator", "iterator") else None
    model.fit(source, epochs=2, steps_per_epoch=steps, shuffle=False, verbose=0)
    for found, wanted in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_weights_of_examples_and_classes() -> None:
    model = linear(keras.optimizers.SGD(0.0))
    [loss] = model.fit(X, Y, sample_weight=np.arange(32.0), batch_size=32, verbose=0).history["loss"]
    assert loss == pytest.approx(np.mean(np.arange(32) * Y[:, 0] ** 2), rel=1e-5)
    labels = (Y[:, 0] > 0.5).astype(int)
    found = model.train_on_batch(X, labels, class_weight={0: 1.0, 1: 3.0})
    assert found[0] == pytest.approx(np.mean(labels * 3.0))


def test_wrong_data_are_named() -> None:
    model = linear()
    with pytest.raises(ValueError, match=r"to have shape \(3,\) but got array with shape \(2,\)"):
        model.fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(X, Y[:5])
    with pytest.raises(RuntimeError, match="You must compile"):
        keras.Sequential([keras.layers.Dense(1, input_shape=(3,))]).fit(X, Y)
    with pytest.raises(ValueError, match="Graph disconnected"):
        keras.Model(keras.Input((3,)), keras.layers.Dense(1)(keras.Input((3,))))


def test_callbacks_are_called_and_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = linear()
    seen: list[Any] = []
    history = model.fit(
        X,
        Y,
        epochs=5,
        verbose=2,
        validation_split=0.25,
        callbacks=[
            keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch)),
            keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)),
            keras.callbacks.CSVLogger(str(tmp_path / "log.csv")),
            keras.callbacks.ModelCheckpoint(str(tmp_path / "at-{epoch}"), save_weights_only=True),
            keras.callbacks.EarlyStopping("loss", min_delta=100.0, patience=1),
            keras.callbacks.TensorBoard(str(tmp_path / "events")),
        ],
    )
    assert seen == [0, 1]
    np.testing.assert_allclose(history.history["lr"], [0.1, 0.05], rtol=1e-6)
    rows = list(csv.DictReader((tmp_path / "log.csv").open()))
    assert [float(row["loss"]) for row in rows] == pytest.approx(history.history["loss"])
    [events] = (tmp_path / "events").iterdir()
    tags = [v.tag for event in tf.train.summary_iterator(str(events)) for v in event.summary.value]
    assert tags.count("epoch_val_loss") == 2
    out = capsys.readouterr().out
    assert "Train on 24 samples, validate on 8 samples" in out
    assert "24/24 - " in out
    last = model.get_weights()
    model.load_weights(str(tmp_path / "at-1"))
    assert not np.allclose(model.get_weights()[0], last[0])
    model.load_weights(str(tmp_path / "at-2"))
    np.testing.assert_array_equal(model.get_weights()[0], last[0])


def test_a_saved_model_trains_on_as_it_would_have(tmp_path: Path) -> None:
    model = linear("adam")
    model.fit(X, Y, shuffle=False, verbose=0)
    model.save(str(tmp_path / "model"))
    again = keras.models.load_model(str(tmp_path / "model"))
    for one in (model, again):
        one.fit(X, Y, shuffle=False, verbose=0)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6)
    keys = dict(tf.train.list_variables(str(tmp_path / "model" / "weights")))
    assert "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE" in keys


def test_hdf5_files_need_h5py_and_say_so(tmp_path: Path) -> None:
    model = linear("adam")
    try:
        import h5py  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install h5py"):
            model.save(str(tmp_path / "model.h5"))
        return
    model.fit(X, Y, verbose=0)
    model.save(str(tmp_path / "model.h5"))
    again = keras.models.load_model(str(tmp_path / "model.h5"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_stateful_layers_go_on_from_batch_to_batch() -> None:
    x = np.random.RandomState(1).rand(2, 4, 3).astype(np.float32)
    whole = keras.layers.SimpleRNN(2, batch_input_shape=(2, None, 3))
    kept = keras.layers.SimpleRNN(2, batch_input_shape=(2, None, 3), stateful=True)
    plain, stateful = keras.Sequential([whole]), keras.Sequential([kept])
    stateful.set_weights(plain.get_weights())
    stateful.predict(x[:, :2], batch_size=2)
    np.testing.assert_allclose(
        stateful.predict(x[:, 2:], batch_size=2), plain.predict(x, batch_size=2), rtol=1e-5
    )
    stateful.reset_states()
    np.testing.assert_allclose(stateful.predict(x, batch_size=2), plain.predict(x, batch_size=2), rtol=1e-5)


def test_a_model_of_ones_own_and_one_without_input_shape_learn_their_inputs_from_data() -> None:
    class Twice(keras.Model):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs) * 2.0

    for model in (Twice(), keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])):
        model.compile(keras.optimizers.SGD(0.0), "mse")
        factor = 2 if isinstance(model, Twice) else 1
        expected = np.mean((factor * X.sum(1) - Y[:, 0]) ** 2)
        [loss] = model.fit(X, Y, batch_size=32, verbose=0).history["loss"]
        assert loss == pytest.approx(expected, rel=1e-5)


def test_two_workers_train_one_model_on_a_parameter_server() -> None:
    workers, _ = tf.test.create_local_cluster(2, 1)
    losses = []
    for worker in workers:
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                model = linear(tf.train.GradientDescentOptimizer(0.1))
                model._program_of().step("train")
            with tf.Session(worker.target) as session:
                keras.backend.set_session(session)
                assert model.weights[0].device == "/job:ps/task:0"
                losses += model.fit(X, Y, epochs=5, verbose=0).history["loss"]
                weights = model.get_weights()
    # The second worker goes on where the first one was.
    assert all(later < earlier for earlier, later in itertools.pairwise(losses))
    assert np.abs(weights[0]).min() > 0


def test_an_estimator_begins_with_the_weights_of_its_model(tmp_path: Path) -> None:
    model = linear(keras.optimizers.SGD(0.1))
    model.fit(X, Y, epochs=2, verbose=0)
    made = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))

    def inputs(epochs: int | None) -> Any:
        return tf.estimator.inputs.numpy_input_fn(
            {model.input_names[0]: X}, Y, batch_size=32, num_epochs=epochs, shuffle=False
        )

    made.train(inputs(None), steps=1)
    model.train_on_batch(X, Y)
    np.testing.assert_allclose(made.get_variable_value("dense/kernel"), model.get_weights()[0], rtol=1e-5)
    found = made.evaluate(inputs(1))
    loss, error = model.evaluate(X, Y, verbose=0)
    assert found["loss"] == pytest.approx(loss, rel=1e-5)
    assert found["mean_absolute_error"] == pytest.approx(error, rel=1e-5)
    [first, *_] = made.predict(inputs(1))
    np.testing.assert_allclose(first["dense"], model.predict(X)[0], rtol=1e-5)


def test_what_is_called_again_adds_nothing_to_the_graph(tmp_path: Path) -> None:
    model = linear("adam")
    path = str(tmp_path / "weights")
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    calls = {
        "fit": lambda: model.fit(dataset, validation_data=dataset, verbose=0),
        "evaluate": lambda: model.evaluate(dataset, verbose=0),
        "save_weights": lambda: model.save_weights(path),
        "load_weights": lambda: model.load_weights(path).assert_consumed(),
    }
    for call in calls.values():
        call()
    graph = tf.get_default_graph()
    grown = {}
    for name, call in calls.items():
        before = len(graph.get_operations())
        call()
        grown[name] = len(graph.get_operations()) - before
    assert grown == dict.fromkeys(calls, 0)


def test_a_dataset_is_trained_on_and_evaluated_at_the_same_time() -> None:
    """Each use has an iterator of its own, though they are kept for later ones."""
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    model = linear()

    class Evaluate(keras.callbacks.Callback):  # type: ignore[misc, name-defined, unused-ignore]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            seen.append(len(model.predict(dataset.map(lambda x, y: x))))
            model.evaluate(dataset, verbose=0)

    for _ in range(2):
        seen: list[int] = []
        model.fit(dataset, callbacks=[Evaluate()], verbose=0)
        assert seen == [32] * 4


def test_weights_of_a_model_that_is_compiled_again_are_saved(tmp_path: Path) -> None:
    model = linear("adam")
    path = str(tmp_path / "weights")
    model.train_on_batch(X, Y)
    model.save_weights(path)
    model.load_weights(path).assert_consumed()
    model.compile("adam", "mse")
    model.train_on_batch(X, Y)
    model.train_on_batch(X, Y)
    saved = model.optimizer.get_weights()
    assert saved[0] == 2
    model.save_weights(path)
    model.train_on_batch(X, Y)
    model.load_weights(path).assert_consumed()
    for found, wanted in zip(model.optimizer.get_weights(), saved, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_variable_made_while_others_are_initialized_is_initialized_later() -> None:
    """As by another thread that builds a model."""
    later: list[Any] = []

    class Session(tf.Session):  # type: ignore[misc, unused-ignore]
        def run(self, *args: Any, **kwargs: Any) -> Any:
            if not later:
                later.append(keras.backend.variable([2.0]))
            return super().run(*args, **kwargs)

    with Session():
        first = keras.backend.variable([1.0])
        assert keras.backend.get_value(first) == [1.0]
        assert keras.backend.get_value(later[0]) == [2.0]


def test_tensors_as_data() -> None:
    iterator = tf.data.make_one_shot_iterator(
        tf.data.Dataset.from_generator(batches, (tf.float32, tf.float32))
    )
    x, y = iterator.get_next()
    x.set_shape([None, 3])
    expected = linear().fit(batches(), steps_per_epoch=4, epochs=2, verbose=0).history
    model = linear()
    with pytest.raises(ValueError, match="you should specify the number of steps"):
        model.fit(x, y, verbose=0)
    history = model.fit(
        x, y, steps_per_epoch=4, epochs=2, verbose=0, validation_data=(x, y), validation_steps=4
    )
    np.testing.assert_allclose(history.history["loss"][0], expected["loss"][0], rtol=1e-5)
    np.testing.assert_allclose(
        model.evaluate(x, y, steps=4, verbose=0), model.evaluate(X, Y, 8, 0), rtol=1e-4
    )
    np.testing.assert_allclose(model.predict(x, steps=4), model.predict(X), rtol=1e-5)
    # The generator begins anew with each four batches.
    model.reset_metrics()
    expected_loss = model.test_on_batch(X[:8], Y[:8])
    np.testing.assert_allclose(model.test_on_batch(x, y), expected_loss, rtol=1e-5)
    expected_loss = model.test_on_batch(X[8:16], Y[8:16])
    np.testing.assert_allclose(model.train_on_batch(x, y), expected_loss, rtol=1e-5)
    np.testing.assert_allclose(model.predict_on_batch(x), model.predict(X[16:24]), rtol=1e-5)
