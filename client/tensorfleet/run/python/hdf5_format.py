"""`tensorflow.python.keras.saving.hdf5_format`: parts of the HDF5 files of Keras."""

from __future__ import annotations

from tensorfleet.keras.engine.hdf5 import optimizer_weights as load_optimizer_weights_from_hdf5_group

__all__ = ["load_optimizer_weights_from_hdf5_group"]
