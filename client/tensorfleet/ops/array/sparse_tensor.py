"""SparseTensor: the elements of a tensor that are not zero, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.structures import ELEMENTS, register_composite
from tensorfleet.core.type_specs import SparseTensorSpec, serve_value_type
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import placeholder, placeholder_with_default
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank
from tensorfleet.session.fetches import register_session_run_conversion_functions


class SparseTensor:
    """Elements of a tensor, of which all others are zero (`tf.SparseTensor`).

    Attributes:
        indices: [n, rank], int64: where the elements are; most ops want them in row-major order.
        values: [n], the elements.
        dense_shape: [rank], int64: the shape of the whole tensor.

    Example:
        >>> tf.Session().run(tf.SparseTensor([[0, 1]], [5], [2, 2])).values
        array([5], dtype=int32)
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        """Raises ValueError: the static shapes of the parts do not fit each other."""
        with get_default_graph().name_scope(
            None if _all_tensors(indices, values, dense_shape) else "SparseTensor"
        ):
            self._indices: Tensor = convert_to_tensor(indices, dtypes.int64, "indices")
            self._values: Tensor = convert_to_tensor(values, name="values")
            self._dense_shape: Tensor = convert_to_tensor(dense_shape, dtypes.int64, "dense_shape")
        self._set_dims: Dims = None
        places = _ranked(self._indices.dims, 2)
        count = _ranked(self._values.dims, 1)
        sizes = _ranked(self._dense_shape.dims, 1)
        for a, b in ((places[0], count[0]), (places[1], sizes[0])):
            if a is not None and b is not None and a != b:
                raise ValueError(f"Dimensions {a} and {b} are not compatible")

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """A SparseTensor of a SparseTensorValue; a SparseTensor as it is.

        Raises:
            TypeError: it is neither.
        """
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise TypeError(
                "Argument sparse_tensor_value must be a SparseTensor or SparseTensorValue. "
                f"Received: {sparse_tensor_value}."
            )
        return cls(*sparse_tensor_value)

    @property
    def indices(self) -> Tensor:
        """The places of the elements: [n, rank], int64."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements: [n]."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole tensor: [rank], int64."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        shape = self._dense_shape
        if shape.op.type == "PlaceholderWithDefault":
            shape = shape.op.inputs[0]  # of a sparse_placeholder: what is fed has to fit it
        return TensorShape(static_dims(shape)).merge_with(TensorShape(self._set_dims))

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the static shape of the whole tensor.

        Raises:
            ValueError: the two do not fit each other.
        """
        self._set_dims = as_dims(self.shape.merge_with(TensorShape(as_dims(shape))))

    def get_shape(self) -> TensorShape:
        """The static shape of the whole tensor, as `shape`."""
        return self.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        return self._values.op

    @property
    def graph(self) -> Graph:
        """The graph that the parts are in."""
        return self._values.graph

    def with_values(self, new_values: Any) -> SparseTensor:
        """Other elements at the same places."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def consumers(self) -> list[Operation]:
        """The operations that take one of the parts as an input."""
        return list(dict.fromkeys(op for part in _parts(self) for op in part.consumers()))

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """The value in the default session, or in `session`."""
        indices = self._indices
        if session is None:
            from tensorfleet.graph.default_session import get_default_session

            session = get_default_session()
            if session is None:
                raise ValueError(
                    "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
                    "sess.as_default()` or pass an explicit session to `eval(session=sess)`"
                )
        assert indices.graph is self.graph
        found: SparseTensorValue = session.run(self, feed_dict)
        return found

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"
        )

    __repr__ = __str__


def _all_tensors(*parts: Any) -> bool:
    return all(isinstance(part, Tensor) for part in parts)


def _ranked(dims: Dims, rank: int) -> tuple[int | None, ...]:
    if dims is not None and len(dims) != rank:
        raise ValueError(f"Shape {TensorShape(dims)} must have rank {rank}")
    return dims or (None,) * rank


class SparseTensorValue(NamedTuple):
    """The value of a fetched SparseTensor, which may also be fed for one (`tf.SparseTensorValue`)."""

    indices: Any
    values: Any
    dense_shape: Any


def _parts(value: SparseTensor) -> list[Tensor]:
    return [value.indices, value.values, value.dense_shape]


def _fetch(value: SparseTensor) -> tuple[list[Tensor], Any]:
    return _parts(value), lambda results: SparseTensorValue(*results)


def _feed(key: SparseTensor, value: Sequence[Any]) -> list[tuple[Tensor, Any]]:
    return list(zip(_parts(key), value, strict=True))


register_composite(SparseTensor, _parts)
ELEMENTS.keep_whole(SparseTensorValue)
register_session_run_conversion_functions(SparseTensor, _fetch, _feed, _parts)


def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A SparseTensor of `value` if it is one, or the value of one; else the tensor made from it
    (`tf.convert_to_tensor_or_sparse_tensor`).

    Raises:
        RuntimeError: a SparseTensor of another dtype.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype mismatch. Requested: {dtype}, Actual: {value.dtype}")
        return value
    return convert_to_tensor(value, dtype, name)


def as_sparse(value: Any) -> SparseTensor:
    """`value` as a SparseTensor. Raises TypeError where it is none."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor that each step feeds (`tf.sparse_placeholder`), with a SparseTensorValue or a tuple.

    Args:
        dtype: of the elements.
        shape: the shape of the whole tensor, as far as it is known.
    """
    dims = None if shape is None else as_dims(shape)
    named = {part: None if name is None else f"{name}/{part}" for part in ("shape", "values", "indices")}
    rank = None if dims is None else len(dims)
    if dims is None:
        dense_shape = placeholder(dtypes.int64, [rank], named["shape"])
    else:
        default = constant(
            [-1 if d is None else d for d in dims],
            dtypes.int64,
            name="Const" if name is None else f"{name}/shape_default",
        )
        dense_shape = placeholder_with_default(default, [rank], named["shape"])
    values = placeholder(dtype, [None], named["values"])
    return SparseTensor(
        indices=placeholder(dtypes.int64, [None, rank], named["indices"]),
        values=values,
        dense_shape=dense_shape,
    )


def _reordered(op: RuleNode) -> list[Dims]:
    indices = with_rank(op.inputs[0].dims, 2)
    values = with_rank(op.inputs[1].dims, 1)
    with_rank(op.inputs[2].dims, 1)
    return [indices, values]


op(
    "SparseReorder(input_indices: int64, input_values: T, input_shape: int64) -> "
    "(output_indices: int64, output_values: T)",
    "T: type",
    shape=_reordered,
)


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The elements in row-major order of their places (`tf.sparse.reorder`)."""
    from tensorfleet.graph.apply import apply_op

    sparse = as_sparse(sp_input)
    indices, values = apply_op("SparseReorder", sparse.indices, sparse.values, sparse.dense_shape, name=name)
    return SparseTensor(indices, values, sparse.dense_shape)


def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """A SparseTensor as a dense tensor (`tf.sparse.to_dense`).

    Args:
        default_value: the value of elements that are not given; by default 0, "" or False.
        validate_indices: the places must be in order, and none may come twice.
    """
    sparse = as_sparse(sp_input)
    if default_value is None:
        zero: Any = "" if sparse.dtype is dtypes.string else False if sparse.dtype is dtypes.bool else 0
        default_value = constant(zero, sparse.dtype.base, name="zeros")
    return apply_one(
        "SparseToDense",
        sparse.indices,
        sparse.dense_shape,
        sparse.values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


# As strings, and as the values of datasets


def _serialized(op: RuleNode) -> list[Dims]:
    _reordered(op)
    return [(3,)]


def _many_serialized(op: RuleNode) -> list[Dims]:
    _reordered(op)
    return [(None, 3)]


def _deserialized(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    if dims is not None and dims[-1:]:
        merge_dim(dims[-1], 3)
    return [(None, None), (None,), (None,)]


def _kept(op: RuleNode) -> list[Dims]:
    for tensor, rank in zip(op.inputs, (2, 1, 1), strict=True):
        with_rank(tensor.dims, rank)
    return [(None,) if op.type.startswith("AddMany") else ()]


def _taken(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 1)
    return [(None, None), (None,), (None,)]


_SPARSE = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
_SERIALIZED = ("T: type", "out_type: {string, variant} = string")
op(f"SerializeSparse({_SPARSE}) -> (serialized_sparse: out_type)", *_SERIALIZED, shape=_serialized)
op(f"SerializeManySparse({_SPARSE}) -> (serialized_sparse: out_type)", *_SERIALIZED, shape=_many_serialized)
for _prefix, _handle in (("AddSparse", "sparse_handle"), ("AddManySparse", "sparse_handles")):
    op(
        f"{_prefix}ToTensorsMap({_SPARSE}) -> ({_handle}: int64)",
        "T: type",
        'container: string = ""',
        'shared_name: string = ""',
        shape=_kept,
        stateful=True,
    )
op(
    "TakeManySparseFromTensorsMap(sparse_handles: int64) -> "
    "(sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    "dtype: type",
    'container: string = ""',
    'shared_name: string = ""',
    shape=_taken,
    stateful=True,
)
op(
    "DeserializeSparse(serialized_sparse: Tserialized) -> "
    "(sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    "dtype: type",
    "Tserialized: {string, variant} = string",
    shape=_deserialized,
)
op(
    "DeserializeManySparse(serialized_sparse: string) -> "
    "(sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    "dtype: type",
    shape=_deserialized,
)


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """A vector of three strings: indices, values and shape (`tf.io.serialize_sparse`)."""
    sparse = as_sparse(sp_input)
    return apply_one(
        "SerializeSparse", sparse.indices, sparse.values, sparse.dense_shape, out_type=out_type, name=name
    )


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """A matrix of three strings for each slice along the first dimension (`tf.io.serialize_many_sparse`)."""
    sparse = as_sparse(sp_input)
    return apply_one(
        "SerializeManySparse", sparse.indices, sparse.values, sparse.dense_shape, out_type=out_type, name=name
    )


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor that `serialize_sparse` wrote (`tf.io.deserialize_sparse`); from [..., 3] strings, one
    with those leading dimensions."""
    return _deserialize("DeserializeSparse", serialized_sparse, dtype, rank, name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor whose slices are the rows of strings (`tf.io.deserialize_many_sparse`)."""
    return _deserialize("DeserializeManySparse", serialized_sparse, dtype, rank, name)


def _deserialize(
    op_type: str, serialized: Any, dtype: Any, rank: int | None, name: str | None
) -> SparseTensor:
    from tensorfleet.graph.apply import apply_op

    indices, values, shape = apply_op(op_type, serialized, dtype=dtype, name=name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


serve_value_type(SparseTensorSpec, SparseTensor)
