"""What programs of TensorFlow 1.15 rely on between calls of a model: order, beginnings, and first calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

keras = tf.keras
X = np.arange(12, dtype=np.float32).reshape(6, 2) / 12


class TwiceTheSum(keras.metrics.Metric):  # type: ignore[misc]
    """Twice the sum of the outputs and a start of 100; update_state returns nothing."""

    def __init__(self, name: str = "twice_the_sum", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight("total", initializer="zeros")
        self.twice = self.add_weight("twice", initializer="zeros")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.total.assign_add(tf.reduce_sum(y_pred))
        self.twice.assign(2 * self.total)

    def result(self) -> Any:
        return self.twice

    def reset_states(self) -> None:
        keras.backend.batch_set_value([(self.total, 100.0), (self.twice, 0.0)])


def summing() -> Any:
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
    return model


def test_a_metric_whose_update_returns_nothing_runs_it_in_order_and_resets_itself() -> None:
    model = summing()
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=[TwiceTheSum()])
    found = model.fit(X, X[:, :1], batch_size=2, epochs=2, verbose=0).history["twice_the_sum"]
    np.testing.assert_allclose(found, [2 * (100 + X.sum())] * 2, rtol=1e-6)


def test_a_validation_begins_the_dataset_anew_and_calls_the_callbacks() -> None:
    called = []

    class Seen(keras.callbacks.Callback):  # type: ignore[misc]
        def on_test_begin(self, logs: Any = None) -> None:
            called.append("begin")

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            called.append(batch)

    data = tf.data.Dataset.from_tensor_slices((X, 0 * X[:, :1])).batch(2)
    model = summing()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    history = model.fit(
        X, X[:, :1], 2, epochs=3, verbose=0, validation_data=data, validation_steps=1, callbacks=[Seen()]
    )
    first = np.mean(X[:2].sum(1) ** 2)
    np.testing.assert_allclose(history.history["val_loss"], [first] * 3, rtol=1e-6)
    assert called == ["begin", 0] * 3
    assert (history.params["batch_size"], history.params["steps"], history.params["samples"]) == (2, None, 6)


def test_a_layer_called_twice_has_the_ends_of_its_first_call() -> None:
    base = summing()
    dense, own = base.layers[0], base.input
    keras.Sequential([base, keras.layers.Dense(1)])
    assert base.input is own
    assert dense.output is base.output
    assert (dense.input_shape, base.output_shape) == ((None, 2), (None, 1))
    pool = keras.layers.GlobalAveragePooling1D()
    pool(keras.Input((3, 2)))
    pool(keras.Input((4, 2)))
    with pytest.raises(AttributeError, match="get_input_shape_at"):
        _ = pool.input_shape


def test_a_layer_of_each_step_is_named_by_its_wrapper() -> None:
    model = keras.Sequential([keras.layers.TimeDistributed(keras.layers.Dense(2), input_shape=(3, 4))])
    assert [v.name for v in model.weights] == ["time_distributed/kernel:0", "time_distributed/bias:0"]


def test_a_checkpoint_is_read_when_a_model_has_made_its_variables(tmp_path: Path) -> None:
    class Two(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = keras.layers.Dense(3), keras.layers.Dense(1)

        def call(self, inputs: Any) -> Any:
            return self.last(self.first(inputs))

    trained, new, called = Two(), Two(), Two()
    expected = trained.predict(X)
    trained.save_weights(str(tmp_path / "weights"))
    new.load_weights(str(tmp_path / "weights"))
    np.testing.assert_array_equal(new.predict(X), expected)
    called.load_weights(str(tmp_path / "weights"))
    outputs = called(tf.constant(X))
    np.testing.assert_allclose(keras.backend.get_session().run(outputs), expected, rtol=1e-6)


def test_saving_and_reading_weights_again_adds_nothing_to_the_graph(tmp_path: Path) -> None:
    model, path = summing(), str(tmp_path / "weights")
    model.set_weights(model.get_weights())
    model.save_weights(path)
    model.load_weights(path)
    count = len(tf.get_default_graph().get_operations())
    model.set_weights([np.full((2, 1), 3.0), np.zeros(1)])
    model.save_weights(path)
    model.set_weights([np.zeros((2, 1)), np.zeros(1)])
    model.load_weights(path)
    np.testing.assert_array_equal(model.get_weights()[0], [[3.0], [3.0]])
    assert len(tf.get_default_graph().get_operations()) == count
