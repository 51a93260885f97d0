"""`tf.keras.applications.mobilenet`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    scaled as preprocess_input,
)
from tensorfleet.keras.networks.mobile import (
    MobileNet as MobileNet,
)

__all__ = ["MobileNet", "decode_predictions", "preprocess_input"]
