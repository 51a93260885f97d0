"""The transformations of datasets that call a function for each element: map, filter, flat_map, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import compatible
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.data.structure import NestedValue, Structure, components_of, normalize, trace_elements
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset
    from tensorfleet.data.options import Options
    from tensorfleet.graph.func_graph import Traced


class FunctionalTransformations(NestedValue):
    """The methods of `Dataset` that call functions."""

    _structure: Structure
    _options: Options | None

    @staticmethod
    def _of(variant: Tensor, structure: Structure, options: Options | None = None) -> Dataset:
        """The dataset with this variant tensor."""
        raise NotImplementedError

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool | None = False,
        name: str | None = None,
    ) -> Dataset:
        """The results of a function for each element.

        Args:
            map_func: a function, called once with tensors for the components of an element, that returns a
                nested structure of values that convert to tensors.
            num_parallel_calls: the number of elements to make at the same time, ahead of their use; AUTOTUNE
                for the number of cores; None to make each one when it is requested.
            deterministic, synchronous, use_unbounded_threadpool: ignored; the order is always that of the
                input.

        Raises:
            TypeError: `map_func` returns None.
        """
        return self._mapped(map_func, num_parallel_calls, False, name)

    def _mapped(
        self, map_func: Callable[..., Any], num_parallel_calls: Any, keep_count: bool, name: str | None
    ) -> Dataset:
        """`map`; with `keep_count`, there are as many elements as in the input."""
        traced, structure = _trace_map(map_func, self._structure)
        attrs = {"f": traced.attr, "preserve_cardinality": keep_count, "name": name}
        if num_parallel_calls is None:
            return self._made("MapDataset", traced, structure, **attrs)
        calls = convert_to_tensor(num_parallel_calls, dtypes.int64, "num_parallel_calls")
        return self._made("ParallelMapDatasetV2", traced, structure, calls, **attrs)

    def map_with_legacy_function(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        use_unbounded_threadpool: bool = False,
    ) -> Dataset:
        """`map`, under an older name."""
        return self.map(map_func, num_parallel_calls, deterministic)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Dataset:
        """`filter`, under an older name."""
        return self.filter(predicate)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` is true.

        Raises:
            ValueError: `predicate` does not return a scalar boolean.
        """

        def outputs(result: Any) -> list[Tensor]:
            tensor = None if isinstance(result, NestedValue) else convert_to_tensor(result)
            if tensor is None or tensor.dtype.base is not dtypes.bool or not compatible(tensor.dims, ()):
                raise ValueError(
                    "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return "
                    f"type is {result!r}."
                )
            return [tensor]

        traced = trace_elements("filter", predicate, self._structure, outputs)
        return self._made("FilterDataset", traced, self._structure, predicate=traced.attr, name=name)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The datasets that `map_func` makes from the elements, one after the other.

        Raises:
            TypeError: `map_func` does not return a dataset.
        """
        traced, structure = _trace_dataset("flat_map", map_func, self._structure)
        return self._made("FlatMapDataset", traced, structure, f=traced.attr, name=name)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the datasets that `map_func` makes from elements, `cycle_length` datasets in turn.

        Args:
            cycle_length: the number of datasets that take turns; by default `num_parallel_calls`, or 1.
                AUTOTUNE is the number of cores.
            block_length: the number of elements of each dataset at its turn, by default 1.
            num_parallel_calls: with any number, elements of all `cycle_length` datasets are made ahead.
            deterministic: ignored; the order never depends on speed.

        Raises:
            TypeError: `map_func` does not return a dataset.
        """
        if cycle_length is None:
            cycle_length = 1 if num_parallel_calls is None else num_parallel_calls
        traced, structure = _trace_dataset("interleave", map_func, self._structure)
        cycle = convert_to_tensor(cycle_length, dtypes.int64, "cycle_length")
        block = convert_to_tensor(1 if block_length is None else block_length, dtypes.int64, "block_length")
        if num_parallel_calls is None:
            return self._made("InterleaveDataset", traced, structure, cycle, block, f=traced.attr, name=name)
        calls = convert_to_tensor(num_parallel_calls, dtypes.int64, "num_parallel_calls")
        return self._made(
            "ParallelInterleaveDatasetV2", traced, structure, cycle, block, calls, f=traced.attr, name=name
        )

    def _made(
        self, op_type: str, traced: Traced, structure: Structure, *inputs: Tensor, **attrs: Any
    ) -> Dataset:
        variant = apply_op(
            op_type, self._variant_tensor, traced.captured, *inputs, **structure.attrs, **attrs
        )
        return self._of(variant, structure, self._options)


def _trace_map(map_func: Callable[..., Any], structure: Structure) -> tuple[Traced, Structure]:
    made: list[Structure] = []

    def outputs(result: Any) -> list[Tensor]:
        if isinstance(result, list):
            result = tuple(result)
        if any(part is None for part in nest.flatten(result)):
            raise TypeError(
                f"Unsupported return value from function passed to Dataset.map(): {result!r}. Return "
                "tensors, or what converts to them."
            )
        element = normalize(result)
        made.append(Structure.of(element))
        return components_of(element)

    traced = trace_elements("map", map_func, structure, outputs)
    return traced, made[0]


def _trace_dataset(
    label: str, map_func: Callable[..., Any], structure: Structure
) -> tuple[Traced, Structure]:
    made: list[Structure] = []

    def outputs(result: Any) -> list[Tensor]:
        if not isinstance(result, FunctionalTransformations):
            raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {type(result)!r}.")
        made.append(result._structure)
        return [result._variant_tensor]

    traced = trace_elements(label, map_func, structure, outputs)
    return traced, made[0]
