"""`tf.keras.applications.resnet`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    preprocess_input as preprocess_input,
)
from tensorfleet.keras.networks.residual import (
    ResNet50 as ResNet50,
    ResNet101 as ResNet101,
    ResNet152 as ResNet152,
)

__all__ = ["ResNet101", "ResNet152", "ResNet50", "decode_predictions", "preprocess_input"]
