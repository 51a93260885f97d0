"""Models of tf.keras train, evaluate and predict as NumPy computes."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorfleet as tf


def line() -> tuple[Any, Any]:
    x = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5], [2.0, 1.0]], np.float32)
    return x, x @ np.array([[2.0], [-1.0]], np.float32) + 0.5


def test_gradient_descent_is_that_of_numpy() -> None:
    x, y = line()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(2,))])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=2, epochs=2, shuffle=False, verbose=0).history
    w, b = np.zeros((2, 1)), np.zeros(1)
    losses = []
    for _ in range(2):
        total, errors = 0.0, []
        for rows in (slice(0, 2), slice(2, 4)):
            error = x[rows] @ w + b - y[rows]
            total += float(np.mean(error**2)) * 2
            errors.append(np.abs(error))
            w, b = w - 0.1 * 2 * x[rows].T @ error / 2, b - 0.1 * 2 * error.mean(0)
        losses.append(total / 4)
    np.testing.assert_allclose(history["loss"], losses, rtol=1e-5)
    np.testing.assert_allclose(history["mean_absolute_error"][-1], np.mean(errors), rtol=1e-5)
    for found, expected in zip(model.get_weights(), (w, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    error = x @ w + b - y
    np.testing.assert_allclose(
        model.evaluate(x, y, verbose=0), [np.mean(error**2), np.mean(np.abs(error))], rtol=1e-5
    )
    np.testing.assert_allclose(model.predict(x, batch_size=3), x @ w + b, rtol=1e-5)


def test_a_graph_of_layers_with_two_inputs_and_outputs() -> None:
    a, b = tf.keras.Input((3,), name="a"), tf.keras.Input((3,), name="b")
    shared = tf.keras.layers.Dense(2, name="shared")
    joined = tf.keras.layers.concatenate([shared(a), shared(b)])
    model = tf.keras.Model([a, b], [joined * 2.0 + 1.0, tf.keras.layers.Dense(1, name="last")(joined)])
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    kernel = model.get_layer("shared").get_weights()[0]
    both, last = model.predict({"a": x, "b": -x})
    parts = np.concatenate([x @ kernel, -x @ kernel], 1)
    np.testing.assert_allclose(both, parts * 2 + 1, rtol=1e-5)
    np.testing.assert_allclose(last, parts @ model.get_layer("last").get_weights()[0], rtol=1e-5)
    again = tf.keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    np.testing.assert_allclose(again.predict([x, -x])[1], last, rtol=1e-6)
