"""RaggedTensor: values in rows of different lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.core.structures import register_composite
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.shaping import reshape, shape as shape_of
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.ragged import conversion, row_partition
from tensorfleet.ops.ragged.row_partition import RowPartition, checked, row_count
from tensorfleet.ops.ragged.value import RaggedTensorValue
from tensorfleet.session.fetches import register_session_run_conversion_functions


class RaggedTensor:
    """A tensor with dimensions whose rows differ in length (`tf.RaggedTensor`), made by its class methods.

    Example:
        >>> rt = tf.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], [0, 2, 2, 5])
        >>> tf.Session().run(rt).to_list()
        [[3, 1], [], [4, 1, 5]]
    """

    def __init__(self, values: Any, row_partition: RowPartition, internal: bool = False) -> None:
        """Only the class methods call this.

        Raises:
            ValueError: a caller from outside.
        """
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        self._values = values
        self._partition = row_partition

    @classmethod
    def _of(cls, values: Any, make: Callable[[Tensor, DType], RowPartition], validate: bool) -> RaggedTensor:
        """A RaggedTensor with the partition that `make` gives for the number of values and a dtype."""
        if not isinstance(validate, bool):
            raise TypeError(f"Argument `validate` must have type bool. Received {validate}.")
        values = as_ragged_or_tensor(values, name="values")
        hint = values.row_splits.dtype.base if isinstance(values, RaggedTensor) else dtypes.int64
        if isinstance(values, Tensor):
            values.shape.with_rank_at_least(1)
        partition = make(_outer_size(values, hint), hint)
        if isinstance(values, RaggedTensor) and values._partition.dtype is not partition.dtype:
            raise ValueError(
                f"Argument `row_partition` must have dtype {values._partition.dtype.name} as the values' row "
                f"splits have, got {partition.dtype.name}: see RaggedTensor.with_row_splits_dtype()."
            )
        if validate:
            count = cast(_outer_size(values, partition.dtype), partition.dtype)
            message = "Arguments to _from_row_partition do not form a valid RaggedTensor:nvals"
            sure = checks.assert_equal(partition.nvals(), count, message=message)
            partition.row_splits = checked(partition.row_splits, sure)
        return cls(values, partition, internal=True)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows by the number of its row for each value, in order.

        Args:
            values: a tensor or a RaggedTensor, [values, ...].
            value_rowids: [values], int32 or int64.
            nrows: the number of rows; by default the last number and one.
            validate: check the arguments in each step.

        Raises:
            ValueError: numbers that are known, and cannot be.
        """
        with framework.name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            return cls._of(
                values, lambda n, t: row_partition.from_rowids(value_rowids, nrows, n, validate, t), validate
            )

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows by the places where they begin and end: [rows + 1], the first is 0."""
        with framework.name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            return cls._of(values, lambda _, t: row_partition.from_splits(row_splits, validate, t), validate)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows by their lengths."""
        with framework.name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            return cls._of(
                values, lambda _, t: row_partition.from_lengths(row_lengths, validate, t), validate
            )

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows by the places where they begin."""
        with framework.name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            return cls._of(
                values, lambda n, t: row_partition.from_starts(row_starts, n, validate, t), validate
            )

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows by the places where they end."""
        with framework.name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            return cls._of(values, lambda _, t: row_partition.from_limits(row_limits, validate, t), validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """Rows of one length, as the outer dimension of values that may be ragged themselves."""
        with framework.name_scope(name, "RaggedFromUniformRowLength", [values, uniform_row_length, nrows]):
            return cls._of(
                values,
                lambda n, t: row_partition.from_uniform_length(uniform_row_length, n, nrows, validate, t),
                validate,
            )

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows of rows, by the value_rowids of each ragged dimension, the outermost first."""
        _check_list("nested_value_rowids", nested_value_rowids)
        counts: Sequence[Any] = [None] * len(nested_value_rowids)
        if nested_nrows is not None:
            _check_list("nested_nrows", nested_nrows)
            counts = nested_nrows
            if len(counts) != len(nested_value_rowids):
                raise ValueError(
                    "Argument `nested_nrows` must have the same length as argument `nested_value_rowids`. "
                    f"len(nested_nrows) = {len(counts)} vs. len(nested_values_rowids) = "
                    f"{len(nested_value_rowids)}."
                )
        with framework.name_scope(name, "RaggedFromNestedValueRowIds", [flat_values, *nested_value_rowids]):
            result: Any = flat_values
            for rowids, count in zip(reversed(nested_value_rowids), reversed(counts), strict=True):
                result = cls.from_value_rowids(result, rowids, count, validate=validate)
            return result  # type: ignore[no-any-return]

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows of rows, by the row splits of each ragged dimension, the outermost first."""
        _check_list("nested_row_splits", nested_row_splits)
        with framework.name_scope(name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits]):
            result: Any = flat_values
            for splits in reversed(nested_row_splits):
                result = cls.from_row_splits(result, splits, validate=validate)
            return result  # type: ignore[no-any-return]

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows of rows, by the lengths of each ragged dimension, the outermost first."""
        _check_list("nested_row_lengths", nested_row_lengths)
        with framework.name_scope(name, "RaggedFromNestedRowlengths", [flat_values, *nested_row_lengths]):
            result: Any = flat_values
            for lengths in reversed(nested_row_lengths):
                result = cls.from_row_lengths(result, lengths, validate=validate)
            return result  # type: ignore[no-any-return]

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> RaggedTensor:
        """A tensor's rows, as they are or without what fills them up.

        Args:
            lengths: the lengths of rows; a tuple of them for nested dimensions.
            padding: the value that ends of rows are filled with; not with `lengths`.
            ragged_rank: the number of dimensions that become ragged.

        Raises:
            ValueError: both `lengths` and `padding`, or a ragged rank that the tensor cannot have.
        """
        with framework.name_scope(name, "RaggedFromTensor", [tensor]):
            values, partitions = conversion.parts_of_tensor(
                convert_to_tensor(tensor, name="tensor"),
                lengths,
                padding,
                ragged_rank,
                dtypes.as_dtype(row_splits_dtype),
            )
            for partition in reversed(partitions):
                values = cls(values, partition, internal=True)
            return values  # type: ignore[no-any-return]

    @classmethod
    def from_sparse(
        cls, st_input: SparseTensor, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> RaggedTensor:
        """The rows of a SparseTensor [rows, columns], whose elements stand without gaps at the beginning."""
        if not isinstance(st_input, SparseTensor):
            raise TypeError(
                f"Argument `st_input` must be of type SparseTensor, but is of type {type(st_input).__name__}."
            )
        with framework.name_scope(name, "RaggedFromSparse", [st_input]):
            values, partition = conversion.parts_of_sparse(st_input, dtypes.as_dtype(row_splits_dtype))
            return cls(values, partition, internal=True)

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        dtype: DType = self._values.dtype
        return dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape, with None for ragged dimensions."""
        inner = self._values.shape
        rows, length = self._partition.static_nrows, self._partition.static_uniform_row_length
        return TensorShape([rows, length]).concatenate(inner[1:])

    def get_shape(self) -> TensorShape:
        """The static shape, as `shape`."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """The number of partitioned dimensions."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def values(self) -> Any:
        """The values of all rows, one after the other: a tensor or a RaggedTensor."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The innermost values: a tensor."""
        values = self._values
        while isinstance(values, RaggedTensor):
            values = values._values
        assert isinstance(values, Tensor)
        return values

    @property
    def row_splits(self) -> Tensor:
        """The places in `values` where rows begin and end: [rows + 1]."""
        return self._partition.row_splits

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        return tuple(partition.row_splits for partition in self._partitions())

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows, where they have one."""
        return self._partition.uniform_row_length

    def _partitions(self) -> list[RowPartition]:
        inner = self._values._partitions() if isinstance(self._values, RaggedTensor) else []
        return [self._partition, *inner]

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The number of its row, for each value."""
        with framework.name_scope(name, "RaggedValueRowIds", [self]):
            return self._partition.value_rowids()

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The value_rowids of all ragged dimensions, the outermost first."""
        with framework.name_scope(name, "RaggedNestedValueRowIds", [self]):
            return tuple(partition.value_rowids() for partition in self._partitions())

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """The number of rows."""
        with framework.name_scope(name, "RaggedNRows", [self]):
            count = self._partition.nrows()
            return count if out_type is None else cast(count, dtypes.as_dtype(out_type))

    def row_starts(self, name: str | None = None) -> Tensor:
        """The places in `values` where rows begin."""
        with framework.name_scope(name, "RaggedRowStarts", [self]):
            return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """The places in `values` where rows end."""
        with framework.name_scope(name, "RaggedRowLimits", [self]):
            return self.row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows of a dimension; a RaggedTensor where `axis` lies deeper than 1."""
        if axis == 0:
            return self.nrows()
        with framework.name_scope(name, "RaggedRowLengths", [self]):
            axis = positive_axis(axis, self.shape.rank, "row_lengths")
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._partition.lengths()
            values = self._values
            if isinstance(values, RaggedTensor):
                return self.with_values(values.row_lengths(axis - 1))
            sizes = shape_of(values, out_type=self._partition.dtype)
            count = apply_one("Fill", sizes[:1], sizes[axis - 1])
            if axis > 2:
                count = apply_one("Fill", sizes[: axis - 1], sizes[axis - 1])
            return self.with_values(count)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The lengths of all ragged dimensions, the outermost first."""
        with framework.name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(partition.lengths() for partition in self._partitions())

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """The sizes of the smallest tensor that all rows fit into; of one axis or several if given."""
        dtype = self._partition.dtype if out_type is None else dtypes.as_dtype(out_type)
        with framework.name_scope(name, "RaggedBoundingBox", [self, axis]):
            partitions = [partition.with_dtype(dtype) for partition in self._partitions()]

            def longest(partition: RowPartition) -> Tensor:
                lengths = concat([partition.lengths(), apply_one("Fill", [1], dtype.as_numpy_dtype(0))], 0)
                return apply_one("Max", lengths, 0)

            if axis == 0:
                return partitions[0].nrows()
            if axis == 1:
                return longest(partitions[0])
            inner = shape_of(self.flat_values, out_type=dtype)[1:]
            outer = stack([partitions[0].nrows(), *map(longest, partitions)])
            whole = concat([outer, inner], 0)
            return whole if axis is None else apply_one("GatherV2", whole, axis, 0)

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Other values in the same rows."""
        new_values = as_ragged_or_tensor(new_values)
        _check_sizes(self._values, new_values)
        partition = self._partition
        if isinstance(new_values, RaggedTensor) and new_values._partition.dtype is not partition.dtype:
            partition = partition.with_dtype(dtypes.int64)
            new_values = new_values.with_row_splits_dtype(dtypes.int64)
        return RaggedTensor(new_values, partition, internal=True)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Other innermost values in the same rows."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        new_values = as_ragged_or_tensor(new_values)
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same rows, whose row splits have another dtype."""
        dtype = dtypes.as_dtype(dtype)
        if dtype not in row_partition.INDEX_DTYPES:
            raise ValueError(f"Argument `row_splits` dtype must be int32 or int64. Received {dtype}.")
        if dtype is self._partition.dtype:
            return self
        values = self._values
        if isinstance(values, RaggedTensor):
            values = values.with_row_splits_dtype(dtype)
        return RaggedTensor(values, self._partition.with_dtype(dtype), internal=True)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Dimensions from `outer_axis` to `inner_axis` as one, ragged where the outer one lies deep."""
        rank = self.shape.rank
        outer = positive_axis(outer_axis, rank, "outer_axis")
        inner = positive_axis(inner_axis, rank, "inner_axis")
        if outer > inner:
            raise ValueError(
                f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis ({inner_axis})"
            )
        return _merged(self, outer, inner)

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Tensor:
        """A tensor of the rows, filled up with a default.

        Args:
            default_value: what stands where rows have no values; zero or "" by default.
            shape: the shape of the result: what does not fit is left out. None is the size that is needed.
        """
        with framework.name_scope(name, "RaggedToTensor", [self, default_value, shape]):
            return conversion.padded(
                self.nested_row_splits, self.flat_values, self.shape, default_value, shape
            )

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """A SparseTensor with all values, at their places."""
        with framework.name_scope(name, "RaggedToSparse", [self]):
            return SparseTensor(*apply_op("RaggedTensorToSparse", self.nested_row_splits, self.flat_values))

    def to_list(self) -> list[Any]:
        """The rows as lists, of eager tensors only: fetch a RaggedTensor, and ask its value."""
        raise ValueError("to_list can only be called in eager mode.")

    def numpy(self) -> Any:
        """The rows as an array, of eager tensors only: fetch a RaggedTensor."""
        raise ValueError("RaggedTensor.numpy() is only supported in eager mode.")

    def consumers(self) -> list[Operation]:
        """The operations that take one of the parts as an input."""
        return list(dict.fromkeys(op for part in _parts(self) for op in part.consumers()))

    @classmethod
    def _override_operator(cls, operator: str, function: Callable[..., Any]) -> None:
        """Defines an operator of Python, which modules that know more of RaggedTensors do."""
        setattr(cls, operator, function)

    if TYPE_CHECKING:

        def __getitem__(self, key: Any) -> Any: ...

    def __len__(self) -> int:
        raise TypeError("object of type 'RaggedTensor' has no len()")

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values!r}, row_splits={self.row_splits!r})"

    __str__ = __repr__


def _check_list(name: str, value: Any) -> None:
    if isinstance(value, Tensor):
        raise TypeError(f"Argument `{name}` must be a list of Tensors. Received {value}.")


def _outer_size(values: Any, dtype: DType) -> Tensor:
    if isinstance(values, RaggedTensor):
        return cast(values._partition.nrows(), dtype)
    return row_count(values, dtype)


def _check_sizes(old: Any, new: Any) -> None:
    """Raises ValueError where the numbers of values are known, and differ."""
    a, b = old.shape, new.shape
    if a.rank and b.rank and not a[:1].is_compatible_with(b[:1]):
        raise ValueError(f"Shapes {a} and {b} are incompatible")
    if b.rank == 0:
        raise ValueError(f"Shape {b} must have rank at least 1")


def positive_axis(axis: int, rank: int | None, name: str = "axis") -> int:
    """The axis, counted from the front.

    Raises:
        ValueError: it is out of bounds, or counts from the end where the rank is not known.
    """
    if not isinstance(axis, int):
        raise TypeError(f"{name} must be an int; got {type(axis).__name__}")
    if rank is None:
        if axis < 0:
            raise ValueError(f"{name}={axis} may only be negative if ndims is statically known.")
        return axis
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return axis + rank if axis < 0 else axis


def _merged(value: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return value
    if outer == 0:
        while inner and isinstance(value, RaggedTensor):
            value, inner = value.values, inner - 1
        if not inner:
            return value
        sizes = shape_of(value)
        return reshape(value, concat([[-1], sizes[inner + 1 :]], 0))
    if isinstance(value, Tensor):
        sizes = shape_of(value)
        return reshape(value, concat([sizes[:outer], [-1], sizes[inner + 1 :]], 0))
    if outer > 1:
        return value.with_values(_merged(value.values, outer - 1, inner - 1))
    values = value.values
    if isinstance(values, RaggedTensor):
        # Rows of the merged dimension end where the inner rows do.
        splits = apply_one("GatherV2", values.row_splits, value.row_splits, 0)
        joined = RaggedTensor(values.values, RowPartition(splits), internal=True)
        return _merged(joined, 1, inner - 1)
    sizes = shape_of(values, out_type=value.row_splits.dtype.base)
    each = apply_one("Prod", sizes[1:inner], [0])
    flat = reshape(values, concat([[-1], shape_of(values)[inner:]], 0))
    return RaggedTensor(flat, RowPartition(value.row_splits * each), internal=True)


def as_ragged_or_tensor(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """`value` as a RaggedTensor if it is one or the value of one, else as a tensor."""
    if isinstance(value, RaggedTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for RaggedTensor of dtype "
                f"{value.dtype.name}: {value}."
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with framework.name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = convert_to_tensor(value.flat_values, dtype, preferred_dtype=preferred_dtype)
            return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits, validate=False)
    return convert_to_tensor(value, dtype, name, preferred_dtype=preferred_dtype)


def is_ragged(value: Any) -> bool:
    """Whether it is a RaggedTensor, or the value of one."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def match_splits_dtypes(*values: Any) -> list[Any]:
    """The values, of which RaggedTensors have row splits of one dtype: int64 where they differ."""
    found = {value.row_splits.dtype.base for value in values if isinstance(value, RaggedTensor)}
    if len(found) < 2:
        return list(values)
    return [
        value.with_row_splits_dtype(dtypes.int64) if isinstance(value, RaggedTensor) else value
        for value in values
    ]


def _parts(value: RaggedTensor) -> list[Tensor]:
    return [*value.nested_row_splits, value.flat_values]


def _made(like: RaggedTensor, parts: Sequence[Any]) -> Any:
    """A RaggedTensor of the parts of one; what has no tensors for parts stays a list of them."""
    *splits, values = parts
    for partition, each in zip(reversed(like._partitions()), reversed(splits), strict=True):
        uniform = partition.static_uniform_row_length
        length = None if uniform is None else convert_to_tensor(uniform, each.dtype.base)
        values = RaggedTensor(values, RowPartition(each, uniform=length), internal=True)
    return values


def ragged_value(parts: Sequence[Any]) -> RaggedTensorValue:
    """The value of a RaggedTensor whose row splits and flat values are these arrays."""
    *splits, values = parts
    for each in reversed(splits):
        values = RaggedTensorValue(values, each)
    return values  # type: ignore[no-any-return]


def _feed(key: RaggedTensor, value: Any) -> list[tuple[Tensor, Any]]:
    return list(zip(_parts(key), [*value.nested_row_splits, value.flat_values], strict=True))


register_composite(RaggedTensor, _parts, _made)
register_session_run_conversion_functions(
    RaggedTensor, lambda value: (_parts(value), ragged_value), _feed, _parts
)


def static_list(tensor: Tensor) -> list[int] | None:
    """The integers of a vector, where they are known before a step."""
    value = static_value(tensor)
    return None if value is None else [int(item) for item in value]
