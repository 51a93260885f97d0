"""Arrays and data frames as input functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.estimator import inputs


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """`tf.estimator.inputs.numpy_input_fn`, which shuffles by default."""
    return inputs.numpy_input_fn(x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """`tf.estimator.inputs.pandas_input_fn`, which shuffles by default."""
    return inputs.pandas_input_fn(
        x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads, target_column
    )


def extract_pandas_data(data: Any) -> Any:
    """The numbers of a DataFrame, as floats; what is none is returned as it is.

    Raises:
        ValueError: a column has no numbers.
    """
    return _numbers(data).astype(float) if hasattr(data, "columns") else data


def extract_pandas_matrix(data: Any) -> Any:
    """The values of a DataFrame; what is none is returned as it is."""
    return data.to_numpy() if hasattr(data, "columns") else data


def extract_pandas_labels(labels: Any) -> Any:
    """The numbers of a DataFrame of one column; what is no DataFrame is returned as it is.

    Raises:
        ValueError: there are several columns, or no numbers.
    """
    if not hasattr(labels, "columns"):
        return labels
    if len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    return _numbers(labels)


def _numbers(frame: Any) -> Any:
    bad = [str(name) for name in frame.columns if frame[name].dtype.kind not in "iufb"]
    if bad:
        raise ValueError(f"Data types for extracting pandas data must be int, float, or bool; not {bad}.")
    return frame.to_numpy()
