"""`tf.keras.applications.xception`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    scaled as preprocess_input,
)
from tensorfleet.keras.networks.inception import (
    Xception as Xception,
)

__all__ = ["Xception", "decode_predictions", "preprocess_input"]
