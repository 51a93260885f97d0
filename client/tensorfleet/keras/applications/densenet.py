"""`tf.keras.applications.densenet`."""

from tensorfleet.keras.networks.dense import (
    DenseNet121 as DenseNet121,
    DenseNet169 as DenseNet169,
    DenseNet201 as DenseNet201,
)
from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    standardized as preprocess_input,
)

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "decode_predictions", "preprocess_input"]
