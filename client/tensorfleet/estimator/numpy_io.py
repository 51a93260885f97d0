"""`tf.estimator.inputs`: arrays and data frames as input functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tensorfleet.estimator import fed_queue

_TARGET = "__target_key__"
_DIRECT = "__direct_np_input__"


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """An `input_fn` of arrays (`tf.estimator.inputs.numpy_input_fn`).

    The arrays are fed batch by batch; the graph does not contain them.

    Args:
        x: an array, or arrays by name, whose first dimension is that of examples.
        y: the labels: None, an array, or arrays by name.
        batch_size: the number of examples in a batch; the last one may have fewer.
        num_epochs: how often each example comes; None: without end.
        shuffle: whether examples are mixed; it has to be said.
        queue_capacity: how many examples are ready at once.
        num_threads: how many threads bring them; with several their order is not certain.

    Raises:
        ValueError: `shuffle` is not said, or, when the function is called, arrays are empty or differ in
            length, or a feature and a label have the same name.
        TypeError: `x` is neither an array nor a dict.
    """
    _check_shuffle(shuffle)

    def input_fn() -> Any:
        features = _features(x)
        labels = _labels(y, features)
        columns = {**features, **labels}
        lengths = {name: np.shape(array)[0] for name, array in columns.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(
                "Length of tensors in x and y is mismatched. All elements in x and y must have the same "
                f"length.\nShapes in x: { {name: np.shape(array) for name, array in features.items()} }\n"
                f"Shapes in y: { {name: np.shape(array) for name, array in labels.items()} }\n"
            )
        made = fed_queue.batches(
            {name: np.asarray(array) for name, array in columns.items()},
            *(batch_size, num_epochs, bool(shuffle), queue_capacity, num_threads),
        )
        taken: Any = {name: made[name] for name in features}
        if _DIRECT in taken:
            taken = taken[_DIRECT]
        if y is None:
            return taken
        if isinstance(y, Mapping):
            return taken, {name: made[name] for name in labels}
        return taken, made[_TARGET]

    return input_fn


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """An `input_fn` of a data frame (`tf.estimator.inputs.pandas_input_fn`).

    Args:
        x: a DataFrame; each column is a feature.
        y: the labels: None, a Series, or a DataFrame.
        batch_size, num_epochs, shuffle, queue_capacity, num_threads: as for `numpy_input_fn`.
        target_column: a name that no feature may have.

    Raises:
        TypeError: `x` is no DataFrame, or pandas is not installed.
        ValueError: `shuffle` is not said, the indices of `x` and `y` differ, or a column has the name of
            the target.
    """
    _check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    # Whoever has a frame has pandas: it need not be imported here.
    if not hasattr(x, "columns") or not hasattr(x, "index"):
        raise TypeError(f"pandas_input_fn takes a pandas.DataFrame; got {type(x).__name__}")
    features = {column: x[column].to_numpy() for column in x.columns}
    if y is None:
        return numpy_input_fn(features, None, batch_size, num_epochs, shuffle, queue_capacity, num_threads)
    if target_column in features:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column with that "
            f"name: {list(x.columns)}"
        )
    if not np.array_equal(x.index, y.index):
        raise ValueError(
            f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
        )
    if hasattr(y, "columns"):
        labels: Any = {column: y[column].to_numpy() for column in y.columns}
    else:
        labels = y.to_numpy()
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def _check_shuffle(shuffle: Any) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
            f"training); got {shuffle}"
        )


def _features(x: Any) -> dict[str, Any]:
    if isinstance(x, Mapping):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return {name: x[name] for name in sorted(x)}
    if isinstance(x, np.ndarray):
        if not x.size:
            raise ValueError("x cannot be an empty array")
        return {_DIRECT: x}
    raise TypeError(f"x must be a dict or array; got {type(x).__name__}")


def _labels(y: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    if y is None:
        return {}
    if not isinstance(y, Mapping):
        return {_TARGET: y}
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    common = sorted(set(y) & set(features))
    if common:
        raise ValueError(f"{len(common)} duplicate keys are found in both x and y: {common}")
    return {name: y[name] for name in sorted(y)}
