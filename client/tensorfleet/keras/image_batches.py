"""Batches of images, from arrays and from directories (`tf.keras.preprocessing.image`)."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from tensorfleet.keras.backend.state import floatx, image_data_format
from tensorfleet.keras.image_arrays import array_to_img, img_to_array, load_img
from tensorfleet.keras.sequences import Sequence

_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
_ENDINGS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")
_CLASS_MODES = ("categorical", "binary", "sparse", "input", None)


class Iterator(Sequence):
    """Batches of examples without end, by their indices: a subclass makes a batch of them in
    `_get_batches_of_transformed_samples` (`tf.keras.preprocessing.image.Iterator`).

    Args:
        n: the number of examples.
        seed: of NumPy's random numbers, which each batch begins anew.
    """

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Any = None
        self.index_generator = self._flow_index()

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise ValueError(f"Asked to retrieve element {index}, but the Sequence has length {len(self)}")
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        chosen = self.index_array[self.batch_size * index : self.batch_size * (index + 1)]
        return self._get_batches_of_transformed_samples(chosen)

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def on_epoch_end(self) -> None:
        self._set_index_array()

    def reset(self) -> None:
        """Begins again with the first batch."""
        self.batch_index = 0

    def _flow_index(self) -> Any:
        self.reset()
        while True:
            if self.seed is not None:
                np.random.seed(self.seed + self.total_batches_seen)
            if self.batch_index == 0:
                self._set_index_array()
            begin = 0 if self.n == 0 else self.batch_index * self.batch_size % self.n
            self.batch_index = self.batch_index + 1 if self.n > begin + self.batch_size else 0
            self.total_batches_seen += 1
            yield self.index_array[begin : begin + self.batch_size]

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """The next batch."""
        with self.lock:
            chosen = next(self.index_generator)
        return self._get_batches_of_transformed_samples(chosen)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        raise NotImplementedError

    def _save(self, batch: Any, index_array: Any) -> None:
        """Writes the images of a batch to `save_to_dir`, if there is one."""
        for x, number in zip(batch if self.save_to_dir else (), index_array, strict=False):
            name = f"{self.save_prefix}_{number}_{np.random.randint(10**7)}.{self.save_format}"
            array_to_img(x, self.data_format, scale=True).save(os.path.join(self.save_to_dir, name))

    save_to_dir: Any
    save_prefix: str
    save_format: str
    data_format: str


class NumpyArrayIterator(Iterator):
    """Batches of an array of images (`tf.keras.preprocessing.image.NumpyArrayIterator`).

    Args:
        x: images, or a tuple of them and of other arrays, which are handed on.
        subset: "training" or "validation", where the generator has a `validation_split`.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        image_data_generator: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        sample_weight: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        dtype: Any = None,
    ) -> None:
        self.dtype = dtype or floatx()
        images, *others = x if isinstance(x, (tuple, list)) else (x,)
        if others and isinstance(others[0], list):
            others = others[0]
        images, others = np.asarray(images), [np.asarray(other) for other in others]
        for name, values in (("x_misc", others), ("y", [y]), ("sample_weight", [sample_weight])):
            for value in values:
                if value is not None and len(value) != len(images):
                    raise ValueError(
                        f"`x` (images tensor) and `{name}` should have the same length. "
                        f"Found: x.shape = {images.shape}, {name}.shape = {np.shape(value)}"
                    )
        self.y = None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        if subset is not None:
            if subset not in ("training", "validation"):
                raise ValueError(f"Invalid subset name: {subset}; expected 'training' or 'validation'.")
            split = int(len(images) * image_data_generator._validation_split)
            part = slice(None, split) if subset == "validation" else slice(split, None)
            images, others = images[part], [other[part] for other in others]
            self.y = None if self.y is None else self.y[part]
            self.sample_weight = None if self.sample_weight is None else self.sample_weight[part]
        self.x, self.x_misc = np.asarray(images, dtype=self.dtype), others
        if self.x.ndim != 4:
            raise ValueError(
                f"Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape "
                f"{self.x.shape}"
            )
        self.image_data_generator = image_data_generator
        self.data_format = data_format or image_data_format()
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        generator = self.image_data_generator
        batch = np.zeros((len(index_array), *self.x.shape[1:]), dtype=self.dtype)
        for row, index in zip(batch, index_array, strict=True):
            image = self.x[index]
            change = generator.get_random_transform(image.shape)
            row[...] = generator.standardize(generator.apply_transform(image.astype(self.dtype), change))
        self._save(batch, index_array)
        inputs = [batch, *(other[index_array] for other in self.x_misc)] if self.x_misc else batch
        if self.y is None:
            return inputs
        given = (inputs, self.y[index_array])
        return given if self.sample_weight is None else (*given, self.sample_weight[index_array])


class DirectoryIterator(Iterator):
    """Batches of the image files in a directory, which has a directory for each class
    (`tf.keras.preprocessing.image.DirectoryIterator`).

    Attributes:
        class_indices: the number of each class.
        filenames: of all images, below the directory; `filepaths` with it.
        classes: the number of the class of each.
    """

    def __init__(
        self,
        directory: Any,
        image_data_generator: Any,
        target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: Any = None,
    ) -> None:
        if color_mode not in _CHANNELS:
            raise ValueError(f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".')
        if class_mode not in _CLASS_MODES:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {_CLASS_MODES}")
        if subset not in (None, "training", "validation"):
            raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation"')
        self.image_data_generator, self.directory = image_data_generator, directory
        self.target_size, self.color_mode = tuple(target_size), color_mode
        self.data_format = data_format or image_data_format()
        size, channels = self.target_size, _CHANNELS[color_mode]
        first = self.data_format == "channels_first"
        self.image_shape = (channels, *size) if first else (*size, channels)
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        self.interpolation, self.class_mode, self.subset = interpolation, class_mode, subset
        self.dtype = dtype or floatx()
        if not classes:
            entries = sorted(os.listdir(directory))
            classes = [name for name in entries if os.path.isdir(os.path.join(directory, name))]
        self.num_classes = len(classes)
        self.class_indices = {name: number for number, name in enumerate(classes)}
        self.filenames: list[str] = []
        numbers: list[int] = []
        for name in classes:
            found = _files(os.path.join(directory, name), follow_links)
            if subset is not None:
                split = int(image_data_generator._validation_split * len(found))
                found = found[:split] if subset == "validation" else found[split:]
            self.filenames += [os.path.relpath(path, directory) for path in found]
            numbers += [self.class_indices[name]] * len(found)
        self.classes = np.array(numbers, dtype="int32")
        self.samples = len(self.filenames)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(self.samples, batch_size, shuffle, seed)

    @property
    def filepaths(self) -> list[str]:
        """The paths of the images."""
        return [os.path.join(self.directory, name) for name in self.filenames]

    @property
    def labels(self) -> Any:
        """The number of the class of each image."""
        return self.classes

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        generator = self.image_data_generator
        batch = np.zeros((len(index_array), *self.image_shape), dtype=self.dtype)
        paths = self.filepaths
        for row, index in zip(batch, index_array, strict=True):
            img = load_img(
                paths[index],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
            )
            image = img_to_array(img, data_format=self.data_format)
            change = generator.get_random_transform(image.shape)
            row[...] = generator.standardize(generator.apply_transform(image, change))
        self._save(batch, index_array)
        if self.class_mode is None:
            return batch
        if self.class_mode == "input":
            return batch, batch.copy()
        numbers = self.classes[index_array]
        if self.class_mode == "categorical":
            return batch, np.eye(self.num_classes, dtype=self.dtype)[numbers]
        return batch, numbers.astype(self.dtype)


def _files(directory: str, follow_links: bool) -> list[str]:
    """The image files below a directory, in the order of their paths' parts."""
    return [
        os.path.join(root, name)
        for root, _, names in sorted(os.walk(directory, followlinks=follow_links))
        for name in sorted(names)
        if name.lower().rpartition(".")[2] in _ENDINGS
    ]
