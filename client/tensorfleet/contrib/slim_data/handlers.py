"""`slim.tfexample_decoder`: items, such as an image, from the features of an Example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape as shape_of
from tensorfleet.ops.array.sparse_parts import sparse_reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor, sparse_tensor_to_dense
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.functional.map_fn import map_fn
from tensorfleet.ops.image.codec import decode_image, decode_jpeg, is_jpeg
from tensorfleet.ops.math.comparison import equal, logical_or
from tensorfleet.ops.math.reduction import reduce_prod
from tensorfleet.ops.text.strings import decode_raw

_BOX = ("ymin", "xmin", "ymax", "xmax")


def dense(tensor: Any, default_value: Any = None) -> Any:
    """A sparse tensor as a dense one; a dense one itself."""
    return sparse_tensor_to_dense(tensor, default_value) if isinstance(tensor, SparseTensor) else tensor


class ItemHandler:
    """The base class of what makes an item of features (`slim.tfexample_decoder.ItemHandler`).

    Args:
        keys: the names of the features, or one.
    """

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> Any:
        """The names of the features."""
        return self._keys

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item; implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not implement tensors_to_item.")


class ItemHandlerCallback(ItemHandler):
    """An item made by a function from a dict of tensors (`slim.tfexample_decoder.ItemHandlerCallback`)."""

    def __init__(self, keys: Any, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The function's result."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes `[boxes, 4]`, from four features (`slim.tfexample_decoder.BoundingBox`)."""

    def __init__(self, keys: Any = None, prefix: str = "") -> None:
        keys = list(_BOX) if keys is None else list(keys)
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The boxes."""
        found = [keys_to_tensors[key] for key in self._keys]
        sides = [side.values if isinstance(side, SparseTensor) else side for side in found]
        return transpose(concat([expand_dims(side, 0) for side in sides], 0))


class TensorHandler(ItemHandler):
    """A feature as a dense tensor (`slim.tfexample_decoder.Tensor`).

    Args:
        tensor_key: the feature.
        shape_keys: the features with the shape; or `shape` itself.
        default_value: what a sparse feature has nowhere else.
    """

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        listed = list(shape_keys) if isinstance(shape_keys, (list, tuple)) else [shape_keys]
        self._tensor_key, self._shape_keys = tensor_key, listed if shape_keys else []
        self._shape, self._default = shape, default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The tensor."""
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            shape = reshape(stack([dense(keys_to_tensors[key]) for key in self._shape_keys]), [-1])
        if isinstance(tensor, SparseTensor):
            tensor = tensor if shape is None else sparse_reshape(tensor, shape)
            return dense(tensor, self._default)
        return tensor if shape is None else reshape(tensor, shape)


class LookupTensor(TensorHandler):
    """A feature looked up in a table (`slim.tfexample_decoder.LookupTensor`)."""

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None, default_value: Any = ""
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """What the table has for the feature."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of one handler, or of another where that is empty (`slim.tfexample_decoder.BackupHandler`)."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for what, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(given)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            equal(reduce_prod(shape_of(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensorHandler(ItemHandler):
    """A sparse tensor from features with its last indices and its values
    (`slim.tfexample_decoder.SparseTensor`).

    Args:
        densify: whether the item is dense.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices, self._values = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default = densify, default_value
        super().__init__([self._indices, self._values, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The tensor."""
        indices, values = keys_to_tensors[self._indices], keys_to_tensors[self._values]
        shape = self._shape or indices.dense_shape
        if self._shape_key:
            shape = dense(keys_to_tensors[self._shape_key])
        last = reshape(cast(indices.values, dtypes.int64), [-1, 1])
        places = concat([indices.indices[:, :-1], last], 1)
        tensor = SparseTensor(places, values.values, cast(shape, dtypes.int64))
        return dense(tensor, self._default) if self._densify else tensor


class Image(ItemHandler):
    """An image from its file's content and its format (`slim.tfexample_decoder.Image`).

    Args:
        image_key, format_key: "image/encoded" and "image/format" by default; the format "raw" is that of
            bytes without a header.
        shape: of the image, if it is known.
        repeated: whether the feature has several images of one size.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = dtypes.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image, self._format = image_key or "image/encoded", format_key or "image/format"
        super().__init__([self._image, self._format])
        self._shape, self._channels, self._dtype = shape, channels, dtypes.as_dtype(dtype)
        self._repeated, self._dct = repeated, dct_method

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The image `[height, width, channels]`, or several."""
        content, form = keys_to_tensors[self._image], keys_to_tensors[self._format]
        if self._repeated:
            return map_fn(lambda one: self._decode(one, form), content, dtype=self._dtype)
        return self._decode(content, form)

    def _decode(self, content: Any, form: Any) -> Any:
        def jpeg() -> Any:
            return cast(decode_jpeg(content, channels=self._channels, dct_method=self._dct), self._dtype)

        def other() -> Any:
            return cast(decode_image(content, channels=self._channels), self._dtype)

        image = cond(
            logical_or(equal(form, "raw"), equal(form, "RAW")),
            lambda: decode_raw(content, self._dtype),
            lambda: cond(is_jpeg(content), jpeg, other, name="cond_jpeg"),
        )
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else reshape(image, self._shape)
