"""`tf.keras.applications.vgg19`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    preprocess_input as preprocess_input,
)
from tensorfleet.keras.networks.vgg import (
    VGG19 as VGG19,
)

__all__ = ["VGG19", "decode_predictions", "preprocess_input"]
