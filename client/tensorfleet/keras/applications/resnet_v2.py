"""`tf.keras.applications.resnet_v2`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    scaled as preprocess_input,
)
from tensorfleet.keras.networks.residual import (
    ResNet50V2 as ResNet50V2,
    ResNet101V2 as ResNet101V2,
    ResNet152V2 as ResNet152V2,
)

__all__ = ["ResNet101V2", "ResNet152V2", "ResNet50V2", "decode_predictions", "preprocess_input"]
