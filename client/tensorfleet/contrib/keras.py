"""`tf.contrib.keras`: the older place of `tf.keras`."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from tensorfleet.keras import (
        activations as activations,
        backend as backend,
        callbacks as callbacks,
        constraints as constraints,
        datasets as datasets,
        initializers as initializers,
        layers as layers,
        losses as losses,
        metrics as metrics,
        models as models,
        optimizers as optimizers,
        preprocessing as preprocessing,
        regularizers as regularizers,
        utils as utils,
    )
else:
    from importlib import import_module as _import_module

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _import_module(f"tensorfleet.keras.{name}")

    def __dir__():
        return __all__


__all__ = [
    "activations",
    "backend",
    "callbacks",
    "constraints",
    "datasets",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "optimizers",
    "preprocessing",
    "regularizers",
    "utils",
]
