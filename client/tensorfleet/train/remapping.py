"""Initial values that rows and columns of a checkpoint's matrix give, by the words that they are of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range as range_
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.initializers import zeros_initializer


def load_and_remap_matrix(
    ckpt_path: Any,
    old_tensor_name: str,
    new_row_vocab_offset: int,
    num_rows_to_load: int,
    new_col_vocab_size: int,
    initializer: Callable[..., Any],
    old_row_vocab_size: int = -1,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    max_rows_in_memory: int = -1,
) -> Tensor:
    """Rows and columns of a checkpoint's matrix, in the order of other vocabularies
    (`tf.contrib.framework.load_and_remap_matrix`).

    Args:
        ckpt_path, old_tensor_name: the matrix, float32.
        new_row_vocab_offset, num_rows_to_load: which lines of the new vocabulary have rows.
        new_col_vocab_size: the number of columns.
        initializer: of what the checkpoint lacks.
        old_row_vocab_size: how many lines of the old vocabulary count; -1: all.
        old_row_vocab_file, new_row_vocab_file: files with a word in each line, one for each row; None: the
            rows keep their places.
        old_col_vocab_file, new_col_vocab_file: the same for columns.
        num_row_oov_buckets, num_col_oov_buckets: rows and columns to add, by `initializer`.
        max_rows_in_memory: how many rows of the checkpoint to hold at once; -1: all.

    Returns:
        [num_rows_to_load + num_row_oov_buckets, new_col_vocab_size + num_col_oov_buckets].

    Raises:
        ValueError: one vocabulary of a pair is missing, or a negative number of buckets.
    """
    if num_row_oov_buckets < 0:
        raise ValueError(f"num_row_oov_buckets must be >= 0, but received {num_row_oov_buckets}")
    if num_col_oov_buckets < 0:
        raise ValueError(f"num_col_oov_buckets must be >= 0, but received {num_col_oov_buckets}")
    if bool(old_row_vocab_file) != bool(new_row_vocab_file):
        raise ValueError(
            "old_row_vocab_file and new_row_vocab_file must both be specified or left unspecified. "
            f"old_row_vocab_file='{old_row_vocab_file}', new_row_vocab_file='{new_row_vocab_file}'"
        )
    if bool(old_col_vocab_file) != bool(new_col_vocab_file):
        raise ValueError(
            "old_col_vocab_file and new_col_vocab_file must both be specified or left unspecified. "
            f"old_col_vocab_file='{old_col_vocab_file}', new_col_vocab_file='{new_col_vocab_file}'"
        )
    rows_present: Any = num_rows_to_load
    if new_row_vocab_file:
        rows, rows_present = apply_op(
            "GenerateVocabRemapping",
            new_row_vocab_file,
            old_row_vocab_file,
            new_vocab_offset=new_row_vocab_offset,
            num_new_vocab=num_rows_to_load,
            old_vocab_size=old_row_vocab_size,
        )
    else:
        rows = range_(new_row_vocab_offset, new_row_vocab_offset + num_rows_to_load, dtype=dtypes.int64)
    columns: Any = convert_to_tensor([], dtypes.int64)
    columns_present: Any = new_col_vocab_size
    if new_col_vocab_file:
        columns, columns_present = apply_op(
            "GenerateVocabRemapping",
            new_col_vocab_file,
            old_col_vocab_file,
            new_vocab_offset=0,
            num_new_vocab=new_col_vocab_size,
            old_vocab_size=-1,
        )
    missing = num_rows_to_load * new_col_vocab_size - rows_present * columns_present
    values = apply_one("Reshape", initializer([missing, 1]), [-1])
    matrix = apply_one(
        "LoadAndRemapMatrix",
        *(ckpt_path, old_tensor_name, rows, columns, values),
        num_rows=num_rows_to_load,
        num_cols=new_col_vocab_size,
        max_rows_in_memory=max_rows_in_memory,
    )
    if num_row_oov_buckets:
        matrix = concat([matrix, initializer([num_row_oov_buckets, new_col_vocab_size])], 0)
    if num_col_oov_buckets:
        height = num_rows_to_load + num_row_oov_buckets
        matrix = concat([matrix, initializer([height, num_col_oov_buckets])], 1)
    return matrix


def load_and_remap_matrix_initializer(
    ckpt_path: Any,
    old_tensor_name: str,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Tensor]:
    """An initializer of matrices, or of their parts by rows, with `load_and_remap_matrix`
    (`tf.contrib.framework.load_and_remap_matrix_initializer`).

    Args:
        new_row_vocab_size, new_col_vocab_size: of the matrix, without its rows and columns for other words.
        initializer: of what the checkpoint lacks; zeros by default.

    Raises:
        TypeError: `initializer` can't be called.
    """
    if initializer is None:
        initializer = zeros_initializer()
    elif not callable(initializer):
        raise TypeError(
            f"initializer must be callable, instead of being {initializer} of type {type(initializer)}."
        )

    def initial_value(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Tensor:
        height, width = (int(size) for size in shape)
        if dtypes.as_dtype(dtype) is not dtypes.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        if width != new_col_vocab_size + num_col_oov_buckets:
            raise ValueError(
                f"Trying to return specified shape {list(shape)}, but new_col_vocab_size is "
                f"{new_col_vocab_size} and num_col_oov_buckets {num_col_oov_buckets}"
            )
        offset = 0 if partition_info is None else partition_info.single_offset(shape)
        if offset + height > new_row_vocab_size + num_row_oov_buckets:
            raise ValueError(
                f"Trying to initialize {height} additional rows after {offset} rows have already been "
                f"initialized, which would exceed expected total row count of new_row_vocab_size "
                f"({new_row_vocab_size}) + num_row_oov_buckets ({num_row_oov_buckets})."
            )
        # The rows for other words are the last ones: the last part may have nothing else.
        others = min(height, max(0, offset + height - new_row_vocab_size))
        return load_and_remap_matrix(
            ckpt_path,
            old_tensor_name,
            new_row_vocab_offset=offset,
            num_rows_to_load=height - others,
            new_col_vocab_size=new_col_vocab_size,
            initializer=initializer,
            old_row_vocab_size=old_row_vocab_size,
            old_row_vocab_file=old_row_vocab_file,
            new_row_vocab_file=new_row_vocab_file,
            old_col_vocab_file=old_col_vocab_file,
            new_col_vocab_file=new_col_vocab_file,
            num_row_oov_buckets=others,
            num_col_oov_buckets=num_col_oov_buckets,
            max_rows_in_memory=max_rows_in_memory,
        )

    return initial_value


def load_embedding_initializer(
    ckpt_path: Any,
    embedding_tensor_name: str,
    new_vocab_size: int,
    embedding_dim: int,
    old_vocab_file: Any,
    new_vocab_file: Any,
    old_vocab_size: int = -1,
    num_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Tensor]:
    """As `load_and_remap_matrix_initializer`, of the rows of an embedding
    (`tf.contrib.framework.load_embedding_initializer`)."""
    return load_and_remap_matrix_initializer(
        ckpt_path,
        embedding_tensor_name,
        new_row_vocab_size=new_vocab_size,
        new_col_vocab_size=embedding_dim,
        old_row_vocab_size=old_vocab_size,
        old_row_vocab_file=old_vocab_file,
        new_row_vocab_file=new_vocab_file,
        num_row_oov_buckets=num_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


def load_linear_multiclass_bias_initializer(
    ckpt_path: Any,
    bias_tensor_name: str,
    new_class_vocab_size: int,
    old_class_vocab_file: Any,
    new_class_vocab_file: Any,
    num_class_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Tensor]:
    """As `load_and_remap_matrix_initializer`, of the biases of classes, [classes, 1]
    (`tf.contrib.framework.load_linear_multiclass_bias_initializer`)."""
    return load_and_remap_matrix_initializer(
        ckpt_path,
        bias_tensor_name,
        new_row_vocab_size=new_class_vocab_size,
        new_col_vocab_size=1,
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )
