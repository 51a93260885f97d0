"""Layers of attention, and recurrent layers over images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

keras = tf.keras
RNG = np.random.default_rng(3)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["Attention", "AdditiveAttention"])
def test_attention(kind: str, causal: bool) -> None:
    query, value, key = (RNG.normal(size=size).astype("f") for size in ((2, 3, 4), (2, 5, 4), (2, 5, 4)))
    inputs = [keras.Input(x.shape[1:]) for x in (query, value, key)]
    layer = getattr(keras.layers, kind)(use_scale=True, causal=causal)
    model = keras.Model(inputs, layer(inputs))
    assert model.output_shape == (None, 3, 4)
    scale = RNG.normal(size=layer.get_weights()[0].shape)
    layer.set_weights([scale])
    if kind == "Attention":
        scores = query @ key.transpose(0, 2, 1) * scale
    else:
        scores = (np.tanh(query[:, :, None] + key[:, None]) * scale).sum(-1)
    if causal:
        scores = np.where(np.arange(3)[:, None] >= np.arange(5), scores, -1e9)
    np.testing.assert_allclose(model.predict([query, value, key]), _softmax(scores) @ value, rtol=1e-4)
    again = type(layer).from_config(layer.get_config())
    assert (again.causal, again.use_scale) == (causal, True)


def test_masks_of_queries_and_values() -> None:
    words = keras.Input([4], dtype="int32")
    embedded = keras.layers.Embedding(5, 3, mask_zero=True)(words)
    model = keras.Model(words, keras.layers.Attention()([embedded, embedded]))
    x = np.array([[1, 2, 0, 0], [3, 4, 1, 0]])
    table = model.get_weights()[0][x]
    scores = np.where((x > 0)[:, None, :], table @ table.transpose(0, 2, 1), -1e9)
    np.testing.assert_allclose(model.predict(x), _softmax(scores) @ table * (x > 0)[:, :, None], rtol=1e-5)


def test_a_convolution_of_one_pixel_is_a_product() -> None:
    """ConvLSTM2D on images of one pixel computes what LSTM does."""
    x = RNG.normal(size=(2, 5, 3)).astype("f")
    lstm = keras.layers.LSTM(4, return_sequences=True, return_state=True)
    convolved = keras.layers.ConvLSTM2D(4, 1, return_sequences=True, return_state=True)
    plain_in, image_in = keras.Input([5, 3]), keras.Input([5, 1, 1, 3])
    plain, images = keras.Model(plain_in, lstm(plain_in)), keras.Model(image_in, convolved(image_in))
    assert images.output_shape == [(None, 5, 1, 1, 4), (None, 1, 1, 4), (None, 1, 1, 4)]
    convolved.set_weights([w if w.ndim == 1 else w[None, None] for w in lstm.get_weights()])
    for found, expected in zip(images.predict(x[:, :, None, None]), plain.predict(x), strict=True):
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"padding": "same", "strides": 2}, {"dropout": 0.3, "stateful": True}]
)
def test_conv_lstm_trains(options: dict[str, Any]) -> None:
    x = RNG.normal(size=(4, 3, 6, 5, 2)).astype("f")
    layer = keras.layers.ConvLSTM2D(3, (3, 2), batch_input_shape=(4, 3, 6, 5, 2), **options)
    model = keras.Sequential([layer, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    y = 1 + x.mean((1, 2, 3, 4))[:, None]
    assert layer.output_shape == ((4, 3, 3, 3) if "strides" in options else (4, 4, 4, 3))
    assert [w.name for w in layer.weights] == [
        f"conv_lst_m2d/{name}:0" for name in ("kernel", "recurrent_kernel", "bias")
    ]
    first = model.train_on_batch(x, y)
    for _ in range(10):
        last = model.train_on_batch(x, y)
    assert last < first
    again = keras.layers.ConvLSTM2D.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
