"""Steps of Keras's optimizers, and its losses and metrics, as formulas say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

keras = tf.keras
X = np.array([[1.0, -2.0], [0.5, 1.0]], np.float32)


def after(optimizer: Any, steps: int = 3) -> Any:
    """A weight w = [1, -1] after steps on the loss sum(w^2) / 2, whose gradient is w."""
    w = tf.Variable([1.0, -1.0], use_resource=True)
    step = optimizer.minimize(lambda: tf.reduce_sum(tf.square(w)) / 2, [w])
    session = tf.get_default_session()
    session.run(w.initializer)
    keras.backend.get_session()
    for _ in range(steps):
        session.run(step)
    return session.run(w)


def adam(amsgrad: bool = False) -> Any:
    w, m, v, top = np.array([1.0, -1.0]), 0.0, 0.0, 0.0
    for t in range(1, 4):
        m, v = 0.9 * m + 0.1 * w, 0.999 * v + 0.001 * w * w
        top = np.maximum(top, v)
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        w = w - rate * m / (np.sqrt(top if amsgrad else v) + 1e-7)
    return w


def momentum(nesterov: bool) -> Any:
    w, a = np.array([1.0, -1.0]), 0.0
    for _ in range(3):
        a = 0.9 * a - 0.1 * w
        w = w + (0.9 * a - 0.1 * w if nesterov else a)
    return w


def rmsprop() -> Any:
    w, s = np.array([1.0, -1.0]), 0.0
    for _ in range(3):
        s = 0.9 * s + 0.1 * w * w
        w = w - 0.1 * w / (np.sqrt(s) + 1e-7)
    return w


def decayed() -> Any:
    w = np.array([1.0, -1.0])
    for t in range(3):
        w = w - 0.1 / (1 + 0.5 * t) * w
    return w


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: keras.optimizers.SGD(0.1, decay=0.5), decayed()),
        (lambda: keras.optimizers.SGD(0.1, momentum=0.9), momentum(False)),
        (lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), momentum(True)),
        (lambda: keras.optimizers.RMSprop(0.1), rmsprop()),
        (lambda: keras.optimizers.Adam(0.1), adam()),
        (lambda: keras.optimizers.Adam(lr=0.1, amsgrad=True), adam(True)),
        (lambda: keras.optimizers.SGD(0.1, clipvalue=0.5), [1 - 0.15, -1 + 0.15]),
        (
            lambda: keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)),
            np.array([1, -1]) * 0.9 * 0.95 * 0.975,
        ),
    ],
)
def test_three_steps(make: Any, expected: Any) -> None:
    optimizer = make()
    np.testing.assert_allclose(after(optimizer), expected, rtol=2e-5)
    again = type(optimizer).from_config(optimizer.get_config())
    for key, value in optimizer.get_config().items():
        assert again.get_config()[key] == (value if isinstance(value, dict) else pytest.approx(value))


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam", "ftrl"])
def test_gradients_of_rows_change_these_rows_as_whole_gradients_do(name: str) -> None:
    """The first step: later ones of some rules let momentum move other rows as well."""
    dense, sparse = (tf.Variable(np.ones((3, 2), np.float32), use_resource=True) for _ in range(2))
    session = tf.get_default_session()
    steps = [
        keras.optimizers.get(name).minimize(tf.reduce_sum(tf.square(x)), [v])
        for v, x in (
            (dense, tf.matmul(tf.one_hot([0, 2, 0], 3), dense)),
            (sparse, tf.gather(sparse, [0, 2, 0])),
        )
    ]
    session.run([dense.initializer, sparse.initializer])
    keras.backend.get_session()
    session.run(steps)
    found = session.run([dense, sparse])
    np.testing.assert_allclose(found[1][[0, 2]], found[0][[0, 2]], rtol=1e-5)
    assert (found[1][0] != 1).all()


def test_adagrad_by_its_name_begins_its_sums_at_zero() -> None:
    """As in TensorFlow 1, where a configuration without the number is one of the first Keras."""
    assert keras.optimizers.Adagrad().get_config()["initial_accumulator_value"] == 0.1
    named = keras.optimizers.get("adagrad")
    assert named.get_config()["initial_accumulator_value"] == 0.0
    # The first step of a gradient of 2 is then the whole rate.
    v = tf.Variable([2.0], use_resource=True)
    named.learning_rate = 0.5
    step = named.minimize(2.0 * v, [v])
    session = tf.get_default_session()
    session.run(v.initializer)
    keras.backend.get_session()
    session.run(step)
    assert session.run(v) == pytest.approx([1.5])
    again = keras.optimizers.Adagrad.from_config(keras.optimizers.Adagrad(0.1).get_config())
    assert again.get_config()["initial_accumulator_value"] == 0.1


def test_the_configuration_of_nadam_says_decay() -> None:
    config = keras.optimizers.Nadam(schedule_decay=0.01).get_config()
    assert config["decay"] == 0.01
    assert "schedule_decay" not in config
    assert keras.optimizers.Nadam.from_config(config).get_config()["decay"] == 0.01
    assert keras.optimizers.Nadam().get_config()["decay"] == 0.004


def test_variables_of_metrics_do_not_say_whose_they_are() -> None:
    names = [v.name for m in (keras.metrics.Mean(), keras.metrics.Precision()) for v in m.weights]
    assert names == ["total:0", "count:0", "true_positives:0", "false_positives:0"]
    assert [v.name for v in keras.metrics.Accuracy().weights] == ["total_1:0", "count_1:0"]


def test_a_learning_rate_is_a_variable_that_can_be_set() -> None:
    optimizer = keras.optimizers.SGD(0.5)
    assert float(keras.backend.get_value(optimizer.lr)) == 0.5
    keras.backend.set_value(optimizer.lr, 0.25)
    assert optimizer.get_config()["learning_rate"] == 0.25


def value_of(metric: Any, *batches: Any) -> Any:
    session = tf.get_default_session()
    placeholders = [tf.placeholder(tf.float32, np.shape(part)) for part in batches[0]]
    update = metric.update_state(*placeholders)
    keras.backend.get_session()
    for batch in batches:
        session.run(update, dict(zip(placeholders, batch, strict=True)))
    return session.run(metric.result())


def test_metrics_go_over_batches() -> None:
    y, p = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.2, 0.9, 0.3, 0.6])
    halves = [(y[:2], p[:2]), (y[2:], p[2:])]
    assert value_of(keras.metrics.Precision(), *halves) == pytest.approx(1 / 2)
    assert value_of(keras.metrics.Recall(), *halves) == pytest.approx(1 / 2)
    assert value_of(keras.metrics.AUC(), *halves) == pytest.approx(0.75, abs=0.01)
    assert value_of(keras.metrics.MeanSquaredError(), *halves) == pytest.approx(np.mean((y - p) ** 2))
    assert value_of(keras.metrics.BinaryAccuracy(), *halves) == pytest.approx(0.5)
    assert value_of(keras.metrics.Mean(), (y,), (p,)) == pytest.approx(np.mean([*y, *p]))
    metric = keras.metrics.Sum()
    assert value_of(metric, (y,)) == 2
    metric.reset_states()
    assert tf.get_default_session().run(metric.result()) == 0


def test_losses_weigh_examples() -> None:
    y, p = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), np.array([[0.7, 0.3], [0.4, 0.6]], np.float32)
    session = tf.get_default_session()
    each = -np.log([0.7, 0.6])
    loss = keras.losses.CategoricalCrossentropy()
    assert session.run(loss(y, p)) == pytest.approx(each.mean())
    weighted = session.run(loss(y, p, sample_weight=tf.constant([1.0, 3.0])))
    assert weighted == pytest.approx((each * [1, 3]).sum() / 2)
    sparse = keras.losses.SparseCategoricalCrossentropy(reduction="sum")
    assert session.run(sparse(tf.constant([[0], [1]]), p)) == pytest.approx(each.sum())
    assert session.run(keras.losses.Huber()(tf.constant([[0.0, 3.0]]), tf.zeros([1, 2]))) == pytest.approx(
        (0 + 2.5) / 2
    )


def test_cosine_losses_have_no_minus() -> None:
    """As in TensorFlow 1.15, where each name is the cosine itself."""
    y, p = tf.constant([[0.0, 1.0], [1.0, 1.0]]), tf.constant([[1.0, 0.0], [1.0, 1.0]])
    losses = keras.losses
    each = [losses.cosine_similarity, losses.cosine_proximity, losses.get("cosine_proximity")]
    with tf.Session() as session:
        for loss in each:
            np.testing.assert_allclose(session.run(loss(y, p)), [0, 1], atol=1e-6)
        assert session.run(losses.CosineSimilarity()(y, p)) == pytest.approx(0.5)
