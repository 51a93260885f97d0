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


def by_places(x: Any, kernel: Any, rank: int, window: Any, step: Any, padding: str) -> Any:
    """The formula of implementation 2 with channels last: each output by the inputs under its window."""
    out = kernel.shape[rank + 1 : -1]
    found = np.zeros((len(x), *out, kernel.shape[-1]), np.float32)
    for place in np.ndindex(*out):
        begin = [
            p * s - (w // 2 if padding == "same" else 0) for p, s, w in zip(place, step, window, strict=True)
        ]
        at = tuple(slice(max(b, 0), b + w) for b, w in zip(begin, window, strict=True))
        weights = kernel[(*at, slice(None), *place)]
        found[(slice(None), *place)] = np.tensordot(x[(slice(None), *at)], weights, rank + 1)
    return found


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("rank", [1, 2])
def test_locally_connected_by_a_matrix_and_by_a_sparse_one(rank: int, first: bool, padding: str) -> None:
    window, step = (3, 2)[:rank], (2, 1)[:rank]
    x = waves(2, *(6, 5)[:rank], 3)
    given = np.moveaxis(x, -1, 1) if first else x
    kind = layers.LocallyConnected1D if rank == 1 else layers.LocallyConnected2D
    options: dict[str, Any] = {
        "padding": padding,
        "data_format": "channels_first" if first else "channels_last",
        "use_bias": False,
    }
    matrix = kind(2, window, step, implementation=2, **options)
    found, [kernel] = run(matrix, given)
    if first:  # its kernel has the channels first on both sides
        kernel = np.moveaxis(kernel, (0, rank + 1), (rank, 2 * rank + 1))
    expected = by_places(x, kernel, rank, window, step, padding)
    shown = np.moveaxis(found, 1, -1) if first else found
    np.testing.assert_allclose(shown, expected, rtol=1e-4, atol=1e-5)
    assert matrix.compute_output_shape(given.shape).as_list() == list(found.shape)
    # The sparse matrix has the same elements, those that are not zero, by output and input.
    sparse = kind(2, window, step, implementation=3, **options)
    sparse(tf.constant(given))
    assert sparse.kernel.shape.as_list() == [len(sparse._weights_at)]
    whole = matrix.get_weights()[0].reshape(given[0].size, found[0].size).T
    rows, columns = sparse._weights_at.T
    sparse.set_weights([whole[rows, columns]])
    with_zeros = np.zeros_like(whole)
    with_zeros[rows, columns] = 1
    again = tf.keras.backend.get_session().run(sparse(tf.constant(given)))
    np.testing.assert_allclose(again, found, rtol=1e-4, atol=1e-5)
    masked = given.reshape(2, -1) @ (whole * with_zeros).T
    np.testing.assert_allclose(masked.reshape(found.shape), found, rtol=1e-4, atol=1e-5)


def columns_of_people() -> list[Any]:
    column = tf.feature_column
    city = column.categorical_column_with_vocabulary_list("city", ["a", "b", "c"])
    age = column.numeric_column("age")
    return [column.embedding_column(city, 2), age, column.bucketized_column(age, [30.0])]


PEOPLE = {"age": np.array([[20.0], [40.0], [50.0]], "f"), "city": np.array([["a"], ["b"], ["z"]])}


def test_columns_as_a_layer() -> None:
    layer = layers.DenseFeatures(columns_of_people())
    parts: dict[Any, Any] = {}
    out = layer({key: tf.constant(value) for key, value in PEOPLE.items()}, cols_to_output_tensors=parts)
    again = layer({"age": tf.constant([[1.0]]), "city": tf.constant([["b"]])})
    assert [v.name for v in layer.weights] == ["dense_features/city_embedding/embedding_weights:0"]
    assert out.shape.as_list() == [3, 5]
    assert len(parts) == 3
    found, other = tf.keras.backend.get_session().run([out, again])
    [table] = layer.get_weights()
    expected = [[20, 1, 0, *table[0]], [40, 0, 1, *table[1]], [50, 0, 1, 0, 0]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(other, [[1, 1, 0, *table[1]]], rtol=1e-6)
    with pytest.raises(ValueError, match="DenseColumn"):
        layers.DenseFeatures([tf.feature_column.categorical_column_with_identity("a", 3)])
    with pytest.raises(ValueError, match="dictionary"):
        layer(tf.constant([[1.0]]))


@pytest.mark.parametrize("functional", [False, True])
def test_models_of_columns_learn(functional: bool) -> None:
    y = np.array([[1.0], [2.0], [3.0]], "f")
    first = layers.DenseFeatures(columns_of_people())
    if functional:
        inputs = {
            "age": tf.keras.Input((1,), name="age"),
            "city": tf.keras.Input((1,), name="city", dtype=tf.string),
        }
        model = tf.keras.Model(inputs, layers.Dense(1)(first(inputs)))
    else:
        model = tf.keras.Sequential([first, layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(0.02), "mse")
    before = model.evaluate(PEOPLE, y, verbose=0)
    model.fit(PEOPLE, y, epochs=30, verbose=0)
    data = tf.data.Dataset.from_tensor_slices((PEOPLE, y)).batch(3).repeat()
    model.fit(data, epochs=2, steps_per_epoch=60, verbose=0)
    assert model.evaluate(PEOPLE, y, verbose=0) < 0.2 * before
    assert model.predict(PEOPLE).shape == (3, 1)
    assert len(model.trainable_weights) == 3
