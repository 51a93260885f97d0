"""Batch renormalization, virtual batches and adjustments of batch normalization.

The numbers that are written out are those of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

X = np.random.RandomState(0).normal(1.0, 2.0, size=(4, 3)).astype("f")
IMAGES = np.random.RandomState(1).normal(1.0, 2.0, size=(4, 2, 2, 3)).astype("f")
CLIPPING = {"rmax": 1.5, "rmin": 0.5, "dmax": 0.3}
EPSILON = 1e-3


class Model:
    """Batch renormalization of channels that come last, in NumPy."""

    def __init__(self, channels: int, momentum: float, renorm_momentum: float, clipping: Any) -> None:
        self.mean, self.stddev = np.zeros(channels), np.ones(channels)
        self.moving_mean, self.moving_stddev = np.zeros(channels), np.ones(channels)
        self.moving_variance = np.ones(channels)
        self.momentum, self.renorm_momentum, self.clipping = momentum, renorm_momentum, clipping

    def step(self, x: np.ndarray, training: bool) -> np.ndarray:
        if not training:
            return (x - self.moving_mean) / np.sqrt(self.moving_variance + EPSILON)
        axes = tuple(range(x.ndim - 1))
        mean, stddev = x.mean(axes), np.sqrt(x.var(axes) + EPSILON)
        r, d = stddev / self.stddev, (mean - self.mean) / self.stddev
        if self.clipping:
            r = np.clip(r, self.clipping["rmin"], self.clipping["rmax"])
            d = np.clip(d, -self.clipping["dmax"], self.clipping["dmax"])
        self.mean += (mean - self.mean) * (1 - self.renorm_momentum)
        self.stddev += (stddev - self.stddev) * (1 - self.renorm_momentum)
        self.moving_mean += (mean - self.moving_mean) * (1 - self.momentum)
        self.moving_stddev += (stddev - self.moving_stddev) * (1 - self.momentum)
        self.moving_variance = self.moving_stddev**2 - EPSILON
        result: np.ndarray = (x - mean) / stddev * r + d
        return result


@pytest.mark.parametrize("x", [X, IMAGES], ids=["rows", "images"])
@pytest.mark.parametrize("clipping", [None, CLIPPING], ids=["free", "clipped"])
@pytest.mark.parametrize("phases", [None, [True, False, True]], ids=["trained", "fed"])
@pytest.mark.parametrize("place", ["layers", "contrib"])
def test_batches_are_corrected_by_averages_of_their_own(
    x: np.ndarray, clipping: Any, phases: Any, place: str
) -> None:
    fed = tf.placeholder(tf.float32, [None, *x.shape[1:]])
    training = tf.placeholder(tf.bool, []) if phases else True
    if place == "layers":
        y = tf.layers.batch_normalization(
            fed,
            training=training,
            renorm=True,
            renorm_clipping=clipping,
            momentum=0.9,
            renorm_momentum=0.8,
            name="b",
        )
    else:
        y = tf.contrib.layers.batch_norm(
            fed,
            is_training=training,
            renorm=True,
            renorm_clipping=clipping,
            decay=0.9,
            renorm_decay=0.8,
            scale=True,
            scope="b",
        )
    assert y.shape.as_list() == fed.shape.as_list()
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    assert [v.op.name for v in tf.trainable_variables()] in (
        ["b/gamma", "b/beta"],
        ["b/beta", "b/gamma"],
    )
    model = Model(3, 0.9, 0.8, clipping)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(3):
            feeds: dict[Any, Any] = {fed: x * (1 + step)}
            if phases:
                feeds[training] = phases[step]
            found, _ = session.run([y, updates], feeds)
            expected = model.step(x.astype("f8") * (1 + step), phases[step] if phases else True)
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
        values = {v.op.name: session.run(v) for v in tf.global_variables()}
    for name, value in (
        ("moving_mean", model.moving_mean),
        ("moving_variance", model.moving_variance),
        ("moving_stddev", model.moving_stddev),
        ("renorm_mean", model.mean),
        ("renorm_stddev", model.stddev),
    ):
        np.testing.assert_allclose(values[f"b/{name}"], value, rtol=1e-4, atol=1e-5)


def test_no_gradient_passes_through_the_corrections() -> None:
    fed = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.batch_normalization(fed, training=True, renorm=True, momentum=0.9, renorm_momentum=0.8)
    weights = np.random.RandomState(2).normal(size=(4, 3)).astype("f")[0]
    gradient, gamma = tf.gradients(
        tf.reduce_sum(y * weights * fed),
        [fed, tf.get_default_graph().get_tensor_by_name("batch_normalization/gamma:0")],
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([y, gradient, gamma], {fed: X})
    np.testing.assert_allclose(found[0][0], [4.5281, 1.80031, 2.95748], atol=2e-5)
    np.testing.assert_allclose(found[1][0], [-1.8873, -0.10129, -6.31851], atol=2e-5)
    np.testing.assert_allclose(found[2], [-25.9563, -1.56466, -54.6104], rtol=2e-5)


def test_averages_start_from_the_initializers() -> None:
    layer = tf.layers.BatchNormalization(
        renorm=True,
        moving_mean_initializer=tf.constant_initializer(2.0),
        moving_variance_initializer=tf.constant_initializer(9.0),
    )
    layer(tf.constant(X), training=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        names = [v.op.name.split("/")[-1] for v in layer.non_trainable_variables]
        values = dict(zip(names, session.run(layer.non_trainable_variables), strict=True))
    assert values["renorm_mean"].tolist() == values["moving_mean"].tolist() == [2.0] * 3
    assert values["renorm_stddev"].tolist() == values["moving_stddev"].tolist() == [3.0] * 3


@pytest.mark.parametrize("training", [True, None], ids=["known", "fed"])
def test_virtual_batches_are_normalized_each_on_its_own(training: Any) -> None:
    fed = tf.placeholder(tf.float32, [None, 2, 2, 3])
    flag = tf.placeholder_with_default(True, []) if training is None else training
    y = tf.layers.batch_normalization(fed, training=flag, virtual_batch_size=2, momentum=0.9, name="b")
    assert y.shape.as_list() == [None, 2, 2, 3]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    # The first two examples are the first ones of both batches.
    parts = IMAGES.astype("f8").reshape(2, 2, 2, 2, 3)
    mean, variance = parts.mean((0, 2, 3), keepdims=True), parts.var((0, 2, 3), keepdims=True)
    expected = ((parts - mean) / np.sqrt(variance + EPSILON)).reshape(IMAGES.shape)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, _ = session.run([y, updates], {fed: IMAGES})
        moved = session.run(tf.global_variables()[-2:])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {fed: IMAGES[:3]})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert [v.shape.as_list() for v in tf.global_variables()] == [[1, 1, 1, 1, 3]] * 4
    np.testing.assert_allclose(moved[0].ravel(), 0.1 * mean.mean(1).ravel(), rtol=1e-4)
    np.testing.assert_allclose(moved[1].ravel(), 0.9 + 0.1 * variance.mean(1).ravel(), rtol=1e-4)


def test_virtual_batches_are_renormalized() -> None:
    fed = tf.placeholder(tf.float32, [None, 2, 2, 3])
    y = tf.layers.batch_normalization(fed, training=True, virtual_batch_size=2, momentum=0.9, renorm=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in (1, 2, 3):
            found, _ = session.run([y, updates], {fed: IMAGES * step})
        values = session.run(tf.global_variables())
    expected = [10.16341, 0.97844, 2.53231, -3.35631, 8.92503, -8.5745]
    np.testing.assert_allclose(found.ravel()[:6], expected, rtol=1e-4)
    np.testing.assert_allclose(values[3].ravel(), [3.24722, 2.33941, 3.72982], rtol=1e-4)
    np.testing.assert_allclose(values[6].ravel(), [1.08433, 1.05538, 1.09806], rtol=1e-4)


@pytest.mark.parametrize("place", ["layers", "contrib"])
def test_an_adjustment_acts_in_training_only(place: str) -> None:
    def adjustment(shape: Any) -> Any:
        return tf.fill([1, shape[-1]], 2.0), tf.fill([1, shape[-1]], 0.5)

    fed, training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.bool, [])
    if place == "layers":
        y = tf.layers.batch_normalization(fed, training=training, adjustment=adjustment, center=False)
    else:
        y = tf.contrib.layers.batch_norm(fed, is_training=training, adjustment=adjustment, center=False)
    x = X.astype("f8")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(y, {fed: X, training: flag}) for flag in (True, False)]
    expected = 2 * (x - x.mean(0)) / np.sqrt(x.var(0) + EPSILON) + 0.5
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], x / np.sqrt(1 + EPSILON), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"renorm": True, "renorm_clipping": {"z": 1}}, "contains keys not in"),
        ({"virtual_batch_size": 0}, "virtual_batch_size must be a positive integer"),
        ({"virtual_batch_size": 2, "axis": 0}, "axis cannot include 0"),
        ({"virtual_batch_size": 2, "adjustment": len}, "adjustment cannot be specified"),
    ],
)
@pytest.mark.parametrize("place", ["layers", "keras"])
def test_wrong_arguments(arguments: dict[str, Any], message: str, place: str) -> None:
    kind = tf.layers.BatchNormalization if place == "layers" else tf.keras.layers.BatchNormalization
    with pytest.raises(ValueError, match=message):
        kind(**arguments)(tf.constant(IMAGES))


@pytest.mark.parametrize(
    ("arguments", "losses", "averages"),
    [
        (
            {"renorm": True, "renorm_momentum": 0.8},
            [11.39768, 3.63668, 4.2167],
            {
                "gamma": [0.85088, 0.81473, 0.68478],
                "moving_mean": [1.31819, 0.91991, 0.24178],
                "moving_variance": [0.88801, 1.70993, 2.25343],
                "renorm_stddev": [0.88795, 1.48929, 1.79697],
            },
        ),
        (
            {"virtual_batch_size": 2},
            [11.54342, 8.90623, 7.11495],
            {"beta": [0.27628, 0.27036, 0.26508], "moving_variance": [1.01409, 1.06113, 2.46046]},
        ),
    ],
    ids=["renorm", "virtual"],
)
def test_keras_fits_them(
    arguments: dict[str, Any], losses: list[float], averages: dict[str, list[float]]
) -> None:
    x = np.random.RandomState(0).normal(1.0, 2.0, size=(8, 3)).astype("f")
    layer = tf.keras.layers.BatchNormalization(momentum=0.9, input_shape=(3,), **arguments)
    model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    history = model.fit(x, x[:, :1], epochs=3, batch_size=4, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], losses, rtol=1e-4)
    values = dict(zip([w.name.split("/")[-1][:-2] for w in layer.weights], layer.get_weights(), strict=True))
    for name, expected in averages.items():
        np.testing.assert_allclose(values[name].ravel(), expected, rtol=1e-4)
    config = layer.get_config()
    assert arguments.items() <= config.items()
    assert tf.keras.layers.BatchNormalization.from_config(config).get_config() == config


def test_keras_adjusts() -> None:
    def adjustment(shape: Any) -> Any:
        return tf.fill([1, shape[-1]], 2.0), tf.fill([1, shape[-1]], 0.5)

    y = tf.keras.layers.BatchNormalization(adjustment=adjustment)(tf.constant(X), training=True)
    x = X.astype("f8")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(y)
    expected = 2 * (x - x.mean(0)) / np.sqrt(x.var(0) + EPSILON) + 0.5
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
