"""What `fit` takes as arrays of the shapes that the model wants, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.keras.nest import to_list


def arrays(
    data: Any, names: list[str], shapes: list[Any], kind: str, dtypes: list[Any] | None = None
) -> list[Any]:
    """The arrays of inputs or targets in the order of `names`; those of rank 1 get a second dimension.

    Args:
        kind: "input" or "target", for messages.

    Raises:
        ValueError: a missing name, another number of arrays, or an array of another shape.
    """
    if data is None:
        return [None] * len(names)
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        values = [data[name] for name in names]
    elif isinstance(data, (list, tuple)) and not (
        len(names) == 1 and (not len(data) or not hasattr(data[0], "shape"))
    ):
        values = list(data)
        if len(values) != len(names):
            raise ValueError(
                f"Error when checking model {kind}: the list of Numpy arrays that you are passing "
                f"to your model is "
                f"not the size the model expected. Expected to see {len(names)} array(s), but "
                f"instead got the "
                f"following list of {len(values)} arrays: {str(values)[:200]}..."
            )
    else:
        values = [data]
    found = [_array(value, None if dtypes is None else dtypes[i]) for i, value in enumerate(values)]
    for name, value, shape in zip(names, found, shapes, strict=True):
        _check(name, value, shape, kind)
    return found


def _array(value: Any, dtype: Any) -> Any:
    if hasattr(value, "iloc") or type(value).__module__.startswith("pandas"):
        value = value.values
    if hasattr(value, "tocsr"):
        value = value.toarray()
    if not isinstance(value, np.ndarray):
        value = np.asarray(value)
    if value.dtype == object and (dtype is None or dtype.name != "string"):
        raise ValueError(
            "The data are no array of numbers, perhaps lists of different lengths. "
            "tf.keras.preprocessing.sequence.pad_sequences makes them equal."
        )
    if value.ndim == 1:
        value = value[:, None]
    if dtype is not None and dtype.is_floating and value.dtype.kind in "fiub":
        value = value.astype(dtype.as_numpy_dtype, copy=False)
    return value


def _check(name: str, value: Any, shape: Any, kind: str) -> None:
    if shape is None:
        return
    if len(shape) != value.ndim:
        raise ValueError(
            f"Error when checking {kind}: expected {name} to have {len(shape)} dimensions, but "
            f"got array with "
            f"shape {value.shape}"
        )
    for wanted, size in list(zip(shape, value.shape, strict=True))[1:]:
        if wanted is not None and wanted != size:
            raise ValueError(
                f"Error when checking {kind}: expected {name} to have shape {tuple(shape[1:])} but got array "
                f"with shape {value.shape[1:]}"
            )


def sample_weights(
    given: Any, classes: Any, targets: list[Any], names: list[str], temporal: list[bool]
) -> list[Any]:
    """The weights of examples for each output, None for weights of 1.

    Args:
        given: weights, or a list or dict of them.
        classes: weights by the numbers of classes, or a list or dict of such by output.

    Raises:
        ValueError: not as many weights as examples, or a class without a weight.
    """
    each: list[Any] = _each(given, names)
    by_class: list[Any] = [None] * len(names)
    if classes is not None:
        keyed = isinstance(classes, dict) and any(isinstance(v, dict) for v in classes.values())
        if keyed or isinstance(classes, (list, tuple)):
            by_class = _each(classes, names)
        else:
            by_class = [classes] * len(names)
    result = []
    for weights, classes_, target, is_temporal in zip(each, by_class, targets, temporal, strict=True):
        if weights is not None:
            weights = np.asarray(weights, np.float32)
            if is_temporal and weights.ndim != 2:
                raise ValueError(
                    f"Found a sample_weight array with shape {weights.shape}. In order to use timestep-wise "
                    "sample weighting, you should pass a 2D sample_weight array."
                )
            if not is_temporal and weights.ndim != 1:
                raise ValueError(
                    f"Found a sample_weight array with shape {weights.shape}. In order to use timestep-wise "
                    'sample weights, you should specify sample_weight_mode="temporal" in compile().'
                )
            if target is not None and len(weights) != len(target):
                raise ValueError(
                    f"Found a sample_weight array with {len(weights)} weights for {len(target)} samples."
                )
        if classes_:
            found = _class_weights(classes_, target)
            weights = found if weights is None else weights * found
        result.append(weights)
    return result


def _each(given: Any, names: list[str]) -> list[Any]:
    if given is None:
        return [None] * len(names)
    if isinstance(given, dict):
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)) and len(names) > 1:
        return list(given)
    if isinstance(given, (list, tuple)) and len(given) == 1 and hasattr(given[0], "shape"):
        return list(given)
    return [given] * len(names)


def _class_weights(weights: dict[Any, float], target: Any) -> Any:
    if target.ndim > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    classes = (
        target.argmax(axis=1) if target.ndim == 2 and target.shape[1] > 1 else target.reshape(len(target))
    )
    missing = sorted({int(c) for c in np.unique(classes)} - {int(c) for c in weights})
    if missing:
        raise ValueError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in "
            f"the data but "
            "not in `class_weight`."
        )
    return np.array([weights[int(c)] for c in classes], np.float32)


def check_lengths(*groups: list[Any]) -> int:
    """The number of examples, which all arrays have.

    Raises:
        ValueError: some have another number.
    """
    sizes = sorted({len(a) for group in groups for a in group if a is not None})
    if len(sizes) > 1:
        raise ValueError(
            f"All input, target and weight arrays should have the same number of samples. Found: {sizes}"
        )
    return sizes[0] if sizes else 0


def batches(
    values: list[Any], count: int, batch_size: int, shuffle: Any, drop: bool = False
) -> Iterator[tuple[list[Any], int]]:
    """The values batch by batch, and how many examples a batch has.

    Args:
        shuffle: whether the examples are in a new order; "batch" moves whole batches.
    """
    order = np.arange(count)
    if shuffle == "batch":
        whole = count // batch_size
        head = order[: whole * batch_size].reshape(whole, batch_size)
        np.random.shuffle(head)
        order = np.concatenate([head.reshape(-1), order[whole * batch_size :]])
    elif shuffle:
        np.random.shuffle(order)
    for begin in range(0, count, batch_size):
        chosen = order[begin : begin + batch_size]
        rows: Any = chosen if shuffle else slice(begin, begin + len(chosen))
        yield [None if value is None else value[rows] for value in values], len(chosen)


def split(values: list[Any], at: int) -> tuple[list[Any], list[Any]]:
    """The first `at` examples, and the others."""
    return [v if v is None else v[:at] for v in values], [v if v is None else v[at:] for v in values]


def parts_of_batch(batch: Any) -> tuple[Any, Any, Any]:
    """Inputs, targets and weights of what a generator gives."""
    if not isinstance(batch, tuple):
        return batch, None, None
    if len(batch) not in (1, 2, 3):
        raise ValueError(
            f"Output of generator should be a tuple `(x, y, sample_weight)` or `(x, y)`. Found: {batch}"
        )
    x, y, weights = (*batch, None, None)[:3]
    return x, y, weights


def size_of(x: Any) -> int:
    """The number of examples of a batch of inputs."""
    first = (
        next(iter(x.values()))
        if isinstance(x, dict)
        else to_list(x)[0]
        if isinstance(x, (list, tuple))
        else x
    )
    return int(np.shape(first)[0]) if np.ndim(first) else 1
