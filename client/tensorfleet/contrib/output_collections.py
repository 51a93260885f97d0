"""`tf.contrib.layers.utils`: collections of outputs, sizes."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.layer_scope import aliases_of, append_alias, named_outputs
from tensorfleet.contrib.weighted_layers import core_pair
from tensorfleet.graph import framework
from tensorfleet.ops.control_flow.smart_cond import known_predicate, smart_cond as smart_cond

collect_named_outputs = named_outputs
append_tensor_alias = append_alias
constant_value = known_predicate


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """The aliases of tensors."""
    return [name for tensor in tensors for name in aliases_of(tensor)]


def convert_collection_to_dict(collection: Any, clear_collection: bool = False) -> dict[str, Any]:
    """The tensors of a collection by their aliases; the last one of each alias.

    Args:
        clear_collection: whether the collection is empty afterwards.
    """
    found = {name: tensor for tensor in framework.get_collection(collection) for name in aliases_of(tensor)}
    if clear_collection:
        framework.get_collection_ref(collection).clear()
    return found


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections of a layer's variables of one kind."""
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return variables_collections


def _dimension(shape: Any, axis: int, min_rank: int) -> int | None:
    dims = shape.as_list()
    if len(dims) < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {len(dims)}")
    size: int | None = dims[axis]
    return size


def first_dimension(shape: Any, min_rank: int = 1) -> int | None:
    """The first size of a shape. Raises ValueError for a smaller rank."""
    return _dimension(shape, 0, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int | None:
    """The last size of a shape. Raises ValueError for a smaller rank."""
    return _dimension(shape, -1, min_rank)


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int | None:
    """The number of channels of a shape. Raises ValueError for a smaller rank."""
    return _dimension(shape, 1 if data_format == "NCHW" else -1, min_rank)


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """Two numbers, or one for both. Raises ValueError for more or fewer."""
    if isinstance(int_or_tuple, (list, tuple)) and len(int_or_tuple) != 2:
        raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
    first, second = core_pair(int_or_tuple)
    return first, second


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """`n` numbers above 0, or one for all. Raises ValueError for others."""
    values = tuple(int(v) for v in value) if isinstance(value, (list, tuple)) else (int(value),) * n
    if len(values) != n or min(values) < 1:
        raise ValueError(f"Expected {n} positive integers, got {value}")
    return values
