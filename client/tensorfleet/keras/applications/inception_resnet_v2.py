"""`tf.keras.applications.inception_resnet_v2`."""

from tensorfleet.keras.networks.imagenet import (
    decode_predictions as decode_predictions,
    scaled as preprocess_input,
)
from tensorfleet.keras.networks.inception import (
    InceptionResNetV2 as InceptionResNetV2,
)

__all__ = ["InceptionResNetV2", "decode_predictions", "preprocess_input"]
