"""tf.estimator.inputs: arrays and frames as input functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

inputs = tf.estimator.inputs


def taken(input_fn: Any, limit: int = 100) -> list[Any]:
    """The batches until the end, or so many."""
    found = []
    with tf.Graph().as_default():
        batch = input_fn()
        with tf.train.MonitoredSession() as session:
            while not session.should_stop() and len(found) < limit:
                found.append(session.run(batch))
    return found


def test_each_row_comes_once_and_the_last_batch_is_smaller() -> None:
    x = {"a": np.arange(10), "b": np.arange(20.0).reshape(10, 2)}
    found = taken(inputs.numpy_input_fn(x, np.arange(10) + 100, batch_size=4, shuffle=False))
    assert [len(labels) for _, labels in found] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([f["a"] for f, _ in found]), x["a"])
    np.testing.assert_array_equal(np.concatenate([f["b"] for f, _ in found]), x["b"])
    np.testing.assert_array_equal(np.concatenate([y for _, y in found]), np.arange(10) + 100)


def test_epochs_follow_each_other_in_full_batches() -> None:
    found = taken(inputs.numpy_input_fn(np.arange(5), batch_size=4, num_epochs=3, shuffle=False))
    assert [batch.tolist() for batch in found] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4, 0, 1], [2, 3, 4]]
    endless = inputs.numpy_input_fn(np.arange(5), batch_size=4, num_epochs=None, shuffle=False)
    assert [len(batch) for batch in taken(endless, 50)] == [4] * 50
    assert endless().shape.as_list() == [4]


def test_rows_are_mixed_and_stay_together() -> None:
    x, y = np.arange(50), np.arange(50) * 2
    found = taken(inputs.numpy_input_fn({"x": x}, {"y": y}, batch_size=10, shuffle=True, num_threads=2))
    rows = np.concatenate([features["x"] for features, _ in found])
    np.testing.assert_array_equal(np.concatenate([labels["y"] for _, labels in found]), rows * 2)
    assert sorted(rows) == list(x)
    assert list(rows) != list(x)


def test_strings_come_as_bytes() -> None:
    (batch,) = taken(inputs.numpy_input_fn(np.array(["a", "ü"]), shuffle=False))
    assert batch.tolist() == [b"a", "ü".encode()]


def test_the_arrays_are_not_in_the_graph() -> None:
    inputs.numpy_input_fn(np.zeros([1000, 1000]), shuffle=False)()
    assert len(tf.get_default_graph().as_graph_def().SerializeToString()) < 10_000


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (({},), ValueError, "x cannot be an empty dict"),
        ((np.zeros([0]),), ValueError, "x cannot be an empty array"),
        (([1, 2],), TypeError, "x must be a dict or array; got list"),
        (({"a": np.zeros(2)}, np.zeros(3)), ValueError, "must have the same length"),
        (({"a": np.zeros(2)}, {}), ValueError, "y cannot be empty dict"),
        (({"a": np.zeros(2)}, {"a": np.zeros(2)}), ValueError, "duplicate keys"),
    ],
)
def test_arrays_are_checked(arguments: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inputs.numpy_input_fn(*arguments, shuffle=False)()


def test_shuffle_has_to_be_said() -> None:
    for function in (inputs.numpy_input_fn, inputs.pandas_input_fn):
        with pytest.raises(ValueError, match="shuffle must be provided"):
            function({"a": np.zeros(2)})


class Column:
    """What a data frame's column is used for."""

    def __init__(self, values: Any, index: Any = None) -> None:
        self._values = np.asarray(values)
        self.index = np.arange(len(self._values)) if index is None else index

    def to_numpy(self) -> Any:
        return self._values


class Frame:
    """What a data frame is used for: pandas is not installed with the tests."""

    def __init__(self, **columns: Any) -> None:
        self._columns = columns
        self.columns = list(columns)
        self.index = np.arange(len(next(iter(columns.values()))))

    def __getitem__(self, name: str) -> Column:
        return Column(self._columns[name])


def test_frames() -> None:
    x = Frame(a=[1, 2, 3], b=[b"p", b"q", b"r"])
    ((features, labels),) = taken(inputs.pandas_input_fn(x, Column([7, 8, 9]), shuffle=False))
    assert (features["a"].tolist(), features["b"].tolist()) == ([1, 2, 3], [b"p", b"q", b"r"])
    assert labels.tolist() == [7, 8, 9]
    ((_, several),) = taken(inputs.pandas_input_fn(x, Frame(y=[1, 2, 3], z=[4, 5, 6]), shuffle=False))
    assert several["z"].tolist() == [4, 5, 6]
    (alone,) = taken(inputs.pandas_input_fn(x, shuffle=False))
    assert set(alone) == {"a", "b"}
    with pytest.raises(ValueError, match="Index for x and y are mismatched"):
        inputs.pandas_input_fn(x, Column([7, 8, 9], np.array([1, 2, 3])), shuffle=False)
    with pytest.raises(ValueError, match="Cannot use name a for target column"):
        inputs.pandas_input_fn(x, Column([7, 8, 9]), shuffle=False, target_column="a")
    with pytest.raises(TypeError, match=r"takes a pandas\.DataFrame"):
        inputs.pandas_input_fn({"a": 1}, shuffle=False)
    with pytest.raises(TypeError, match="target_column must be a string"):
        inputs.pandas_input_fn(x, shuffle=False, target_column=3)  # type: ignore[arg-type]
