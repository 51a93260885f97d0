"""Datasets as a program makes them: structures, types, shapes, and what is refused at once."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core.structures import ELEMENTS as nest

Dataset: Any = tf.data.Dataset
Pair = namedtuple("Pair", ["first", "second"])


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def values(dataset: Any, most: int = 100) -> list[Any]:
    """The elements of a dataset, in a session of their own."""
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    found: list[Any] = []
    with tf.Session() as session:
        while len(found) < most:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                break
    return found


def test_structures_are_kept() -> None:
    dataset = Dataset.from_tensor_slices(({"b": [1, 2], "a": [1.0, 2.0]}, Pair([b"x", b"y"], np.eye(2))))
    assert dataset.output_types == ({"b": tf.int32, "a": tf.float32}, Pair(tf.string, tf.float64))
    assert tf.data.get_output_shapes(dataset)[1].second.as_list() == [2]
    assert dataset.output_classes[0]["a"] is tf.Tensor
    first, second = values(dataset)
    assert first[0] == {"b": 1, "a": 1.0}
    assert type(first[1]) is Pair
    assert second[1].first == b"y"
    np.testing.assert_array_equal(second[1].second, [0, 1])


def test_a_list_is_a_value_and_a_tuple_is_not() -> None:
    assert Dataset.from_tensors([1, 2]).output_shapes.as_list() == [2]
    assert nest.flatten(Dataset.from_tensors((1, 2)).output_shapes) == [tf.TensorShape([])] * 2


def test_static_shapes() -> None:
    dataset = Dataset.from_tensor_slices(np.zeros((10, 3, 4)))
    assert dataset.batch(4).output_shapes.as_list() == [None, 3, 4]
    assert dataset.batch(4, drop_remainder=True).output_shapes.as_list() == [4, 3, 4]
    assert dataset.map(lambda x: x[0]).output_shapes.as_list() == [4]
    assert dataset.padded_batch(2, [5, None]).output_shapes.as_list() == [None, 5, None]
    assert dataset.concatenate(Dataset.from_tensors(np.zeros((2, 4)))).output_shapes.as_list() == [None, 4]
    iterator = tf.data.make_one_shot_iterator(dataset.take(2))
    assert iterator.get_next().shape.as_list() == [3, 4]
    assert iterator.output_types is tf.float64


def test_arguments_may_be_tensors() -> None:
    count = tf.constant(2, tf.int64)
    found = values(Dataset.range(4).repeat(count).skip(count).batch(count * 2))
    assert [list(batch) for batch in found] == [[2, 3, 0, 1], [2, 3]]


def test_a_function_uses_what_is_around_it() -> None:
    factor = tf.get_variable("factor", initializer=tf.constant(3, tf.int64), use_resource=True)
    plain = tf.get_variable("plain", initializer=tf.constant(100, tf.int64))
    dataset = Dataset.range(3).map(lambda x: x * factor + plain)
    iterator = tf.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(iterator.initializer)
        assert session.run(following) == 100
        session.run([factor.assign(5), plain.assign(0)])
        # A resource is read at each element; of a reference, the value when the iterator was initialized.
        assert session.run(following) == 105


def test_what_a_function_uses_of_functions_around_it() -> None:
    ten = tf.constant(10, tf.int64)
    dataset = Dataset.range(3).flat_map(
        lambda x: Dataset.range(2).flat_map(lambda y: Dataset.from_tensors(x * ten + y).map(lambda z: z + x))
    )
    assert values(dataset) == [0, 1, 11, 12, 22, 23]


def test_functions_in_the_graph_def() -> None:
    Dataset.range(3).flat_map(lambda x: Dataset.range(x).map(lambda y: y + 1))
    library = tf.get_default_graph().as_graph_def().library
    assert [f.signature.input_arg[0].name for f in library.function] == ["args_0", "args_0"]
    assert "RangeDataset" in [node.op for node in library.function[1].node_def]


def test_control_inputs_and_scopes_of_the_outer_graph_stay_outside() -> None:
    with tf.device("/cpu:0"), tf.name_scope("outside"), tf.control_dependencies([tf.no_op()]):
        dataset = Dataset.range(2).map(lambda x: tf.identity(x, "inside"))
    (function,) = tf.get_default_graph().as_graph_def().library.function
    (node,) = [n for n in function.node_def if n.op == "Identity"]
    assert (node.name, list(node.input), node.device) == ("inside", ["args_0"], "")
    assert values(dataset) == [0, 1]


def refused(error: type[Exception], match: str, make: Any) -> None:
    with pytest.raises(error, match=match):
        make()


def test_what_is_refused() -> None:
    numbers = Dataset.range(3)
    refused(ValueError, "rank >= 1", lambda: Dataset.from_tensor_slices(1))
    refused(ValueError, "not compatible", lambda: Dataset.from_tensor_slices(([1, 2], [1])))
    refused(ValueError, "between 1 and 3", lambda: Dataset.range())
    refused(TypeError, "`list` is not supported", lambda: Dataset.zip([numbers, numbers]))
    refused(TypeError, "encountered object of type", lambda: Dataset.zip((numbers, 3)))
    refused(TypeError, "Incompatible types", lambda: numbers.concatenate(Dataset.from_tensors(1.0)))
    refused(tf.errors.InvalidArgumentError, "between 0 and 1", lambda: values(numbers.shard(2, 2)))
    refused(TypeError, "Unsupported return value", lambda: numbers.map(lambda x: None))
    refused(TypeError, "must return a `Dataset`", lambda: numbers.flat_map(lambda x: x))
    refused(ValueError, "must return a `tf.bool` scalar", lambda: numbers.filter(lambda x: x))
    refused(TypeError, "must return a `tf.data.Dataset`", lambda: numbers.apply(lambda d: 3))
    refused(ValueError, "not compatible", lambda: Dataset.from_tensors([1, 2]).padded_batch(2, [1]))
    refused(TypeError, "does not match output type", lambda: numbers.padded_batch(2, [], tf.constant(1.0)))
    refused(ValueError, "inside of a function", lambda: numbers.map(lambda x: tf.Variable(1)))
    refused(TypeError, "either `output_types`", lambda: Dataset.from_generator(lambda: iter([])))
    refused(
        ValueError, "only one of", lambda: tf.data.experimental.map_and_batch(abs, 2, 1, num_parallel_calls=1)
    )


def test_the_types_of_iterators_are_checked() -> None:
    iterator = tf.data.Iterator.from_structure(tf.int64, [2])
    refused(
        TypeError, "Expected output types", lambda: iterator.make_initializer(Dataset.from_tensors([1, 2]))
    )
    refused(TypeError, "Expected output shapes", lambda: iterator.make_initializer(Dataset.range(3)))
    refused(ValueError, "does not have an initializer", lambda: iterator.initializer)


def test_a_dataset_of_another_graph_is_refused() -> None:
    dataset = Dataset.range(3)
    with tf.Graph().as_default():
        refused(ValueError, "another graph", lambda: tf.data.make_initializable_iterator(dataset))


def test_many_calls_of_get_next_are_warned_of() -> None:
    iterator = tf.data.make_one_shot_iterator(Dataset.range(3))
    for _ in range(32):
        iterator.get_next()
    with pytest.warns(UserWarning, match="unusually high number"):
        iterator.get_next()


def test_an_options_object_keeps_hints() -> None:
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.threading.private_threadpool_size = 2
    assert Dataset.range(3).with_options(options).repeat().options().threading.private_threadpool_size == 2
    refused(AttributeError, "Cannot set the property", lambda: setattr(options, "no_such", 1))


class TestGenerators:
    def test_elements_and_their_structure(self) -> None:
        def generate() -> Iterator[Any]:
            yield {"a": 1, "b": [1.5, 2.5]}
            yield {"a": np.int32(2), "b": np.array([3.5])}

        dataset = Dataset.from_generator(generate, {"a": tf.int32, "b": tf.float32}, {"a": [], "b": [None]})
        first, second = values(dataset)
        assert (first["a"], second["a"]) == (1, 2)
        assert second["b"].dtype == np.float32

    @pytest.mark.parametrize(
        ("element", "match"),
        [
            ((1,), "did not match the expected structure"),
            ((1, "x"), "could not be converted to the expected type"),
            ((1, [1, 2]), "an element of shape"),
        ],
    )
    def test_elements_of_another_kind(self, element: Any, match: str) -> None:
        dataset = Dataset.from_generator(lambda: iter([element]), (tf.int32, tf.int32), ([], [3]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            values(dataset)

    def test_a_generator_is_closed_with_its_iterator(self) -> None:
        closed = []

        def generate() -> Iterator[int]:
            try:
                yield from range(100)
            finally:
                closed.append(True)

        iterator = tf.data.make_initializable_iterator(Dataset.from_generator(generate, tf.int64, []))
        following = iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            assert [session.run(following) for _ in range(2)] == [0, 1]
            assert not closed
            session.run(iterator.initializer)
            assert closed
            assert session.run(following) == 0
        assert closed == [True, True]


@pytest.mark.parametrize("initial", [[0.9, 0.1], None])
def test_rejection_changes_the_distribution_of_classes(initial: list[float] | None) -> None:
    numbers = Dataset.from_tensor_slices({"x": np.arange(4000) % 10})
    resampled = numbers.rejection_resample(
        lambda e: tf.cast(tf.equal(e["x"], 0), tf.int32), [0.5, 0.5], initial, seed=3
    )
    assert resampled.output_types == (tf.int32, {"x": tf.int64})
    found = values(resampled, 4000)
    classes = [int(label) for label, _ in found]
    assert all((e["x"] == 0) == bool(label) for label, e in found)
    assert 600 < len(classes) < 1000  # all 400 of the rare class, and as many others
    assert 0.4 < sum(classes) / len(classes) < 0.6
    pairs = Dataset.zip((Dataset.range(20), Dataset.range(20)))
    kept = values(pairs.apply(tf.data.experimental.rejection_resample(lambda a, b: 0, [1.0], [1.0])))
    assert [(int(a), int(b)) for _, (a, b) in kept] == [(i, i) for i in range(20)]


def test_a_window_cannot_be_fetched() -> None:
    window = Dataset.range(5).window(2).make_one_shot_iterator().get_next()
    with tf.Session() as session, pytest.raises(TypeError, match="fetch"):
        session.run(window)


def test_a_variant_that_is_no_dataset() -> None:
    batch = Dataset.range(5).window(2).batch(2).make_one_shot_iterator().get_next()
    for made in (batch.batch(2).get_single_element(), batch.cardinality(), batch.reduce(0, lambda n, x: n)):
        with (
            tf.Session() as session,
            pytest.raises(tf.errors.InvalidArgumentError, match="batch of 2 datasets is not a dataset"),
        ):
            session.run(made)
    optional = tf.data.experimental.Optional.from_value(1)
    taken = Dataset._of(optional._variant_tensor, Dataset.range(1)._structure)
    flat = Dataset.range(2).flat_map(lambda x: taken).make_initializable_iterator()
    whole = taken.make_initializable_iterator()
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected a dataset"):
            session.run(whole.initializer)
        session.run(flat.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected a dataset"):
            session.run(flat.get_next())
