"""`tf.keras.applications.nasnet`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    scaled as preprocess_input,
)
from tensorfleet.keras.networks.nas import (
    NASNetLarge as NASNetLarge,
    NASNetMobile as NASNetMobile,
)

__all__ = ["NASNetLarge", "NASNetMobile", "decode_predictions", "preprocess_input"]
