"""Datasets of the records in files: TFRecordDataset, TextLineDataset, CsvDataset, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import compatible
from tensorfleet.core.structures import ELEMENTS
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.structure import Structure
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow import experimental_dataset_ops  # noqa: F401  the ops register themselves

_STRINGS = Structure(None, [dtypes.string], [()])


class _FileDataset(Dataset):
    """The base class of datasets of files."""

    def _begin(
        self, filenames: Any, parallel: Any, op_type: str, inputs: Sequence[Tensor], name: str | None
    ) -> None:
        """Makes the dataset.

        Args:
            filenames: a tensor of names, or a dataset of them.
            parallel: the number of files to read in turn; None to read them one after the other.
            op_type, inputs: the type of the op that reads files, and its inputs after the names.
        """

        def read(names: Tensor) -> Dataset:
            return Dataset._of(apply_op(op_type, names, *inputs, name=name), _STRINGS)

        if isinstance(filenames, Dataset):
            structure = filenames._structure
            if structure.types != [dtypes.string]:
                raise TypeError(
                    "The `filenames` argument must contain `tf.string` elements. Got a dataset of "
                    f"{structure.output_types} elements."
                )
            if not compatible(structure.dims[0], ()):
                raise ValueError(
                    "The `filenames` argument must contain `tf.string` elements of shape [] (i.e. scalars)."
                )
        else:
            filenames = convert_to_tensor(filenames, None, "filenames")
            if filenames.dtype.base is not dtypes.string:
                raise TypeError(
                    "The `filenames` argument must contain `tf.string` elements. Got "
                    f"`{filenames.dtype!r}` elements."
                )
            if parallel is None:
                self._variant_tensor = read(filenames)._variant_tensor
                self._structure = _STRINGS
                self._options = None
                return
            from tensorfleet.ops.array.shaping import reshape

            filenames = Dataset.from_tensor_slices(reshape(filenames, [-1]))
        made = (
            filenames.flat_map(read)
            if parallel is None
            else filenames.interleave(read, parallel, 1, num_parallel_calls=parallel)
        )
        self._variant_tensor = made._variant_tensor
        self._structure = made._structure
        self._options = None

    def _begin_compressed(
        self,
        op_type: str,
        filenames: Any,
        compression: Any,
        buffer_size: Any,
        parallel: Any,
        name: str | None,
    ) -> None:
        """Makes the dataset by an op whose inputs are compression and buffer size; see `_begin`."""
        inputs = [_text(compression, "compression_type"), _number(buffer_size, "buffer_size", _BUFFER_BYTES)]
        self._begin(filenames, parallel, op_type, inputs, name)


def _number(value: Any, name: str, default: int = 0) -> Tensor:
    made: Tensor = convert_to_tensor(default if value is None else value, dtypes.int64, name)
    return made


def _text(value: Any, name: str) -> Tensor:
    made: Tensor = convert_to_tensor("" if value is None else value, dtypes.string, name)
    return made


_BUFFER_BYTES = 256 * 1024


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files, as strings (`tf.data.TFRecordDataset`)."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        """A dataset of the records of files on the task that reads them.

        Args:
            filenames: a string, a vector of strings, or a dataset of strings.
            compression_type: "", "ZLIB" or "GZIP".
            buffer_size: the number of bytes to read at a time.
            num_parallel_reads: the number of files to read in turn; None to read them one after the other.

        Raises:
            TypeError: `filenames` are not strings.
        """
        self._begin_compressed(
            "TFRecordDataset", filenames, compression_type, buffer_size, num_parallel_reads, name
        )


class TextLineDataset(_FileDataset):
    """The lines of files, without line breaks (`tf.data.TextLineDataset`)."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        """A dataset of the lines of files; see TFRecordDataset."""
        self._begin_compressed(
            "TextLineDataset", filenames, compression_type, buffer_size, num_parallel_reads, name
        )


class FixedLengthRecordDataset(_FileDataset):
    """The records of files with records of equal length (`tf.data.FixedLengthRecordDataset`)."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        """A dataset of records of `record_bytes` bytes; see TFRecordDataset.

        Args:
            header_bytes, footer_bytes: the sizes of the parts of a file before the first record and after the
                last one.
        """
        inputs = [
            _number(header_bytes, "header_bytes"),
            _number(record_bytes, "record_bytes"),
            _number(footer_bytes, "footer_bytes"),
            _number(buffer_size, "buffer_size", _BUFFER_BYTES),
            _text(compression_type, "compression_type"),
        ]
        self._begin(filenames, num_parallel_reads, "FixedLengthRecordDatasetV2", inputs, name)


class CsvDataset(Dataset):
    """The records of files of comma-separated values (`tf.data.experimental.CsvDataset`)."""

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: Any = False,
        field_delim: Any = ",",
        use_quote_delim: Any = True,
        na_value: Any = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        """A dataset whose elements are tuples of the fields of records.

        Args:
            filenames: a string, or a vector of strings.
            record_defaults: for each column a dtype if the field is required, or the value of missing fields.
            header: skip the first record of each file.
            na_value: a text that also stands for a missing field.
            select_cols, exclude_cols: the indices of the columns to take, or to leave out, ascending.
        """
        defaults = [_default(default) for default in record_defaults]
        structure = Structure(tuple(defaults), [t.dtype.base for t in defaults], [()] * len(defaults))
        self._variant_tensor = apply_op(
            "CSVDatasetV2",
            _text(filenames, "filenames"),
            _text(compression_type, "compression_type"),
            _number(buffer_size, "buffer_size", _BUFFER_BYTES),
            convert_to_tensor(header, dtypes.bool, "header"),
            _text(field_delim, "field_delim"),
            convert_to_tensor(use_quote_delim, dtypes.bool, "use_quote_delim"),
            _text(na_value, "na_value"),
            convert_to_tensor([] if select_cols is None else select_cols, dtypes.int64, "select_cols"),
            defaults,
            convert_to_tensor([] if exclude_cols is None else exclude_cols, dtypes.int64, "exclude_cols"),
            output_shapes=structure.dims,
        )
        self._structure = structure
        self._options = None


def _default(value: Any) -> Tensor:
    made: Tensor
    if isinstance(value, dtypes.DType):
        made = convert_to_tensor([], value, "record_defaults")
    else:
        made = convert_to_tensor(value, name="record_defaults")
    return made


class SqlDataset(Dataset):
    """The rows that a query finds in a file of SQLite (`tf.data.experimental.SqlDataset`)."""

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> None:
        """A dataset of rows, of a file on the task that reads them.

        Args:
            driver_name: "sqlite".
            data_source_name: the name of the file.
            query: in SQL; it may only read.
            output_types: the dtypes of the columns, in the structure of elements: strings, integers, bool
                and float64.
        """
        flat = [dtypes.as_dtype(each) for each in ELEMENTS.flatten(output_types)]
        structure = Structure.from_types(output_types, ELEMENTS.map_structure(lambda _: (), output_types))
        self._variant_tensor = apply_op(
            "SqlDataset",
            _text(driver_name, "driver_name"),
            _text(data_source_name, "data_source_name"),
            _text(query, "query"),
            output_types=flat,
            output_shapes=[()] * len(flat),
        )
        self._structure = structure
        self._options = None
