"""`tensorflow.python.data.util`: its modules `sparse`, `convert`, `random_seed` and `nest`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import tensorfleet as tf
from tensorfleet.core.structures import ELEMENTS


def _map(function: Callable[..., Any], *structures: Any) -> Any:
    """What the function makes of the leaves, in the structure of the first one."""
    columns = zip(*map(ELEMENTS.flatten, structures), strict=True)
    return ELEMENTS.pack(structures[0], [function(*leaves) for leaves in columns])


def any_sparse(classes: Any) -> bool:
    """Whether one of the classes is SparseTensor."""
    return any(kind is tf.SparseTensor for kind in ELEMENTS.flatten(classes))


def as_dense_shapes(shapes: Any, classes: Any) -> Any:
    """The shapes as a dataset's tensors have them: unknown for those that hold SparseTensors."""
    return _map(
        lambda shape, kind: tf.TensorShape(None) if kind is tf.SparseTensor else shape, shapes, classes
    )


def as_dense_types(types: Any, classes: Any) -> Any:
    """The dtypes as a dataset's tensors have them: variant for those that hold SparseTensors."""
    return _map(lambda dtype, kind: tf.variant if kind is tf.SparseTensor else dtype, types, classes)


def get_classes(tensors: Any) -> Any:
    """SparseTensor or Tensor for each value."""
    return _map(lambda value: tf.SparseTensor if isinstance(value, tf.SparseTensor) else tf.Tensor, tensors)


def serialize_sparse_tensors(tensors: Any) -> Any:
    """The values with a variant tensor in place of each SparseTensor."""
    return _map(_serialized(tf.io.serialize_sparse), tensors)


def serialize_many_sparse_tensors(tensors: Any) -> Any:
    """The values with a variant tensor of its rows in place of each SparseTensor."""
    return _map(_serialized(tf.io.serialize_many_sparse), tensors)


def _serialized(serialize: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda value: (
        serialize(value, out_type=tf.variant) if isinstance(value, tf.SparseTensor) else value
    )


def deserialize_sparse_tensors(tensors: Any, types: Any, shapes: Any, classes: Any) -> Any:
    """The reverse of `serialize_sparse_tensors`."""
    from tensorfleet.ops.array.sparse_tensor import deserialize_sparse

    def value(dtype: Any, tensor: Any, shape: Any, kind: Any) -> Any:
        return deserialize_sparse(tensor, dtype, shape.ndims) if kind is tf.SparseTensor else tensor

    return _map(value, types, tensors, shapes, classes)


def optional_param_to_tensor(
    argument_name: str, argument_value: Any, argument_default: Any = 0, argument_dtype: Any = tf.int64
) -> tf.Tensor:
    """An argument as a tensor, or its default if it is None."""
    value = argument_default if argument_value is None else argument_value
    return tf.convert_to_tensor(value, argument_dtype, name=argument_name)


def partial_shape_to_tensor(shape_like: Any) -> tf.Tensor:
    """A shape as a vector of int64, with -1 for unknown dimensions.

    Raises:
        ValueError: it is a tensor, but no vector.
        TypeError: it is a tensor, but not of int64.
    """
    try:
        dims = tf.TensorShape(shape_like).as_list()
    except (TypeError, ValueError):
        tensor = tf.convert_to_tensor(shape_like, preferred_dtype=tf.int64)
        given = f"The given shape {shape_like} must be a 1-D tensor of tf.int64 values, but the"
        if tensor.shape.ndims not in (None, 1):
            raise ValueError(f"{given} shape was {tensor.shape}.") from None
        if tensor.dtype != tf.int64:
            raise TypeError(f"{given} element type was {tensor.dtype.name}.") from None
        return tensor
    return tf.convert_to_tensor([-1 if size is None else size for size in dims], tf.int64)


def get_seed(seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The seeds of a dataset as tensors of int64; zeros if there are none.

    Args:
        seed: a number, a scalar tensor, or None.
    """
    # Two zeros mean that there is no seed.
    first, second = tf.compat.v1.get_seed(seed)
    one = tf.convert_to_tensor(0 if first is None else first, tf.int64, name="seed")
    with tf.name_scope("seed2") as scope:
        two = tf.convert_to_tensor(0 if second is None else second, tf.int64)
        if second is None:
            return one, two
        both = tf.logical_and(tf.equal(one, 0), tf.equal(two, 0))
        return one, tf.where(both, tf.constant(2**31 - 1, tf.int64), two, name=scope)


def _is_nested(structure: Any) -> bool:
    return ELEMENTS.items(structure) is not None


def _map_structure(func: Callable[..., Any], *structure: Any, **check: Any) -> Any:
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    if unknown := check.keys() - {"check_types"}:
        raise ValueError(f"Only valid keyword argument is check_types, not: `{sorted(unknown)}`")
    for other in structure[1:]:
        _assert_same_structure(structure[0], other, **check)
    return _map(func, *structure)


def _assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    try:
        ELEMENTS.assert_same_structure(nest1, nest2)
    except TypeError:
        if check_types:
            raise
        _assert_same_structure(_plain(nest1), _plain(nest2))


def _plain(structure: Any) -> Any:
    """The same nesting of tuples alone."""
    items = ELEMENTS.items(structure)
    return structure if items is None else tuple(map(_plain, items))


def _pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    if not (_is_nested(flat_sequence) or isinstance(flat_sequence, list)):
        raise TypeError("flat_sequence must be a sequence")
    leaves = list(flat_sequence)
    if not _is_nested(structure):
        if len(leaves) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(leaves)} > 1")
        return leaves[0]
    if len(leaves) != (expected := len(ELEMENTS.flatten(structure))):
        raise ValueError(
            f"Could not pack sequence. Structure had {expected} elements, but flat_sequence had "
            f"{len(leaves)} elements.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return ELEMENTS.pack(structure, leaves)


def _assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    shallow, given = (tree if check_types else _plain(tree) for tree in (shallow_tree, input_tree))
    ELEMENTS.flatten_up_to(shallow, given)


def _map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    columns: Sequence[Any] = [ELEMENTS.flatten_up_to(shallow_tree, tree) for tree in inputs]
    return _pack_sequence_as(shallow_tree, [func(*leaves) for leaves in zip(*columns, strict=True)])


nest = SimpleNamespace(
    assert_same_structure=_assert_same_structure,
    assert_shallow_structure=_assert_shallow_structure,
    flatten=ELEMENTS.flatten,
    flatten_up_to=ELEMENTS.flatten_up_to,
    is_nested=_is_nested,
    is_sequence=_is_nested,
    map_structure=_map_structure,
    map_structure_up_to=_map_structure_up_to,
    pack_sequence_as=_pack_sequence_as,
)
