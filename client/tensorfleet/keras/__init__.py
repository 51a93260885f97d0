"""`tf.keras`: layers, models and what trains them, as in TensorFlow 1.15, on graphs and sessions."""

import typing as _typing

from tensorfleet.keras import layer_names as _layer_names  # noqa: F401 - configurations name its classes
from tensorfleet.keras.engine.input_layer import (
    Input as Input,
)
from tensorfleet.keras.engine.sequential import (
    Sequential as Sequential,
)
from tensorfleet.keras.engine.training import (
    Model as Model,
)

if _typing.TYPE_CHECKING:
    from tensorfleet.keras import (
        activations as activations,
        applications as applications,
        backend as backend,
        callbacks as callbacks,
        constraints as constraints,
        datasets as datasets,
        estimator as estimator,
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
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "activations",
            "applications",
            "backend",
            "callbacks",
            "constraints",
            "datasets",
            "estimator",
            "initializers",
            "layers",
            "losses",
            "metrics",
            "models",
            "optimizers",
            "preprocessing",
            "regularizers",
            "utils",
        ),
    )
