"""What the architectures have in common: their inputs, their tops, their weights."""

from __future__ import annotations

import os
import warnings
from typing import Any

from tensorfleet.keras import layers
from tensorfleet.keras.array_utils import get_file
from tensorfleet.keras.backend.state import image_data_format, is_keras_tensor
from tensorfleet.keras.engine.input_layer import Input
from tensorfleet.keras.engine.source_inputs import get_source_inputs
from tensorfleet.keras.engine.training import Model

CLASSES = 1000
_CHANNELS = 3
_RELEASES = "https://github.com/fchollet/deep-learning-models/releases/download/"


class Network:
    """A network that is built: its settings, as the functions of `tf.keras.applications` take them.

    Args:
        include_top: whether the layers that classify are part of it.
        weights: None for random ones, "imagenet", or the path of a file.
        input_tensor: what it is applied to, by default an `Input` of `input_shape`.
        input_shape: of one image, by `image_data_format()`; by default that of ImageNet's images, without
            the top any size.
        pooling: without the top: None, "avg" or "max".
        classes: of the top.
        size: of an image by default.
        least: the least size.
        flat: whether the size has to be known; by default, if the top is included.

    Raises:
        ValueError: the settings contradict each other, or `weights` is no file.
    """

    def __init__(
        self,
        include_top: bool,
        weights: str | None,
        input_tensor: Any,
        input_shape: Any,
        pooling: str | None,
        classes: int,
        *,
        size: int = 224,
        least: int = 32,
        flat: bool | None = None,
    ) -> None:
        if weights not in (None, "imagenet") and not os.path.exists(weights):
            raise ValueError(
                "`weights` is None for random weights, 'imagenet', or the path of a file of weights that "
                f"exists; it is {weights!r}."
            )
        if weights == "imagenet" and include_top and classes != CLASSES:
            raise ValueError(
                f"`classes` must be {CLASSES} with weights='imagenet' and include_top=True, not {classes}."
            )
        self._top, self._weights, self._pooling, self._classes = include_top, weights, pooling, classes
        self.first = image_data_format() == "channels_first"
        self.axis = 1 if self.first else 3
        self.shape = self._checked(input_shape, size, least, include_top if flat is None else flat)
        self._given = input_tensor
        if input_tensor is None:
            self.input = Input(shape=self.shape)
        elif is_keras_tensor(input_tensor):
            self.input = input_tensor
        else:
            self.input = Input(tensor=input_tensor, shape=self.shape)

    def _checked(self, shape: Any, size: int, least: int, flat: bool) -> Any:
        """The shape of an image."""
        learned = self._weights == "imagenet"
        channels = _CHANNELS
        if shape:
            shape = tuple(shape)
            if len(shape) != 3:
                raise ValueError("`input_shape` must be a tuple of three integers.")
            given = shape[0] if self.first else shape[-1]
            if not learned:
                channels = given
                if given not in (1, _CHANNELS):
                    warnings.warn(
                        f"This model usually has 1 or 3 input channels; `input_shape` has {given}.",
                        stacklevel=4,
                    )
            elif given != _CHANNELS:
                raise ValueError(f"The input must have 3 channels; got `input_shape={shape}`")
        usual = (channels, size, size) if self.first else (size, size, channels)
        if learned and flat:
            if shape and shape != usual:
                raise ValueError(
                    f"`input_shape` should be {usual} with include_top=True and weights='imagenet'."
                )
            return usual
        if not shape:
            anything = (channels, None, None) if self.first else (None, None, channels)
            return usual if flat else anything
        rows = shape[1:] if self.first else shape[:-1]
        if any(length is not None and length < least for length in rows):
            raise ValueError(f"Input size must be at least {least}x{least}; got `input_shape={shape}`")
        if flat and None in shape:
            raise ValueError(
                "If `include_top` is True, you should specify a static `input_shape`. "
                f"Got `input_shape={shape}`"
            )
        return shape

    @property
    def rows(self) -> Any:
        """The height of an image."""
        return self.shape[1 if self.first else 0]

    def norm(self, name: str | None = None, **settings: Any) -> Any:
        """A BatchNormalization of channels."""
        return layers.BatchNormalization(axis=self.axis, name=name, **settings)

    def join(self, branches: list[Any], name: str | None = None) -> Any:
        """Branches side by side, as channels."""
        return layers.Concatenate(axis=self.axis, name=name)(branches)

    def channels(self, x: Any) -> int:
        """The number of channels of a tensor."""
        return int(x.shape[self.axis])

    def even_pad(self, x: Any, kernel: int) -> Any:
        """The padding by which a stride of 2 takes the pixels that padding="same" would take."""
        sizes = x.shape.as_list()
        rows = sizes[2:] if self.first else sizes[1:3]
        # As TensorFlow 1.15 does: where one size is unknown, both are taken as even.
        odd = (1, 1) if rows[0] is None else tuple(1 - length % 2 for length in rows)
        return tuple((kernel // 2 - extra, kernel // 2) for extra in odd)

    def top(self, x: Any, name: str = "predictions", pool: str | None = None, most: str | None = None) -> Any:
        """The usual end of a network: an average of the pixels and a classifier, or what `pooling` says.

        Args:
            name: of the classifier.
            pool, most: of the layers that take the average and the greatest number of pixels.
        """
        if not self._top:
            return self.pooled(x, pool, most)
        return self.classified(layers.GlobalAveragePooling2D(name=pool)(x), name)

    def classified(self, x: Any, name: str = "predictions") -> Any:
        """Probabilities of the classes."""
        return layers.Dense(self._classes, activation="softmax", name=name)(x)

    def pooled(self, x: Any, name: str | None = None, most: str | None = None) -> Any:
        """What a network without its top returns."""
        if self._pooling == "avg":
            return layers.GlobalAveragePooling2D(name=name)(x)
        if self._pooling == "max":
            return layers.GlobalMaxPooling2D(name=most)(x)
        return x

    def model(
        self, x: Any, name: str, files: tuple[str, str], folder: str, hashes: Any = None, remote: Any = None
    ) -> Model:
        """The model, with its weights.

        Args:
            files: the names of the weights' files, with and without the top.
            folder: the URL that the files are in.
            hashes: their MD5 sums.
            remote: their names there, if they differ.

        Raises:
            FileNotFoundError: the weights of "imagenet" are not in ~/.keras/models.
        """
        inputs = self.input if self._given is None else get_source_inputs(self._given)
        model = Model(inputs, x, name=name)
        if self._weights == "imagenet":
            kind = 0 if self._top else 1
            url = folder if "://" in folder else _RELEASES + folder
            model.load_weights(
                get_file(
                    files[kind],
                    f"{url}/{(remote or files)[kind]}",
                    cache_subdir="models",
                    file_hash=hashes[kind] if hashes else None,
                )
            )
        elif self._weights is not None:
            model.load_weights(self._weights)
        return model


def tf_files(name: str) -> tuple[str, str]:
    """The usual names of the files of weights."""
    stem = f"{name}_weights_tf_dim_ordering_tf_kernels"
    return f"{stem}.h5", f"{stem}_notop.h5"
