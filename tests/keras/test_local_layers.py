"""Layers with a kernel for each place, layers of feature columns, and registered classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.keras.test_layers import run, waves

layers = tf.keras.layers


def test_locally_connected_1d_has_a_kernel_for_each_place() -> None:
    x = waves(2, 7, 3)
    found, (kernel, bias) = run(layers.LocallyConnected1D(4, 3, strides=2), x)
    assert kernel.shape == (3, 9, 4)
    assert bias.shape == (3, 4)
    expected = [x[:, 2 * i : 2 * i + 3].reshape(2, 9) @ kernel[i] for i in range(3)]
    np.testing.assert_allclose(found, np.stack(expected, 1) + bias, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_locally_connected_2d(data_format: str) -> None:
    x = waves(2, 5, 4, 3)
    layer = layers.LocallyConnected2D(2, (2, 3), strides=(2, 1), data_format=data_format, activation="relu")
    first = data_format == "channels_first"
    found, (kernel, bias) = run(layer, x.transpose(0, 3, 1, 2) if first else x)
    assert kernel.shape == (4, 18, 2)
    assert bias.shape == (2, 2, 2)
    # As in TensorFlow, the bias of images with channels first is reshaped, not transposed.
    shown_bias = bias.reshape(2, 2, 2).transpose(1, 2, 0) if first else bias
    expected = np.empty((2, 2, 2, 2), np.float32)
    for row in range(2):
        for column in range(2):
            window = x[:, 2 * row : 2 * row + 2, column : column + 3]
            flat = (window.transpose(0, 3, 1, 2) if first else window).reshape(2, 18)
            expected[:, row, column] = np.maximum(
                flat @ kernel[2 * row + column] + shown_bias[row, column], 0
            )
    shown = found.transpose(0, 2, 3, 1) if first else found
    np.testing.assert_allclose(shown, expected, rtol=1e-5, atol=1e-6)
    assert layer.compute_output_shape([None, 3, 5, 4] if first else [None, 5, 4, 3]).as_list()[1:] == [
        2,
        2,
        2,
    ]
    again = layers.deserialize(layers.serialize(layer))
    assert again.get_config() == layer.get_config()


def test_locally_connected_layers_say_what_they_need() -> None:
    with pytest.raises(ValueError, match='only "valid" is supported'):
        layers.LocallyConnected1D(2, 3, padding="same")
    with pytest.raises(ValueError, match="should be fully defined"):
        layers.LocallyConnected1D(2, 3)(tf.placeholder(tf.float32, [None, None, 3]))


def test_a_model_with_a_locally_connected_layer_learns() -> None:
    model = tf.keras.Sequential(
        [layers.LocallyConnected2D(2, 3, input_shape=(6, 6, 1)), layers.Flatten(), layers.Dense(1)]
    )
    model.compile(tf.keras.optimizers.Adam(0.05), "mse")
    x = waves(16, 6, 6, 1)
    y = 1.0 + x.mean((1, 2))
    losses = model.fit(x, y, epochs=15, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]


def test_registered_classes_and_functions_are_found_by_their_names() -> None:
    before = dict(tf.keras.utils.get_custom_objects())
    try:

        @tf.keras.utils.register_keras_serializable(package="own")
        class Twice(layers.Layer):
            def call(self, inputs: Any) -> Any:
                return 2.0 * inputs

        @tf.keras.utils.register_keras_serializable("own", "halved")
        def half(x: Any) -> Any:
            return x / 2.0

        model = tf.keras.Sequential([layers.Dense(2, activation=half, input_shape=(2,)), Twice()])
        names = [layer["class_name"] for layer in model.get_config()["layers"]]
        assert names[-1] == "own>Twice"
        assert model.get_config()["layers"][-2]["config"]["activation"] == "own>halved"
        again = tf.keras.Sequential.from_config(model.get_config())
        assert type(again.layers[-1]) is Twice
        assert again.layers[0].activation is half
        assert tf.keras.utils.get_registered_name(Twice) == "own>Twice"
        assert tf.keras.utils.get_registered_object("own>halved") is half
        assert tf.keras.utils.get_registered_object("own>absent") is None
        with pytest.raises(ValueError, match="already been registered"):
            tf.keras.utils.register_keras_serializable("own", "halved")(half)
        with pytest.raises(ValueError, match="get_config"):
            tf.keras.utils.register_keras_serializable()(type("Plain", (), {}))
    finally:
        tf.keras.utils.get_custom_objects().clear()
        tf.keras.utils.get_custom_objects().update(before)
