"""Empty rows filled with a default value."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.ops.array import ragged as _ops  # noqa: F401


def ragged_fill_empty_rows(
    value_rowids: Any, values: Any, nrows: Any, default_value: Any, name: str | None = None
) -> Any:
    """The rows with one default value in each that has none (`tf.ragged_fill_empty_rows`).

    Args:
        value_rowids: the number of its row for each value, in order.
        values: the values.
        nrows: the number of rows.

    Returns:
        (value_rowids, values, whether each row was empty, the new place of each value).
    """
    return apply_op("RaggedFillEmptyRows", value_rowids, values, nrows, default_value, name=name)


def ragged_fill_empty_rows_grad(reverse_index_map: Any, grad_values: Any, name: str | None = None) -> Any:
    """The gradients of `ragged_fill_empty_rows` (`tf.ragged_fill_empty_rows_grad`)."""
    return apply_op("RaggedFillEmptyRowsGrad", reverse_index_map, grad_values, name=name)
