"""The part of a model that is saved and shown: configurations, weights, a summary."""

from __future__ import annotations

import json
from typing import Any

from tensorfleet.keras.engine import hdf5, weight_files
from tensorfleet.keras.engine.model_config import config_of, graph_from
from tensorfleet.keras.engine.model_writing import save_model
from tensorfleet.keras.engine.network import Network
from tensorfleet.keras.layer_registry import deserialize
from tensorfleet.keras.serialization import plain
from tensorfleet.keras.summaries import print_summary


class SavingModel(Network):
    """A model that has a configuration and can write its weights."""

    _pending_weights: str | None = None  # a checkpoint to read when the model has made its variables

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super().__call__(*args, **kwargs)
        if self._pending_weights is not None:
            path, self._pending_weights = self._pending_weights, None
            weight_files.load(self, path)
        return outputs

    def summary(self, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
        """Prints the layers, the shapes of their outputs and the numbers of their parameters.

        Raises:
            ValueError: the model has not been built yet.
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` "
                "or calling `fit()` "
                "with some data, or specify an `input_shape` argument in the first layer(s) for "
                "automatic build."
            )
        print_summary(self, line_length=line_length, positions=positions, print_fn=print_fn)

    def get_config(self) -> dict[str, Any]:
        """The layers and the calls that connect them.

        Raises:
            NotImplementedError: a class of one's own that does not override this.
        """
        if self._graph_of_layers is None:
            raise NotImplementedError(
                f"{type(self).__name__} is no graph of layers: it has no configuration unless it "
                f"overrides get_config. "
                "Save its weights by save_weights."
            )
        return config_of(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The model of `get_config`, with new weights."""

        def make(entry: dict[str, Any]) -> Any:
            return deserialize({k: entry[k] for k in ("class_name", "config")}, custom_objects=custom_objects)

        inputs, outputs, name = graph_from(config, make)
        return cls(inputs=inputs, outputs=outputs, name=name)

    def _updated_config(self) -> dict[str, Any]:
        return {
            "class_name": type(self).__name__,
            "config": self.get_config(),
            "keras_version": "2.2.4-tf",
            "backend": "tensorflow",
        }

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as JSON, without weights."""
        return json.dumps(plain(self._updated_config()), **kwargs)

    def save_weights(self, filepath: str, overwrite: bool = True, save_format: str | None = None) -> None:
        """Writes the weights: a checkpoint, or an HDF5 file (by its ending .h5 or .keras, with h5py).

        Args:
            overwrite: whether a file that is there is replaced without asking.
            save_format: "tf" or "h5" in place of what the ending says.
        """
        self._check_built()
        if hdf5.is_hdf5_path(filepath) if save_format is None else save_format in ("h5", "hdf5", "keras"):
            hdf5.save_weights(self, filepath, overwrite)
        else:
            weight_files.save(self, filepath, overwrite)

    def save(
        self,
        filepath: str,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
    ) -> None:
        """Writes the model: see `tf.keras.models.save_model`."""
        save_model(self, filepath, overwrite, include_optimizer, save_format, signatures)

    def load_weights(self, filepath: str, by_name: bool = False) -> Any:
        """Reads weights that `save_weights` wrote, into a model of the same layers.

        Those of a checkpoint are read when a model that has no variables yet is first called or trained.

        Args:
            by_name: of an HDF5 file, to take those of layers with equal names alone.
        """
        if hdf5.is_hdf5_file(filepath):
            self._check_built()
            hdf5.load_weights(self, filepath, by_name)
            return None
        if by_name:
            raise NotImplementedError(
                "Weights may only be loaded based on topology into Models from checkpoints."
            )
        status = weight_files.load(self, filepath)
        if not self.built:
            self._pending_weights = filepath
        return status
