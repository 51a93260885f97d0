"""`tf.data.Iterator`, from which a graph takes the elements of a dataset."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import compatible
from tensorfleet.data.nested import Optional
from tensorfleet.data.structure import Structure
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.func_graph import Traced, trace_by_value
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset

_MANY_CALLS = 32
_ADVICE = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates that "
    "`Iterator.get_next()` is being called inside a training loop, which will cause gradual slowdown and "
    "eventual resource exhaustion. If this is the case, restructure your code to call `next_element = "
    "iterator.get_next()` once outside the loop, and use `next_element` as the input to some computation "
    "that is invoked inside the loop."
)


class Iterator:
    """An iterator over the elements of a dataset, one for each step (`tf.data.Iterator`).

    Made by `tf.data.make_initializable_iterator`, `tf.data.make_one_shot_iterator` or `from_structure`.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
    ) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._structure = Structure.from_types(output_types, output_shapes, output_classes)
        self._string_handle: Tensor = apply_op("IteratorToStringHandle", iterator_resource)
        self._calls = 0

    @staticmethod
    def _of(resource: Tensor, initializer: Operation | None, structure: Structure) -> Iterator:
        return Iterator(
            resource, initializer, structure.output_types, structure.output_shapes, structure.output_classes
        )

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator without a dataset, for `make_initializer` (`tf.data.Iterator.from_structure`).

        Args:
            output_types: dtypes, in the nested structure of elements.
            output_shapes: shapes, in the same structure; None for any shapes.
            shared_name: the name under which sessions share the iterator.
            output_classes: Tensor or SparseTensor, in the same structure; None if all are tensors.
        """
        structure = Structure.from_types(output_types, output_shapes, output_classes)
        resource = apply_op("IteratorV2", container="", shared_name=shared_name or "", **structure.attrs)
        return Iterator._of(resource, None, structure)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator named by a string, which can be fed (`tf.data.Iterator.from_string_handle`)."""
        structure = Structure.from_types(output_types, output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, dtypes.string)
        resource = apply_op("IteratorFromStringHandleV2", handle, **structure.attrs)
        return Iterator._of(resource, None, structure)

    @property
    def initializer(self) -> Operation:
        """The operation that sets the iterator to the start of its dataset.

        Raises:
            ValueError: the iterator has no dataset of its own, or is a one-shot iterator.
        """
        if self._initializer is None:
            raise ValueError(
                "The iterator does not have an initializer. This means it was likely created using "
                "`tf.data.Dataset.make_one_shot_iterator()`. For an initializable iterator, use "
                "`tf.data.Dataset.make_initializable_iterator()` instead."
            )
        return self._initializer

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """An operation that sets the iterator to the start of a dataset.

        Raises:
            TypeError: the structure, types or shapes of elements differ from the iterator's.
        """
        own, other = self._structure, dataset._structure
        if not own.agrees(other):
            raise TypeError(
                f"Expected output types {own.output_types!r} but got dataset with output types "
                f"{other.output_types!r}."
            )
        if not all(map(compatible, own.dims, other.dims)):
            raise TypeError(
                f"Expected output shapes compatible with {own.output_shapes!r} but got dataset with output "
                f"shapes {other.output_shapes!r}."
            )
        with get_default_graph().colocate_with(self._iterator_resource):
            made: Operation = apply_op(
                "MakeIterator", dataset._variant_tensor, self._iterator_resource, name=name
            )
        return made

    def get_next(self, name: str | None = None) -> Any:
        """The next element, in its nested structure. Call this once, and run the result for each element.

        Raises:
            OutOfRangeError: in a run, at the end of the dataset.
            FailedPreconditionError: in a run, if the iterator is not initialized.
        """
        self._calls += 1
        if self._calls > _MANY_CALLS:
            warnings.warn(_ADVICE, stacklevel=2)
        with get_default_graph().colocate_with(self._iterator_resource):
            flat = apply_op("IteratorGetNext", self._iterator_resource, name=name, **self._structure.attrs)
            return self._structure.element(flat)

    def get_next_as_optional(self) -> Optional:
        """The next element as an optional value, which at the end of the dataset has none."""
        structure = self._structure
        with get_default_graph().colocate_with(self._iterator_resource):
            variant = apply_op("IteratorGetNextAsOptional", self._iterator_resource, **structure.attrs)
            return Optional._of(variant, structure)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that names the iterator, for `from_string_handle`."""
        if name is None:
            return self._string_handle
        made: Tensor = apply_op("IteratorToStringHandle", self._iterator_resource, name=name)
        return made

    @property
    def output_types(self) -> Any:
        """The dtype of each part of an element, in the structure of elements."""
        return self._structure.output_types

    @property
    def output_shapes(self) -> Any:
        """The TensorShape of each part of an element, in the structure of elements."""
        return self._structure.output_shapes

    @property
    def output_classes(self) -> Any:
        """The class of each part of an element, in the structure of elements."""
        return self._structure.output_classes

    @property
    def element_spec(self) -> Any:
        """The specs of the parts of an element, such as `tf.TensorSpec`, in the structure of elements."""
        return self._structure.element_spec


class NumpyIterator:
    """Elements as arrays, one after the other, which only eager mode has (`tf.data.NumpyIterator`).

    Raises:
        RuntimeError: always: graphs take elements by `Iterator.get_next`.
    """

    def __init__(self, dataset: Dataset) -> None:
        raise RuntimeError(
            "`tf.data.Dataset` only supports Python-style iteration in eager mode or within tf.function. "
            "Take elements by `tf.data.make_one_shot_iterator(dataset).get_next()`, and run it for each one."
        )


def enable_debug_mode() -> None:
    """Has functions of datasets called as Python functions (`tf.data.experimental.enable_debug_mode`).

    Raises:
        ValueError: always, as in a graph of TensorFlow.
    """
    raise ValueError("`enable_debug_mode() is only supported in eager mode.")


def get_next_as_optional(iterator: Iterator) -> Optional:
    """`Iterator.get_next_as_optional` (`tf.data.experimental.get_next_as_optional`)."""
    return iterator.get_next_as_optional()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """An iterator over a dataset that its `initializer` starts (`tf.data.make_initializable_iterator`)."""
    variant = dataset._variant_tensor
    _check_graph(variant)
    structure = dataset._structure
    with get_default_graph().colocate_with(variant):
        resource = apply_op("IteratorV2", container="", shared_name=shared_name or "", **structure.attrs)
        initializer = apply_op("MakeIterator", variant, resource)
        return Iterator._of(resource, initializer, structure)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """An iterator over a dataset that needs no initialization (`tf.data.make_one_shot_iterator`).

    Raises:
        ValueError: the dataset depends on a placeholder, or on state such as a variable.
    """
    variant = dataset._variant_tensor
    _check_graph(variant)
    structure = dataset._structure
    factory: Traced = trace_by_value("_make_dataset", variant)
    with get_default_graph().colocate_with(variant):
        resource = apply_op("OneShotIterator", dataset_factory=factory.attr, **structure.attrs)
        return Iterator._of(resource, None, structure)


def _check_graph(variant: Tensor) -> None:
    if variant.op.graph is not get_default_graph():
        raise ValueError(
            "The dataset was made in another graph than the default one. Make the dataset and its iterator "
            "in the same graph."
        )
