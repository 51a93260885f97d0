"""Layers of tf.keras compute what NumPy does, with weights that are set."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

layers = tf.keras.layers


def waves(*shape: int) -> Any:
    return np.cos(np.arange(np.prod(shape)) * 0.37).reshape(shape).astype(np.float32)


def run(layer: Any, x: Any, training: bool | None = None) -> Any:
    """The outputs of a layer whose weights are waves, and the weights."""
    tensor = tf.constant(x)
    outputs = layer(tensor) if training is None else layer(tensor, training=training)
    weights = [0.3 * waves(*w.shape.as_list()) for w in layer.weights]
    layer.set_weights(weights)
    return tf.keras.backend.get_session().run(outputs), weights


def sigmoid(x: Any) -> Any:
    return np.clip(0.2 * x + 0.5, 0, 1)


def test_dense_takes_the_last_dimension() -> None:
    x = waves(2, 3, 4)
    found, (kernel, bias) = run(layers.Dense(5, activation="relu"), x)
    np.testing.assert_allclose(found, np.maximum(x @ kernel + bias, 0), rtol=1e-5, atol=1e-6)


def test_lstm_is_a_row_of_steps() -> None:
    x = waves(2, 4, 3)
    layer = layers.LSTM(3, return_sequences=True, return_state=True)
    (outputs, h, c), (kernel, recurrent, bias) = run(layer, x)
    state, memory = np.zeros((2, 3)), np.zeros((2, 3))
    for step in range(4):
        i, f, g, o = np.split(x[:, step] @ kernel + state @ recurrent + bias, 4, axis=1)
        memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(memory)
        np.testing.assert_allclose(outputs[:, step], state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h, state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(c, memory, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("unroll", [False, True])
def test_gru_keeps_its_state_where_the_mask_is_false(unroll: bool) -> None:
    x = waves(2, 4, 3)
    x[0, 2:] = 0
    masked = layers.Masking()(tf.constant(x))
    layer = layers.GRU(2, unroll=unroll)
    outputs = layer(masked)
    kernel, recurrent, bias = weights = [0.3 * waves(*w.shape.as_list()) for w in layer.weights]
    layer.set_weights(weights)
    state = np.zeros((2, 2))
    for step in range(4):
        z, r, h = np.split(x[:, step] @ kernel + bias, 3, axis=1)
        u_z, u_r, u_h = np.split(recurrent, 3, axis=1)
        z, r = sigmoid(z + state @ u_z), sigmoid(r + state @ u_r)
        new = z * state + (1 - z) * np.tanh(h + (r * state) @ u_h)
        state = np.where([[step < 2], [True]], new, state)
    np.testing.assert_allclose(tf.keras.backend.get_session().run(outputs), state, rtol=1e-5, atol=1e-6)


def test_both_directions_are_joined_in_order() -> None:
    x = waves(2, 3, 2)
    layer = layers.Bidirectional(layers.SimpleRNN(2, return_sequences=True))
    found, weights = run(layer, x)

    def rnn(x: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        states = [np.zeros((2, 2))]
        for step in range(3):
            states.append(np.tanh(x[:, step] @ kernel + states[-1] @ recurrent + bias))
        return np.stack(states[1:], 1)

    there, back = rnn(x, *weights[:3]), rnn(x[:, ::-1], *weights[3:])[:, ::-1]
    np.testing.assert_allclose(found, np.concatenate([there, back], -1), rtol=1e-5, atol=1e-6)


def test_batch_normalization_moves_its_averages_by_its_updates() -> None:
    x = waves(8, 3) * 2 + 1
    layer = layers.BatchNormalization(momentum=0.9, epsilon=0.0)
    outputs = layer(tf.constant(x), training=True)
    session = tf.keras.backend.get_session()
    found, _ = session.run([outputs, layer.updates])
    np.testing.assert_allclose(found, (x - x.mean(0)) / x.std(0), rtol=1e-4, atol=1e-5)
    mean, variance = layer.get_weights()[2:]
    np.testing.assert_allclose(mean, 0.1 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(variance, 0.9 + 0.1 * x.var(0), rtol=1e-5)


def test_dropout_follows_the_learning_phase() -> None:
    ones = tf.ones([1000])
    outputs = layers.Dropout(0.5, seed=1)(ones)
    session = tf.keras.backend.get_session()
    assert (session.run(outputs) == 1).all()
    found = session.run(outputs, {tf.keras.backend.learning_phase(): True})
    assert set(np.unique(found)) == {0.0, 2.0}


def test_a_transposed_convolution_is_the_gradient_of_a_convolution() -> None:
    x = waves(1, 3, 3, 1)
    layer = layers.Conv2DTranspose(1, 2, strides=2, use_bias=False)
    found, (kernel,) = run(layer, x)
    np.testing.assert_allclose(found[0, :, :, 0], np.kron(x[0, :, :, 0], kernel[:, :, 0, 0]), rtol=1e-5)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (layers.Conv1D(3, 2, padding="causal"), (2, 5, 4)),
        (layers.Conv2D(3, 3, strides=2, padding="same"), (2, 7, 6, 2)),
        (layers.SeparableConv2D(3, 2, depth_multiplier=2), (2, 5, 5, 2)),
        (layers.DepthwiseConv2D(2), (2, 5, 5, 3)),
        (layers.Conv2DTranspose(2, 3, strides=2, padding="same", output_padding=1), (2, 4, 4, 3)),
        (layers.MaxPooling1D(2), (2, 5, 3)),
        (layers.AveragePooling2D(2, padding="same"), (2, 5, 5, 3)),
        (layers.UpSampling2D((2, 3)), (2, 2, 2, 1)),
        (layers.ZeroPadding2D(((1, 0), (0, 2))), (1, 2, 2, 1)),
        (layers.Cropping1D((1, 1)), (1, 4, 2)),
        (layers.Reshape((2, -1)), (2, 6, 2)),
        (layers.Permute((2, 1)), (2, 3, 4)),
        (layers.RepeatVector(3), (2, 4)),
        (layers.TimeDistributed(layers.Dense(3)), (2, 4, 5)),
        (layers.LSTM(3, return_sequences=True), (2, 4, 5)),
        (layers.LayerNormalization(), (2, 3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shapes_are_those_that_a_layer_says_and_its_configuration_makes_it_again(
    layer: Any, shape: tuple[int, ...]
) -> None:
    made = type(layer).from_config(layer.get_config())
    said = list(made.compute_output_shape(tf.TensorShape(shape)))
    outputs = made(tf.constant(waves(*shape)))
    found = tf.keras.backend.get_session().run(outputs)
    assert list(found.shape) == [size.value if hasattr(size, "value") else size for size in said]
    again = type(layer).from_config(made.get_config())
    assert again.get_config() == made.get_config()


def test_a_layer_of_ones_own_has_weights_losses_and_layers_in_it() -> None:
    class Scaled(layers.Layer):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.inner = [layers.Dense(2, use_bias=False)]

        def build(self, input_shape: Any) -> None:
            self.scale = self.add_weight(
                "scale", (), initializer="ones", regularizer=tf.keras.regularizers.l2(0.5)
            )
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            outputs = self.inner[0](inputs) * self.scale
            self.add_loss(tf.reduce_sum(outputs), inputs=True)
            return outputs

    layer = Scaled()
    layer(tf.ones([1, 3]))
    assert [w.shape.as_list() for w in layer.trainable_weights] == [[], [3, 2]]
    assert len(layer.losses) == 2
    layer.trainable = False
    assert layer.trainable_weights == []
    assert len(layer.non_trainable_weights) == 2
    with pytest.raises(ValueError, match="weight list of length"):
        layer.set_weights([1.0])


def test_bilinear_upsampling_takes_the_centers_of_pixels() -> None:
    layer = layers.UpSampling2D((1, 2), interpolation="bilinear")
    outputs = layer(tf.constant([[[[0.0], [4.0]]]]))
    found = tf.keras.backend.get_session().run(outputs)
    np.testing.assert_allclose(found[0, 0, :, 0], [0, 1, 3, 4])


def doubled(x: Any, by: float = 2.0) -> Any:
    return x * by


def test_lambda_layers_are_made_again_in_the_process_and_written_by_name() -> None:
    keras = tf.keras
    inputs = keras.Input((3, 2))
    named = keras.layers.Lambda(doubled, arguments={"by": 3.0})(inputs)
    model = keras.Model(inputs, keras.layers.TimeDistributed(keras.layers.Lambda(lambda x: x + 1.0))(named))
    x = np.ones((1, 3, 2), np.float32)
    np.testing.assert_array_equal(keras.models.clone_model(model).predict(x), 3 * x + 1)
    with pytest.raises(NotImplementedError, match="function with a name"):
        model.to_json()
    text = keras.Model(inputs, named).to_json()
    again = keras.models.model_from_json(text, {"doubled": doubled})
    np.testing.assert_array_equal(again.predict(x), 3 * x)


class Recorder(layers.Layer):
    """A layer that notes the training argument of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def call(self, inputs: Any, training: Any = None) -> Any:
        self.seen.append(training)
        return inputs * 2.0


def test_a_layer_of_ones_own_decides_itself_where_nobody_says_whether_it_trains() -> None:
    class Outer(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Recorder()

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.inner(inputs)

    layer, outer, x = Recorder(), Outer(), tf.ones([2, 3])
    layer(x)
    layer(x, training=True)
    tf.keras.Sequential([layer, layers.Dropout(0.5)])(x)
    outer(x)
    outer(x, training=False)
    assert layer.seen == [None, True, None]
    assert outer.inner.seen == [None, False]


def test_a_subclassed_model_learns_in_fit_by_the_learning_phase() -> None:
    class Own(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.noted = layers.Dense(1), Recorder()

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.dense(self.noted(inputs))

    model = Own()
    model.compile("sgd", "mse")
    model.fit(np.ones([4, 2]), np.ones([4, 1]), verbose=0)
    assert model.noted.seen[0] is tf.keras.backend.learning_phase()


def test_a_layer_may_return_a_defaultdict() -> None:
    class Parts(layers.Layer):
        def call(self, inputs: Any) -> Any:
            parts = collections.defaultdict(list)
            parts["a"].append(inputs + 1.0)
            return parts

    parts = Parts()(tf.zeros([2]))
    assert parts.default_factory is list
    assert tf.keras.backend.get_session().run(parts["a"][0]).tolist() == [1.0, 1.0]
