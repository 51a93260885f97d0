"""`tf.keras.preprocessing.image`: images as arrays, changed at random, in batches."""

import typing as _typing

from tensorfleet.keras.image_arrays import (
    apply_affine_transform as apply_affine_transform,
    apply_brightness_shift as apply_brightness_shift,
    apply_channel_shift as apply_channel_shift,
    array_to_img as array_to_img,
    img_to_array as img_to_array,
    load_img as load_img,
    random_brightness as random_brightness,
    random_channel_shift as random_channel_shift,
    random_rotation as random_rotation,
    random_shear as random_shear,
    random_shift as random_shift,
    random_zoom as random_zoom,
    save_img as save_img,
)
from tensorfleet.keras.image_batches import (
    DirectoryIterator as DirectoryIterator,
    Iterator as Iterator,
    NumpyArrayIterator as NumpyArrayIterator,
)
from tensorfleet.keras.image_generator import (
    ImageDataGenerator as ImageDataGenerator,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
