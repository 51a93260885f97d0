"""Files that tasks write the elements of a dataset into: `tf.data.experimental.TFRecordWriter`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import compatible
from tensorfleet.data.dataset import Dataset
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation


class TFRecordWriter:
    """Writes the elements of a dataset into a TFRecord file of the task that runs the operation
    (`tf.data.experimental.TFRecordWriter`).

    Args:
        filename: the file, which is emptied if it exists.
        compression_type: "GZIP", "ZLIB", or "" for none.
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string, "filename")
        kind = "" if compression_type is None else compression_type
        self._compression_type = convert_to_tensor(kind, dtypes.string, "compression_type")

    def write(self, dataset: Dataset) -> Operation:
        """An operation that writes all elements of a dataset of strings.

        Raises:
            TypeError: `dataset` is no dataset, or its elements are not scalars of dtype string.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}."
            )
        structure = dataset._structure
        if structure.shape_of is not None or (structure.types, structure.sparse) != (
            [dtypes.string],
            [False],
        ):
            scalars = False
        else:
            scalars = compatible(structure.dims[0], ())
        if not scalars:
            raise TypeError(
                "Invalid `dataset`. Expected a`dataset` that produces scalar `tf.string` elements, but got a "
                f"dataset which produces elements with shapes {dataset.output_shapes} and types "
                f"{dataset.output_types!r}."
            )
        made: Operation = apply_op(
            "DatasetToTFRecord", dataset._variant_tensor, self._filename, self._compression_type
        )
        return made
