"""`Dataset.from_generator`: a Python generator in this process as a dataset."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.core.dims import compatible
from tensorfleet.core.shapes import TensorShape
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.data.structure import Structure
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.func_graph import trace
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.io.script import py_func


class _Running:
    """The generators in use by iterators, by number."""

    def __init__(self, generator: Callable[..., Any], structure: Structure) -> None:
        self._generator = generator
        self._structure = structure
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._iterators: dict[int, Iterator[Any]] = {}

    def begin(self, *arguments: Any) -> Any:
        iterator = iter(self._generator(*arguments))
        with self._lock:
            number = next(self._numbers)
            self._iterators[number] = iterator
        return np.int64(number)

    def go_on(self, number: Any) -> list[Any]:
        """The components of the next element. Raises StopIteration at the end."""
        value = next(self._iterators[int(number)])
        structure = self._structure
        try:
            flat = nest.flatten_up_to(structure.shape_of, value)
        except (TypeError, ValueError) as e:
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The expected "
                f"structure was {structure.output_types}, but the yielded element was {value}."
            ) from e
        arrays = []
        for part, dtype, dims in zip(flat, structure.types, structure.dims, strict=True):
            try:
                array = tensor_util.convert_value(part, dtype)
            except (TypeError, ValueError) as e:
                raise TypeError(
                    "`generator` yielded an element that could not be converted to the expected type. The "
                    f"expected type was {dtype.name}, but the yielded element was {part}."
                ) from e
            if not compatible(dims, array.shape):
                raise TypeError(
                    f"`generator` yielded an element of shape {array.shape} where an element of shape "
                    f"{TensorShape(dims)} was expected."
                )
            arrays.append(array)
        return arrays

    def end(self, number: Any) -> Any:
        with self._lock:
            iterator = self._iterators.pop(int(number), None)
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
        return np.int64(0)


def generate(generator: Callable[..., Any], structure: Structure) -> Callable[[Sequence[Tensor]], Tensor]:
    """A function from the generator's arguments to a GeneratorDataset in the default graph."""
    running = _Running(generator, structure)

    def begin(*arguments: Tensor) -> Any:
        return py_func(running.begin, list(arguments), dtypes.int64)

    def go_on(number: Tensor) -> Any:
        tensors = py_func(running.go_on, [number], structure.types)
        for tensor, dims in zip(tensors, structure.dims, strict=True):
            tensor.set_shape(TensorShape(dims))
        return tensors

    def end(number: Tensor) -> Any:
        return py_func(running.end, [number], dtypes.int64)

    def make(arguments: Sequence[Tensor]) -> Tensor:
        parts = {
            "init_func": trace("Dataset_from_generator", begin, [(t.dtype, t.dims) for t in arguments], _one),
            "next_func": trace("Dataset_from_generator", go_on, [(dtypes.int64, ())], list),
            "finalize_func": trace("Dataset_from_generator", end, [(dtypes.int64, ())], _one),
        }
        attrs: dict[str, Any] = {key: traced.attr for key, traced in parts.items()}
        attrs.update(structure.attrs)
        variant: Tensor = apply_op("GeneratorDataset", list(arguments), [], [], **attrs)
        return variant

    return make


def _one(result: Tensor) -> list[Tensor]:
    return [result]
