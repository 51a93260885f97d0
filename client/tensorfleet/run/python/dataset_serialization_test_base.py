"""Iterators in checkpoints: `…kernel_tests.serialization.dataset_serialization_test_base`."""

# ruff: noqa: PT009, PT027 - assertions of unittest, which the tests use

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorfleet as tf
from tensorfleet.core.structures import ELEMENTS as nest

Make = Callable[[], Any]


def remove_variants(get_next_op: Any) -> Any:
    """The element with () in place of variant tensors, which cannot be fetched."""
    return nest.map_structure(
        lambda x: () if isinstance(x, tf.Tensor) and x.dtype == tf.variant else x, get_next_op
    )


class DatasetSerializationTestBase(tf.test.TestCase):
    """Asserts that datasets produce the same after their iterators were saved and restored.

    The arguments are everywhere: `ds_fn`, which makes the dataset; `num_outputs`, how many elements it has;
    `sparse_tensors`, whether its elements are the parts of SparseTensors; `verify_exhausted`, whether to look
    for its end.
    """

    def tearDown(self) -> None:
        """Removes the checkpoints."""
        for path in glob.glob(glob.escape(self._ckpt_path()) + "*"):
            os.remove(path)
        super().tearDown()

    def run_core_tests(self, ds_fn: Make, num_outputs: int, sparse_tensors: bool = False) -> None:
        """All checks of iterators: unused, used, exhausted, with breaks, and initialized anew."""
        self.verify_unused_iterator(ds_fn, num_outputs, sparse_tensors)
        self.verify_fully_used_iterator(ds_fn, num_outputs, sparse_tensors)
        self.verify_exhausted_iterator(ds_fn, num_outputs, sparse_tensors)
        self.verify_multiple_breaks(ds_fn, num_outputs, sparse_tensors=sparse_tensors)
        self.verify_reset_restored_iterator(ds_fn, num_outputs, sparse_tensors=sparse_tensors)

    def verify_unused_iterator(
        self, ds_fn: Make, num_outputs: int, sparse_tensors: bool = False, verify_exhausted: bool = True
    ) -> None:
        """A break before the first element."""
        self.verify_run_with_breaks(ds_fn, [0], num_outputs, sparse_tensors, verify_exhausted)

    def verify_fully_used_iterator(self, ds_fn: Make, num_outputs: int, sparse_tensors: bool = False) -> None:
        """A break behind the last element, before the end shows."""
        self.verify_run_with_breaks(ds_fn, [num_outputs], num_outputs, sparse_tensors)

    def verify_exhausted_iterator(self, ds_fn: Make, num_outputs: int, sparse_tensors: bool = False) -> None:
        """An iterator whose end was seen is still at the end when it is restored."""
        self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors)
        self.assertEqual(self.gen_outputs(ds_fn, [], 0, True, sparse_tensors), [])

    def verify_multiple_breaks(
        self,
        ds_fn: Make,
        num_outputs: int,
        num_breaks: int = 10,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
    ) -> None:
        """Breaks at even distances."""
        breaks = self.gen_break_points(num_outputs, num_breaks)
        self.verify_run_with_breaks(ds_fn, breaks, num_outputs, sparse_tensors, verify_exhausted)

    def verify_reset_restored_iterator(
        self,
        ds_fn: Make,
        num_outputs: int,
        break_point: int | None = None,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
    ) -> None:
        """An iterator that is initialized after it was restored begins anew."""
        options = {"sparse_tensors": sparse_tensors}
        expected = self.gen_outputs(ds_fn, [], num_outputs, verify_exhausted=verify_exhausted, **options)
        self.gen_outputs(ds_fn, [], break_point or num_outputs // 2, verify_exhausted=False, **options)
        with tf.Graph().as_default() as graph:
            initializer, element, saver = self._parts(ds_fn, sparse_tensors, is_saved=True)
            with self.session(graph=graph) as session:
                self._initialize(initializer, session)
                self._restore(saver, session)
                self._initialize(initializer, session)
                actual = [session.run(element) for _ in range(num_outputs)]
                if verify_exhausted:
                    with self.assertRaises(tf.errors.OutOfRangeError):
                        session.run(element)
        self.match(expected, actual)

    def verify_error_on_save(
        self,
        ds_fn: Make,
        num_outputs: int,
        error: Any,
        break_point: int | None = None,
        sparse_tensors: bool = False,
    ) -> None:
        """Saving raises this error."""
        with tf.Graph().as_default() as graph:
            initializer, element, saver = self._parts(ds_fn, sparse_tensors, is_saved=False)
            with self.session(graph=graph) as session:
                self._initialize(initializer, session)
                for _ in range(break_point or num_outputs // 2):
                    session.run(element)
                with self.assertRaises(error):
                    saver.save(session, self._ckpt_path())

    def verify_run_with_breaks(
        self,
        ds_fn: Make,
        break_points: Sequence[int],
        num_outputs: int,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
    ) -> None:
        """The elements are the same with breaks and without."""
        expected, actual = (
            self.gen_outputs(
                ds_fn, breaks, num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=verify_exhausted
            )
            for breaks in ([], break_points)
        )
        self.match(expected, actual)

    def gen_outputs(
        self,
        ds_fn: Make,
        break_points: Sequence[int],
        num_outputs: int,
        ckpt_saved: bool = False,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
        save_checkpoint_at_end: bool = True,
    ) -> list[Any]:
        """The elements; at each break the iterator is saved, and restored in a new graph and session.

        Args:
            break_points: after how many elements there are breaks.
            ckpt_saved: whether to begin with the saved iterator.
            save_checkpoint_at_end: whether to save behind the last element, too.
        """
        outputs: list[Any] = []
        ends = [*break_points, num_outputs]
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False), 1):
            is_last = part == len(ends)
            with tf.Graph().as_default() as graph:
                initializer, element, saver = self._parts(ds_fn, sparse_tensors, ckpt_saved)
                with self.session(graph=graph) as session:
                    self._initialize(initializer, session)
                    if ckpt_saved:
                        self._restore(saver, session)
                    outputs.extend(session.run(element) for _ in range(end - start))
                    if is_last and verify_exhausted:
                        with self.assertRaises(tf.errors.OutOfRangeError):
                            session.run(element)
                    if save_checkpoint_at_end or not is_last:
                        saver.save(session, self._ckpt_path())
                        ckpt_saved = True
        return outputs

    def match(self, expected: Any, actual: Any) -> None:
        """Asserts that nested values are equal, in their types and elements."""
        expected, actual = (v.tolist() if isinstance(v, np.ndarray) else v for v in (expected, actual))
        self.assertEqual(type(expected), type(actual))
        if isinstance(expected, dict):
            self.assertEqual(sorted(expected), sorted(actual))
            for key, value in expected.items():
                self.match(value, actual[key])
        elif isinstance(expected, list | tuple):
            self.assertEqual(len(expected), len(actual))
            for one, other in zip(expected, actual, strict=True):
                self.match(one, other)
        elif hasattr(expected, "nested_row_splits"):
            self.match(expected.to_list(), actual.to_list())
        else:
            self.assertEqual(expected, actual)

    def does_not_match(self, expected: Any, actual: Any) -> None:
        """Asserts that nested values differ."""
        with self.assertRaises(AssertionError):
            self.match(expected, actual)

    def gen_break_points(self, num_outputs: int, num_samples: int = 10) -> Any:
        """So many numbers from 0 to `num_outputs`, at even distances."""
        return np.linspace(0, num_outputs, num_samples, dtype=int)

    def _parts(self, ds_fn: Make, sparse_tensors: bool, is_saved: bool) -> tuple[Any, Any, Any]:
        """The iterator's initializer, its element and a Saver, new or of the checkpoint's graph."""
        if is_saved:
            saver = tf.train.import_meta_graph(self._ckpt_path() + ".meta")
            found = tf.get_collection("iterator_ops")
            with tf.Graph().as_default():
                dataset = ds_fn()
                types = tf.data.get_output_types(dataset)
                kinds = nest.flatten(tf.data.get_output_classes(dataset))
            tensors = iter(found[1:])
            if sparse_tensors:
                return found[0], tf.SparseTensor(*tensors), saver
            leaves = [
                tf.SparseTensor(*(next(tensors) for _ in range(3)))
                if kind is tf.SparseTensor
                else next(tensors)
                for kind in kinds
            ]
            return found[0], remove_variants(nest.pack(types, leaves)), saver
        iterator = tf.data.make_initializable_iterator(ds_fn())
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
        element = iterator.get_next()
        if sparse_tensors:
            element = tf.SparseTensor(*element)
        tf.add_to_collection("iterator_ops", iterator.initializer)
        for leaf in nest.flatten(element):
            is_sparse = isinstance(leaf, tf.SparseTensor)
            for tensor in (leaf.indices, leaf.values, leaf.dense_shape) if is_sparse else (leaf,):
                tf.add_to_collection("iterator_ops", tensor)
        return iterator.initializer, remove_variants(element), tf.train.Saver(allow_empty=True)

    def _ckpt_path(self) -> str:
        return os.path.join(self.get_temp_dir(), "iterator")

    def _restore(self, saver: Any, session: tf.Session) -> None:
        session.run(tf.tables_initializer())
        saver.restore(session, tf.train.latest_checkpoint(self.get_temp_dir()))

    def _initialize(self, initializer: Any, session: tf.Session) -> None:
        session.run(tf.global_variables_initializer())
        session.run(tf.tables_initializer())
        session.run(initializer)
