"""`tf.keras.preprocessing.image.ImageDataGenerator`: batches of images that are changed at random."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.keras.backend.state import floatx, image_data_format
from tensorfleet.keras.image_arrays import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
)
from tensorfleet.keras.image_batches import DirectoryIterator, NumpyArrayIterator


class ImageDataGenerator:
    """Changes images at random, and scales them.

    Args:
        featurewise_center, featurewise_std_normalization, zca_whitening: scale by what `fit` has found.
        samplewise_center, samplewise_std_normalization: scale each image by itself.
        rotation_range, shear_range: degrees.
        width_shift_range, height_shift_range: a fraction below 1, or pixels; or shifts to choose from.
        brightness_range: two factors.
        zoom_range: two factors, or how far they are from 1.
        fill_mode, cval: what is outside of an image that was moved; see `apply_affine_transform`.
        rescale: a factor, after all other changes.
        preprocessing_function: of one image, before it is scaled.
        validation_split: the fraction of examples of the subset "validation".

    Raises:
        ValueError: a range or format that makes no sense.
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: Any = 0.0,
        height_shift_range: Any = 0.0,
        brightness_range: Any = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        dtype: Any = None,
    ) -> None:
        self.featurewise_center = featurewise_center or featurewise_std_normalization or zca_whitening
        self.featurewise_std_normalization = featurewise_std_normalization and not zca_whitening
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.brightness_range, self.channel_shift_range = brightness_range, channel_shift_range
        self.fill_mode, self.cval = fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.dtype = dtype or floatx()
        self.data_format = data_format or image_data_format()
        if self.data_format not in ("channels_last", "channels_first"):
            raise ValueError(
                '`data_format` should be `"channels_last"` (channel after row and column) or '
                f'`"channels_first"` (channel before row and column). Received: {data_format}'
            )
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                f"`validation_split` must be strictly between 0 and 1. Received: {validation_split}"
            )
        self._validation_split = validation_split
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if np.ndim(zoom_range) == 0:
            self.zoom_range = [1 - zoom_range, 1 + zoom_range]
        elif len(zoom_range) == 2:
            self.zoom_range = [zoom_range[0], zoom_range[1]]
        else:
            raise ValueError(
                f"`zoom_range` should be a float or a tuple or list of two floats. Received: {zoom_range}"
            )
        if brightness_range is not None and np.size(brightness_range) != 2:
            raise ValueError(
                f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}"
            )
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:
        """Batches of an array of images, without end."""
        return NumpyArrayIterator(
            x,
            y,
            self,
            batch_size=batch_size,
            shuffle=shuffle,
            sample_weight=sample_weight,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            dtype=self.dtype,
        )

    def flow_from_directory(
        self,
        directory: Any,
        target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
    ) -> DirectoryIterator:
        """Batches of the image files in a directory, which has a directory for each class."""
        return DirectoryIterator(
            directory,
            self,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode=class_mode,
            data_format=self.data_format,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            follow_links=follow_links,
            subset=subset,
            interpolation=interpolation,
            dtype=self.dtype,
        )

    def standardize(self, x: Any) -> Any:
        """The image, or batch, scaled as the generator was asked to."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (np.std(x, keepdims=True) + 1e-6)
        if self.featurewise_center:
            x = x - self.mean if self._is_fitted("featurewise_center", self.mean) else x
        if self.featurewise_std_normalization and self._is_fitted("featurewise_std_normalization", self.std):
            x = x / (self.std + 1e-6)
        if self.zca_whitening and self._is_fitted("zca_whitening", self.principal_components):
            x = (x.reshape(-1, x.size) @ self.principal_components).reshape(x.shape)
        return x

    def _is_fitted(self, setting: str, found: Any) -> bool:
        if found is None:
            warnings.warn(
                f"This ImageDataGenerator specifies `{setting}`, but it hasn't been fit on any training "
                "data. "
                "Fit it first by calling `.fit(numpy_data)`.",
                stacklevel=4,
            )
        return found is not None

    def get_random_transform(self, img_shape: tuple[int, ...], seed: int | None = None) -> dict[str, Any]:
        """Parameters of a random change, for `apply_transform`."""
        if seed is not None:
            np.random.seed(seed)
        random = np.random.uniform
        rows, columns = img_shape[self.row_axis - 1], img_shape[self.col_axis - 1]
        theta = random(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx = _shift(self.height_shift_range, rows)
        ty = _shift(self.width_shift_range, columns)
        shear = random(-self.shear_range, self.shear_range) if self.shear_range else 0
        low, high = self.zoom_range
        zx, zy = (1, 1) if low == high == 1 else tuple(random(low, high, 2))
        flips = [(np.random.random() < 0.5) * wanted for wanted in (self.horizontal_flip, self.vertical_flip)]
        channels = self.channel_shift_range
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": flips[0],
            "flip_vertical": flips[1],
            "channel_shift_intensity": random(-channels, channels) if channels != 0 else None,
            "brightness": random(*self.brightness_range) if self.brightness_range is not None else None,
        }

    def apply_transform(self, x: Any, transform_parameters: dict[str, Any]) -> Any:
        """The image changed by the parameters, of which any may be missing."""
        row, column, channel = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        given = transform_parameters
        x = apply_affine_transform(
            x,
            **{name: given.get(name, 0) for name in ("theta", "tx", "ty", "shear")},
            **{name: given.get(name, 1) for name in ("zx", "zy")},
            row_axis=row,
            col_axis=column,
            channel_axis=channel,
            fill_mode=self.fill_mode,
            cval=self.cval,
        )
        if given.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, given["channel_shift_intensity"], channel)
        if given.get("flip_horizontal", False):
            x = np.flip(x, column)
        if given.get("flip_vertical", False):
            x = np.flip(x, row)
        if given.get("brightness") is not None:
            x = apply_brightness_shift(x, given["brightness"])
        return x

    def random_transform(self, x: Any, seed: int | None = None) -> Any:
        """The image changed at random."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Finds the mean, deviation and principal components of images.

        Args:
            augment: whether images are changed at random before, each `rounds` times.

        Raises:
            ValueError: the array has another rank than 4.
        """
        x = np.array(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        if seed is not None:
            np.random.seed(seed)
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x])
        axes = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = x.mean(axes, keepdims=True)[0]
            x = x - self.mean
        if self.featurewise_std_normalization:
            self.std = x.std(axes, keepdims=True)[0]
            x = x / (self.std + 1e-6)
        if self.zca_whitening:
            flat = x.reshape(len(x), -1)
            vectors, values, _ = np.linalg.svd(flat.T @ flat / len(flat))
            self.principal_components = (vectors / np.sqrt(values + self.zca_epsilon)) @ vectors.T


def _shift(wanted: Any, size: int) -> Any:
    """A random shift in pixels: of the given ones, below a whole number, or up to a fraction."""
    if np.ndim(wanted) == 0 and not wanted:
        return 0
    if np.ndim(wanted) or isinstance(wanted, (int, np.integer)):
        found: Any = np.random.choice(wanted) * np.random.choice([-1, 1])
    else:
        found = np.random.uniform(-wanted, wanted)
    return found * size if np.max(wanted) < 1 else found
