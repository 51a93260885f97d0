"""The layers and models that configurations may name."""

from __future__ import annotations

import inspect

from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.engine.input_layer import InputLayer
from tensorfleet.keras.engine.op_layer import TensorFlowOpLayer
from tensorfleet.keras.engine.sequential import Sequential
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.layer_registry import KNOWN
from tensorfleet.keras.layers import (
    activation_layers,
    attention,
    convolutional,
    convolutional_recurrent,
    core,
    embeddings,
    local,
    merge,
    noise,
    normalization,
    pooling,
    recurrent,
    recurrent_cells,
    resizing,
    separable,
    wrappers,
)

KNOWN.update(
    (name, cls)
    for module in (
        *(activation_layers, attention, convolutional, convolutional_recurrent, core, embeddings, local),
        *(merge, noise, normalization, pooling),
        *(recurrent, recurrent_cells, resizing, separable, wrappers),
    )
    for name, cls in vars(module).items()
    if inspect.isclass(cls) and issubclass(cls, Layer) and not name.startswith("_")
)
KNOWN |= {
    "InputLayer": InputLayer,
    "Model": Model,
    "Sequential": Sequential,
    "TensorFlowOpLayer": TensorFlowOpLayer,
    "BatchNormalizationV1": normalization.BatchNormalization,
    "Convolution1D": convolutional.Conv1D,
    "Convolution2D": convolutional.Conv2D,
    "Convolution3D": convolutional.Conv3D,
}
