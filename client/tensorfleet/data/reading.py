"""Whole input pipelines: `make_batched_features_dataset`, `make_csv_dataset`."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes, file_io
from tensorfleet.data.dataset import AUTOTUNE, Dataset
from tensorfleet.data.files import CsvDataset, TFRecordDataset
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.io.parsing import parse_example


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Callable[[Dataset], Dataset]:
    """Batches of serialized Examples as dicts of features (`tf.data.experimental.parse_example_dataset`)."""
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")
    return lambda dataset: dataset.map(
        lambda serialized: parse_example(serialized, features), num_parallel_calls, deterministic
    )


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the features in files (`tf.data.experimental.make_batched_features_dataset`).

    Args:
        file_pattern: a pattern of file names, or a list of names.
        features: as for `tf.parse_example`.
        reader: the class of datasets that reads files, TFRecordDataset by default.
        reader_args: the arguments of `reader` after the file name.
        label_key: the feature that is the label; elements then are pairs of the other features and the label.
        num_epochs: the number of times to read the files; None for no limit.
        shuffle: whether to shuffle, by a buffer of `shuffle_buffer_size` elements.
        reader_num_threads: the number of files to read in turn.
        parser_num_threads: the number of batches to parse at the same time.
        sloppy_ordering: ignored.

    Raises:
        ValueError: `label_key` is not one of the features.
    """
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key}) must be one of the `features` keys: {features.keys()}."
        )
    reader = TFRecordDataset if reader is None else reader
    threads = 1 if reader_num_threads is None else reader_num_threads
    dataset = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = dataset.interleave(
        lambda name: reader(name, *(reader_args or ())),
        cycle_length=8 if threads == AUTOTUNE else threads,
        num_parallel_calls=threads,
    )
    if dataset._structure.types == [dtypes.string, dtypes.string]:
        dataset = dataset.map(lambda _, value: value)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    calls = AUTOTUNE if parser_num_threads is None else parser_num_threads
    dataset = dataset.apply(parse_example_dataset(features, calls))
    if label_key is not None:

        def split(parsed: dict[str, Any]) -> tuple[dict[str, Any], Any]:
            rest = dict(parsed)
            return rest, rest.pop(label_key)

        dataset = dataset.map(split)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _shuffled(dataset: Dataset, epochs: Any, shuffle: bool, buffer: int, seed: Any) -> Dataset:
    if shuffle:
        dataset = dataset.shuffle(buffer, seed)
    return dataset.repeat(epochs) if epochs != 1 else dataset


_INFERRED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of the columns of files of comma-separated values (`tf.data.experimental.make_csv_dataset`).

    Missing names and types are read from the files while the graph is built, by this process, not by the task
    that reads the files later.

    Args:
    file_pattern: a pattern of file names, or a list of patterns.
    column_names: the columns' names, by default those in the first record.
    column_defaults: dtypes, or values of missing fields; by default inferred from the first
        `num_rows_for_inference` records.
    label_name: the column that is the label; elements then are pairs of the other columns and the label.
    select_columns: the names or indices of the columns to take.
    num_epochs: the number of times to read the files; None for no limit.
    ignore_errors: skip records that cannot be parsed.
    sloppy: ignored.

    Raises:
    ValueError: there are no files, a column's name is repeated, or `label_name` is not a column.
    """
    names = sorted(file_io.glob(file_pattern))
    if not names:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        column_names = _first_row(names[0], field_delim, use_quote_delim, encoding)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    chosen = None if select_columns is None else _numbers(select_columns, column_names)
    if column_defaults is None:
        rows = _rows(names, field_delim, use_quote_delim, header, encoding, num_rows_for_inference)
        columns = range(len(column_names)) if chosen is None else chosen
        column_defaults = [_inferred([row[i] for row in rows if i < len(row)], na_value) for i in columns]
    if chosen is not None:
        column_names = [column_names[i] for i in chosen]
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")
    taken, defaults = list(column_names), list(column_defaults)

    def read(name: Tensor) -> Dataset:
        dataset: Dataset = CsvDataset(
            name, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, chosen
        )
        return dataset.ignore_errors() if ignore_errors else dataset

    def labelled(*columns: Tensor) -> Any:
        features = dict(zip(taken, columns, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    threads = 1 if num_parallel_reads is None else num_parallel_reads
    dataset = Dataset.from_tensor_slices(names)
    if shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)
    dataset = dataset.interleave(read, 8 if threads == AUTOTUNE else threads, num_parallel_calls=threads)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(labelled)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _reader(file: Any, delimiter: str, quotes: bool) -> Any:
    return csv.reader(file, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)


def _first_row(name: str, delimiter: str, quotes: bool, encoding: str) -> list[str]:
    with open(name, newline="", encoding=encoding) as file:
        row = next(_reader(file, delimiter, quotes), None)
    if row is None:
        raise ValueError(f"Received StopIteration when reading the header line of {name}. Empty file?")
    return list(row)


def _rows(
    names: Sequence[str], delimiter: str, quotes: bool, header: bool, encoding: str, count: int | None
) -> list[list[str]]:
    rows: list[list[str]] = []
    for name in names:
        with open(name, newline="", encoding=encoding) as file:
            reader = _reader(file, delimiter, quotes)
            if header:
                next(reader, None)
            for row in reader:
                if count is not None and len(rows) >= count:
                    return rows
                rows.append(row)
    return rows


def _numbers(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    found = [names.index(column) if isinstance(column, str) else int(column) for column in columns]
    if len(set(found)) != len(found):
        raise ValueError("`select_columns` contains duplicate columns")
    return sorted(found)


def _inferred(values: Sequence[str], missing: str) -> Any:
    """The first type that fits all values of a column, as a default."""
    kind = 0
    for value in values:
        if value and value != missing:
            while not _has_type(value, kind):
                kind += 1
    dtype = _INFERRED[kind]
    from tensorfleet.graph.convert import constant

    return constant([b"" if dtype is dtypes.string else 0], dtype)


def _has_type(value: str, kind: int) -> bool:
    try:
        match kind:
            case 0 | 1:
                return abs(int(value)) < (2**31 if kind == 0 else 2**63)
            case 2 | 3:
                number = abs(float(value))
                return kind == 3 or not 3.4e38 < number < math.inf
    except ValueError:
        return False
    return True
