"""`tf.nest`: values in nested lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core.structures import PLAIN, VALUES, Nesting, is_nested as _is_nested


def _nesting(expand_composites: bool) -> Nesting:
    return VALUES if expand_composites else PLAIN


def is_nested(seq: Any) -> bool:
    """Whether it is a list, a tuple or a dict (`tf.nest.is_nested`)."""
    return _is_nested(seq)


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves from left to right, a dict's by its sorted keys (`tf.nest.flatten`).

    Args:
        expand_composites: whether sparse tensors and their like are parts of the structure, and no leaves.
    """
    return _nesting(expand_composites).flatten(structure)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """A structure with other leaves (`tf.nest.pack_sequence_as`).

    Raises:
        TypeError: `flat_sequence` is no sequence.
        ValueError: it has more or fewer elements than the structure has leaves.
    """
    if not isinstance(flat_sequence, Sequence) or isinstance(flat_sequence, (str, bytes)):
        raise TypeError(
            f"Attempted to pack value:\n  {flat_sequence!r}\ninto a structure, but it is no sequence."
        )
    nesting = _nesting(expand_composites)
    count = len(nesting.flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had "
            f"{len(flat_sequence)} items. Structure: {structure}, flat_sequence: {flat_sequence!r}."
        )
    return nesting.pack(structure, flat_sequence)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Compares two structures (`tf.nest.assert_same_structure`).

    Raises:
        ValueError: they have different parts.
        TypeError: parts of them are of different kinds, unless `check_types` is False.
    """
    nesting = _nesting(expand_composites)
    if check_types:
        nesting.assert_same_structure(nest1, nest2)
    else:
        nesting.flatten_up_to(nest1, nest2)
        nesting.flatten_up_to(nest2, nest1)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """The structure of what `func` makes of the leaves (`tf.nest.map_structure`).

    Args:
        kwargs: `check_types` and `expand_composites`, as in `assert_same_structure`.

    Raises:
        TypeError: `func` cannot be called, or another argument.
        ValueError: no structure, or structures that are not alike.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types, expand = kwargs.pop("check_types", True), kwargs.pop("expand_composites", False)
    if kwargs:
        raise TypeError(f"map_structure got an unexpected keyword argument: {next(iter(kwargs))}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand)
    nesting = _nesting(expand)
    columns = zip(*map(nesting.flatten, structure), strict=True)
    return nesting.pack(structure[0], [func(*leaves) for leaves in columns])


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """The parts of `input_tree` that stand where `shallow_tree` has leaves."""
    return PLAIN.flatten_up_to(shallow_tree, input_tree)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """The structure of `shallow_tree` of what `func` makes of the parts of the others."""
    columns = zip(*(PLAIN.flatten_up_to(shallow_tree, tree) for tree in inputs), strict=True)
    return PLAIN.pack(shallow_tree, [func(*parts) for parts in columns])


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Checks that `input_tree` has the structure of `shallow_tree`, down to the leaves of that.

    Raises:
        TypeError: a leaf where `shallow_tree` has none, or other types unless `check_types` is False.
        ValueError: another number of parts, or other keys.
    """
    PLAIN.flatten_up_to(shallow_tree, input_tree)
    if check_types:
        _assert_types(shallow_tree, input_tree)


def _assert_types(shallow: Any, given: Any) -> None:
    items = PLAIN.items(shallow)
    if items is None:
        return
    if type(shallow) is not type(given) and not (isinstance(shallow, dict) and isinstance(given, dict)):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(given)}, while shallow structure has type {type(shallow)}."
        )
    for item, other in zip(items, PLAIN.items(given) or [], strict=True):
        _assert_types(item, other)


def flatten_dict_items(dictionary: dict[Any, Any]) -> dict[Any, Any]:
    """A flat dict of one whose keys and values are nested alike: {(1, 2): (3, 4)} becomes {1: 3, 2: 4}.

    Raises:
        TypeError: no dict.
        ValueError: a key and its value are not nested alike, or a key is there twice.
    """
    if not isinstance(dictionary, dict):
        raise TypeError(f"A dict is needed, not {dictionary!r}.")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        if is_nested(key):
            assert_same_structure(key, value, check_types=False)
        for inner, leaf in zip(flatten(key), flatten(value) if is_nested(key) else [value], strict=True):
            if inner in flat:
                raise ValueError(f"Could not flatten the dictionary: key {inner!r} is not unique.")
            flat[inner] = leaf
    return flat
