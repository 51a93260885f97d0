"""A linear model for the tests of estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorfleet as tf

X = np.linspace(0, 1, 64, dtype=np.float32).reshape(64, 1)
Y = 3 * X + 1


def linear(features: Any, labels: Any, mode: str, params: Any = None) -> Any:
    """y = w·x + b, by gradient descent on the squared error."""
    rate = (params or {}).get("rate", 0.5)
    with tf.variable_scope("line"):
        w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    y = tf.matmul(features["x"], w) + b
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y, "twice": 2 * y})
    loss = tf.losses.mean_squared_error(labels, y)
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, tf.train.get_global_step())
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, y)}
    return tf.estimator.EstimatorSpec(
        mode, predictions={"y": y}, loss=loss, train_op=train_op, eval_metric_ops=metrics
    )


def train_fn() -> Any:
    """All examples in each batch, without end."""
    return tf.data.Dataset.from_tensors(({"x": X}, Y)).repeat()


def eval_fn() -> Any:
    """The examples once, in four batches."""
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(16)


def after(steps: int, rate: float = 0.5) -> tuple[float, float]:
    """w and b after that many steps, by NumPy."""
    w = b = 0.0
    for _ in range(steps):
        error = (w * X + b - Y).astype(np.float64)
        w, b = w - rate * 2 * float(np.mean(error * X)), b - rate * 2 * float(np.mean(error))
    return w, b


def serving_fn() -> Any:
    """Requests feed x itself."""
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
