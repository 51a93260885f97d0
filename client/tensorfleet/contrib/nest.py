"""`tf.contrib.framework.nest`: values in nested lists, tuples and dicts."""

import typing as _typing

from tensorfleet.core.nest import (
    assert_same_structure as assert_same_structure,
    assert_shallow_structure as assert_shallow_structure,
    flatten as flatten,
    flatten_dict_items as flatten_dict_items,
    flatten_up_to as flatten_up_to,
    is_nested as is_nested,
    is_nested as is_sequence,
    map_structure as map_structure,
    map_structure_up_to as map_structure_up_to,
    pack_sequence_as as pack_sequence_as,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "assert_same_structure",
    "assert_shallow_structure",
    "flatten",
    "flatten_dict_items",
    "flatten_up_to",
    "is_nested",
    "is_sequence",
    "map_structure",
    "map_structure_up_to",
    "pack_sequence_as",
]
