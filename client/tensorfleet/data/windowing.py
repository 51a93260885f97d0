"""The transformations of datasets that cut them anew: window and rebatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.data.nested import DatasetSpec
from tensorfleet.data.ragged_batches import with_ragged
from tensorfleet.data.structure import Structure
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow import experimental_dataset_ops  # noqa: F401  the ops register themselves

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset


class WindowingTransformations:
    """The methods of `Dataset` that cut it into other pieces."""

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Windows of the elements: each has, in place of every component, the dataset of `size` such ones.

        Args:
            size: the number of elements of a window.
            shift: the number of elements by which the next window begins later; `size` by default.
            stride: the distance between the elements of a window.
            drop_remainder: leave out windows at the end that have fewer elements.

        Raises:
            InvalidArgumentError: in a run, `size`, `shift` or `stride` is not positive.
        """
        dataset = cast("Dataset", self)
        given = dataset._structure
        parts = [
            DatasetSpec.of(Structure(None, [dtype], [dims], [sparse], [spec]))
            for dtype, dims, sparse, spec in zip(
                given.types, given.dims, given.sparse, given.nested, strict=True
            )
        ]
        count = len(parts)
        structure = Structure(given.shape_of, [dtypes.variant] * count, [()] * count, None, parts)
        variant = apply_op(
            "WindowDataset",
            dataset._variant_tensor,
            convert_to_tensor(size, dtypes.int64, "size"),
            convert_to_tensor(size if shift is None else shift, dtypes.int64, "shift"),
            convert_to_tensor(stride, dtypes.int64, "stride"),
            convert_to_tensor(drop_remainder, dtypes.bool, "drop_remainder"),
            **structure.attrs,
            name=name,
        )
        return dataset._of(variant, structure, dataset._options)

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        row_splits_dtype: Any = dtypes.int64,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements at a time; components of which a size is unknown become RaggedTensors.

        Args:
            drop_remainder: leave out the last batch if it is smaller.
            row_splits_dtype: int32 or int64: the dtype of the row splits.
        """
        dataset = with_ragged(cast("Dataset", self), row_splits_dtype)
        return dataset.batch(batch_size, drop_remainder, name=name)

    def rebatch(self, batch_size: Any, drop_remainder: Any = False, name: str | None = None) -> Dataset:
        """The rows of the elements, in batches of another size.

        Args:
            batch_size: the size of the batches; of a vector, each batch has the next size, in turns.
            drop_remainder: leave out the last batch if it is smaller.

        Raises:
            ValueError: elements are scalars, or `batch_size` is neither a scalar nor a vector.
        """
        dataset = cast("Dataset", self)
        given = dataset._structure
        if () in given.dims:
            raise ValueError(
                "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with scalar "
                "elements. Fix the issue by adding the `batch` transformation to the dataset."
            )
        sizes = convert_to_tensor(batch_size, dtypes.int64, "batch_sizes")
        if sizes.dims is not None and len(sizes.dims) > 1:
            raise ValueError(f"Invalid `batch_size`. It must be a scalar or a vector, not {sizes.shape}.")
        drop = convert_to_tensor(drop_remainder, dtypes.bool, "drop_remainder")
        length = _length(sizes, drop, given)
        dims = [None if d is None else (length, *d[1:]) for d in given.dims]
        return dataset._next("RebatchDatasetV2", sizes, drop, dims=dims, name=name)


def _length(sizes: Tensor, drop: Tensor, given: Structure) -> int | None:
    """The static number of rows of each batch; None where it is not known, or differs."""
    known = static_value(sizes)
    if known is None:
        return None
    lengths = np.unique(known)
    if len(lengths) != 1 or lengths[0] < 0:
        return None
    size = int(lengths[0])
    if static_value(drop):
        return size
    before = {dims[0] for dims in given.dims if dims is not None and dims[0] is not None}
    if len(before) > 1:
        raise ValueError(f"Batch dimensions of the components of an element differ: {sorted(before)}.")
    return size if before and size and not before.pop() % size else None
