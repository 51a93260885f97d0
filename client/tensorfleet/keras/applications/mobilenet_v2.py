"""`tf.keras.applications.mobilenet_v2`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    scaled as preprocess_input,
)
from tensorfleet.keras.networks.mobile import (
    MobileNetV2 as MobileNetV2,
)

__all__ = ["MobileNetV2", "decode_predictions", "preprocess_input"]
