"""`tensorflow.python.data.kernel_tests.test_base`: the base of tests of datasets."""

# ruff: noqa: PT009, PT027 - assertions of unittest, which the tests use

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import tensorfleet as tf
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.run.python import test_combinations
from tensorfleet.run.python.structure import are_compatible


def default_test_combinations() -> list[Any]:
    """The modes in which tests of datasets run: here graphs alone."""
    return test_combinations.combine(tf_api_version=[1], mode=["graph"])


class DatasetTestBase(tf.test.TestCase):
    """Assertions on what datasets produce."""

    def assert_op_cancelled(self, op: Any) -> None:
        """Asserts that running raises CancelledError."""
        with self.assertRaises(tf.errors.CancelledError):
            self.evaluate(op)

    def assertValuesEqual(self, expected: Any, actual: Any) -> None:
        """Asserts that two values are equal; sparse ones by their parts."""
        if isinstance(expected, (tf.SparseTensor, tf.SparseTensorValue)):
            for part in ("indices", "values", "dense_shape"):
                self.assertAllEqual(getattr(expected, part), getattr(actual, part))
        else:
            self.assertAllEqual(expected, actual)

    def getNext(
        self, dataset: Any, requires_initialization: bool = False, shared_name: str | None = None
    ) -> Callable[[], Any]:
        """A function that returns the next element's tensors; TensorArrays as stacked tensors.

        Args:
            requires_initialization: for datasets that hold state: the iterator is initialized here.
            shared_name: the iterator's name for other sessions.
        """
        if requires_initialization:
            iterator = tf.data.make_initializable_iterator(dataset, shared_name)
            self.evaluate(iterator.initializer)
        else:
            iterator = tf.data.make_one_shot_iterator(dataset)
        element = iterator.get_next()
        if isinstance(element, tf.TensorArray):
            element = element.stack()
        return lambda: element

    def _compareOutputToExpected(
        self, result_values: Any, expected_values: Any, assert_items_equal: bool
    ) -> None:
        if assert_items_equal:
            self.assertItemsEqual(result_values, expected_values)
            return
        for result, expected in zip(result_values, expected_values, strict=True):
            nest.assert_same_structure(result, expected)
            for got, wanted in zip(nest.flatten(result), nest.flatten(expected), strict=True):
                self.assertValuesEqual(wanted, got)

    def assertDatasetProduces(
        self,
        dataset: Any,
        expected_output: Any = None,
        expected_shapes: Any = None,
        expected_error: Any = None,
        requires_initialization: bool = False,
        num_test_iterations: int = 1,
        assert_items_equal: bool = False,
        expected_error_iter: int = 1,
    ) -> None:
        """Asserts that a dataset has these elements and no more, or fails with this error.

        Args:
            expected_output: the elements.
            expected_shapes: the dataset's static shapes; not compared if empty.
            expected_error: an error's class and what its message matches, instead of elements.
            requires_initialization: as of `getNext`.
            num_test_iterations: how often to iterate.
            assert_items_equal: whether the order of elements does not count.
            expected_error_iter: within how many elements the error comes.
        """
        self.assertTrue(
            (expected_error is None) != (expected_output is None),
            "Exactly one of expected_output or expected error should be provided.",
        )
        if expected_error is not None:
            with self.assertRaisesWithPredicateMatch(*expected_error):
                get_next = self.getNext(dataset, requires_initialization)
                for _ in range(expected_error_iter):
                    self.evaluate(get_next())
            return
        if expected_shapes:
            self.assertEqual(expected_shapes, tf.data.get_output_shapes(dataset))
        self.assertGreater(num_test_iterations, 0)
        for _ in range(num_test_iterations):
            get_next = self.getNext(dataset, requires_initialization)
            produced = [self.evaluate(get_next()) for _ in expected_output]
            self._compareOutputToExpected(produced, list(expected_output), assert_items_equal)
            for _ in range(2):  # the end stays the end
                with self.assertRaises(tf.errors.OutOfRangeError):
                    self.evaluate(get_next())

    def assertDatasetsEqual(self, dataset1: Any, dataset2: Any) -> None:
        """Asserts that two datasets have compatible structures and equal elements."""
        first, second = (tf.data.experimental.get_structure(d) for d in (dataset1, dataset2))
        self.assertTrue(are_compatible(first, second))
        types = nest.flatten(tf.data.get_output_types(dataset1))
        next1, next2 = self.getNext(dataset1), self.getNext(dataset2)
        while True:
            try:
                values = self.evaluate(next1())
            except tf.errors.OutOfRangeError:
                with self.assertRaises(tf.errors.OutOfRangeError):
                    self.evaluate(next2())
                return
            others = self.evaluate(next2())
            for value, other, dtype in zip(nest.flatten(values), nest.flatten(others), types, strict=True):
                if dtype == tf.string or isinstance(
                    value, (tf.SparseTensorValue, tf.compat.v1.ragged.RaggedTensorValue)
                ):
                    self.assertValuesEqual(value, other)
                else:
                    self.assertAllClose(value, other)

    def assertDatasetsRaiseSameError(
        self,
        dataset1: Any,
        dataset2: Any,
        exception_class: type[Exception],
        replacements: Iterable[tuple[str, str, int]] | None = None,
    ) -> None:
        """Asserts that the first element of both raises an error of this class with the same message.

        Args:
            replacements: what to replace in the message of the first, how often.
        """
        next1, next2 = self.getNext(dataset1), self.getNext(dataset2)
        with self.assertRaises(exception_class) as caught:
            self.evaluate(next1())
        message = getattr(caught.exception, "message", str(caught.exception))
        for old, new, count in replacements or ():
            message = message.replace(old, new, count)
        with self.assertRaisesRegex(exception_class, re.escape(message)):
            self.evaluate(next2())

    def structuredDataset(self, dataset_structure: Any, shape: Any = None, dtype: Any = tf.int64) -> Any:
        """A dataset of one element of zeros; nested tuples of None make zipped datasets."""
        if dataset_structure is None:
            return tf.data.Dataset.from_tensors(tf.zeros(shape or [], dtype))
        return tf.data.Dataset.zip(
            tuple(self.structuredDataset(part, shape, dtype) for part in dataset_structure)
        )

    def structuredElement(self, element_structure: Any, shape: Any = None, dtype: Any = tf.int64) -> Any:
        """An element of zeros, in nested tuples where there are such of None."""
        if element_structure is None:
            return tf.zeros(shape or [], dtype)
        return tuple(self.structuredElement(part, shape, dtype) for part in element_structure)
