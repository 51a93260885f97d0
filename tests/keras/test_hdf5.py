"""Models and weights in HDF5 files, in the layout of Keras 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

h5py = pytest.importorskip("h5py")
keras = tf.keras


def _model(units: int = 3) -> Any:
    model = keras.Sequential(
        [
            keras.layers.Dense(units, activation="relu", input_shape=(4,), name="hidden"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Dense(1, name="out"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.1), "mse")
    return model


def _texts(values: Any) -> list[str]:
    return [v.decode() if isinstance(v, bytes) else v for v in values]  # by the version of h5py


X = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)


def test_weights_go_into_a_file_and_back(tmp_path: Path) -> None:
    path = str(tmp_path / "weights.h5")
    model = _model()
    model.fit(X, Y, epochs=2, verbose=0)
    model.save_weights(path)
    other = _model()
    other.load_weights(path)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with h5py.File(path) as file:
        assert _texts(file.attrs["layer_names"]) == ["hidden", "norm", "out"]
        names = _texts(file["hidden"].attrs["weight_names"])
        assert [name.rpartition("/")[2] for name in names] == ["kernel:0", "bias:0"]
        np.testing.assert_array_equal(file["hidden"][names[0]], model.get_weights()[0])


def test_layers_by_name(tmp_path: Path) -> None:
    path = str(tmp_path / "weights.h5")
    model = _model()
    model.save_weights(path)
    other = keras.Sequential(
        [keras.layers.Dense(3, input_shape=(4,), name="hidden"), keras.layers.Dense(5, name="new")]
    )
    other.load_weights(path, by_name=True)
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])


def test_a_model_goes_on_training_as_it_would_have(tmp_path: Path) -> None:
    path = str(tmp_path / "model.h5")
    model = _model()
    model.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    model.save(path)
    other = keras.models.load_model(path)
    assert [layer.name for layer in other.layers] == ["hidden", "norm", "out"]
    histories = [m.fit(X, Y, epochs=3, verbose=0, shuffle=False).history["loss"] for m in (model, other)]
    np.testing.assert_allclose(histories[1], histories[0], 1e-5)


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    path = str(tmp_path / "weights.h5")
    _model().save_weights(path)
    with pytest.raises(ValueError, match="has shape"):
        _model(units=5).load_weights(path)
    with pytest.raises(ValueError, match="perhaps weights alone"):
        keras.models.load_model(path)
