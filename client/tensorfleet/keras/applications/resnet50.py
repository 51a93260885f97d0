"""`tf.keras.applications.resnet50`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    preprocess_input as preprocess_input,
)
from tensorfleet.keras.networks.residual import (
    ResNet50 as ResNet50,
)

__all__ = ["ResNet50", "decode_predictions", "preprocess_input"]
