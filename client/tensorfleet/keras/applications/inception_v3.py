"""`tf.keras.applications.inception_v3`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    scaled as preprocess_input,
)
from tensorfleet.keras.networks.inception import (
    InceptionV3 as InceptionV3,
)

__all__ = ["InceptionV3", "decode_predictions", "preprocess_input"]
