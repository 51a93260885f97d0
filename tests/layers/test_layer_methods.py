"""The methods that layers of `tf.layers` and cells share with Keras's; the values are TensorFlow 1.15's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_the_values_of_weights(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    layer = tf.layers.Dense(4, name="dd")
    assert layer.get_weights() == []
    y = layer(x)
    session.run(tf.global_variables_initializer())
    layer.set_weights([np.ones((3, 4)), np.zeros(4)])
    assert session.run(y, {x: [[1, 2, 3]]}).tolist() == [[6, 6, 6, 6]]
    kernel, bias = layer.get_weights()
    assert kernel.tolist() == np.ones((3, 4)).tolist()
    assert bias.tolist() == [0] * 4
    with pytest.raises(ValueError, match="length 1, but the layer was expecting 2 weights"):
        layer.set_weights([np.ones((3, 4))])
    with pytest.raises(ValueError, match=r"\(3, 4\) not compatible with provided weight shape \(3, 5\)"):
        layer.set_weights([np.ones((3, 5)), np.zeros(4)])


def test_the_values_of_a_cell(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.GRUCell(2)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 3, 2]), dtype=tf.float32)
    session.run(tf.global_variables_initializer())
    assert [value.shape for value in cell.get_weights()] == [(4, 4), (4,), (4, 2), (2,)]
    cell.set_weights([np.ones(value.shape) for value in cell.get_weights()])
    np.testing.assert_allclose(session.run(outputs)[0, 0], [0.04719133] * 2, rtol=1e-5)


def test_losses_and_updates_of_inputs() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    dense = tf.layers.Dense(4, kernel_regularizer=tf.reduce_sum, activity_regularizer=tf.reduce_sum)
    y = dense(x)
    normal = tf.layers.BatchNormalization()
    z = normal(y, training=True)
    [regularized] = dense.get_losses_for(None)
    [active] = dense.get_losses_for(x)
    assert regularized.op.name.endswith("kernel/Regularizer/Sum")
    assert active.op.name.endswith("ActivityRegularizer/truediv")
    assert dense.get_losses_for([y]) == [active]
    assert dense.get_losses_for(z) == []
    assert len(normal.updates) == 2
    assert normal.get_updates_for(x) == normal.get_updates_for([y]) == normal.updates
    assert normal.get_updates_for(None) == normal.get_updates_for(z) == []


def test_updates_that_no_input_leads_to() -> None:
    class Counting(tf.layers.Layer):
        def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            self.add_loss(tf.reduce_sum(inputs))
            self.add_loss(tf.reduce_mean(inputs), inputs=inputs)
            self.add_update(tf.no_op())
            self.add_update(tf.identity(inputs).op)
            return inputs + 1

    x = tf.placeholder(tf.float32, [3])
    layer = Counting()
    layer(x)
    assert [loss.op.type for loss in layer.get_losses_for(None)] == ["Sum"]
    assert [loss.op.type for loss in layer.get_losses_for(x)] == ["Mean"]
    assert [update.type for update in layer.get_updates_for(None)] == ["NoOp"]
    assert [update.type for update in layer.get_updates_for(x)] == ["Identity"]


class Scaled(tf.nn.rnn_cell.RNNCell):
    def __init__(self, factor: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = factor

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor, **super().get_config()}


def test_configurations() -> None:
    config = {"name": "q", "trainable": False, "dtype": "float64"}
    assert tf.layers.Layer.from_config(config).get_config() == config
    made = Scaled.from_config(Scaled(2.0, name="s").get_config())
    assert made.get_config() == {"factor": 2.0, "name": "s", "trainable": True, "dtype": None}


def test_a_class_with_arguments_has_to_give_them() -> None:
    class Sized(tf.layers.Layer):
        def __init__(self, size: int, **kwargs: Any) -> None:
            super().__init__(**kwargs)

    class Wide(tf.layers.Dense):
        def get_config(self) -> dict[str, Any]:
            return super().get_config()

    for layer in (Sized(3), Wide(3)):
        with pytest.raises(NotImplementedError, match="must override `get_config`"):
            layer.get_config()


def test_assigning_is_declared_for_all_variables(session: tf.Session) -> None:
    for name in ("assign", "assign_add", "assign_sub"):
        with pytest.raises(NotImplementedError):
            getattr(tf.Variable, name)(tf.Variable(1.0), 2.0)
    variable = tf.Variable(1.0)
    session.run(variable.initializer)
    assert session.run(variable.assign_add(2.0)) == 3
