"""The transformations of datasets that stack elements: batch and padded_batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tensorfleet.core import dtypes
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.data.padding import padded_shape, padding_values_of
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset


class BatchingTransformations:
    """The methods of `Dataset` that stack elements."""

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements at a time, stacked along a new first dimension.

        Args:
            drop_remainder: leave out the last batch if it is smaller.
            num_parallel_calls, deterministic: ignored, as stacking needs no parallel calls.
        """
        dataset = cast("Dataset", self)
        size: Tensor = convert_to_tensor(batch_size, dtypes.int64, "batch_size")
        drop = convert_to_tensor(drop_remainder, dtypes.bool, "drop_remainder")
        length = _batch_length(size, drop)
        dims = [None if d is None else (length, *d) for d in dataset._structure.dims]
        return dataset._next("BatchDatasetV2", size, drop, dims=dims, name=name)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements at a time, with each component padded to one shape.

        Args:
            padded_shapes: shapes in the structure of elements; a size of None or -1 stands for the largest in
                the batch. By default the static shapes of the components.
            padding_values: scalars in the structure of elements, or one for all; by default 0 or "".

        Raises:
            ValueError: the rank of a component is unknown, and no shape is given.
        """
        dataset = cast("Dataset", self)
        size: Tensor = convert_to_tensor(batch_size, dtypes.int64, "batch_size")
        drop = convert_to_tensor(drop_remainder, dtypes.bool, "drop_remainder")
        structure = dataset._structure
        if any(structure.nested):
            raise TypeError("`padded_batch` is not supported for datasets of datasets")
        if any(structure.sparse):
            raise TypeError("Batching of padded sparse or ragged tensors is not currently supported")
        if padded_shapes is None:
            padded_shapes = structure.output_shapes
        shapes = [
            padded_shape(shape, dims)
            for shape, dims in zip(
                nest.flatten_up_to(structure.shape_of, padded_shapes), structure.dims, strict=True
            )
        ]
        values = padding_values_of(padding_values, structure)
        length = _batch_length(size, drop)
        dims = []
        for shape in shapes:
            known = static_value(shape)
            assert shape.dims is not None
            sizes = (
                (None,) * (shape.dims[0] or 0)
                if known is None
                else tuple(None if d < 0 else int(d) for d in known)
            )
            dims.append((length, *sizes))
        structure = structure.with_dims(dims)
        variant = apply_op(
            "PaddedBatchDatasetV2",
            dataset._variant_tensor,
            size,
            shapes,
            values,
            drop,
            output_shapes=dims,
            name=name,
        )
        return dataset._of(variant, structure, dataset._options)


def _batch_length(size: Tensor, drop: Tensor) -> int | None:
    if not static_value(drop):
        return None
    known = static_value(size)
    return None if known is None else int(known)
