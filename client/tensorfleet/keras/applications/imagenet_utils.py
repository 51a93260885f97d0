"""`tf.keras.applications.imagenet_utils`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    preprocess_input as preprocess_input,
)

__all__ = ["decode_predictions", "preprocess_input"]
