"""`tf.keras.applications.vgg16`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    preprocess_input as preprocess_input,
)
from tensorfleet.keras.networks.vgg import (
    VGG16 as VGG16,
)

__all__ = ["VGG16", "decode_predictions", "preprocess_input"]
