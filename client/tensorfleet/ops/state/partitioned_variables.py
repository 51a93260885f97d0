"""Variables that are divided along one dimension, so that their parts can be on several parameter servers.

`tf.get_variable(…, partitioner=…)` makes one; its partitioner (`partitioners.py`) gives the number of parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorfleet.core import dtypes, shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor, register_tensor_conversion_function
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one


class PartitionedVariable:
    """A variable that consists of several (`tensorflow.python.ops.variables.PartitionedVariable`).

    As a tensor it is the concatenation of its parts. Iteration gives the parts.

    Attributes:
        name: its name; parts are called `<name>/part_0`, `<name>/part_1`, …
        dtype: the parts' dtype.
        shape: the shape of the whole.
    """

    def __init__(
        self, name: str, shape: Any, dtype: Any, variable_list: Sequence[Any], partitions: Sequence[int]
    ) -> None:
        """A partitioned variable of the given parts.

        Args:
            name: the name of the whole variable.
            shape: the shape of the whole variable, a list.
            dtype: the dtype of the parts.
            variable_list: the parts, each with its slice of the whole (`tf.Variable.SaveSliceInfo`).
            partitions: the number of parts along each dimension.

        Raises:
            TypeError: `variable_list` or `partitions` is no sequence.
            ValueError: the parts do not make up that shape.
        """
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        infos = [part._get_save_slice_info() for part in variable_list]
        if None in infos:
            names = [part.name for part in variable_list]
            raise ValueError(f"All variables must have a save_slice_info available: {names}")
        if len(shape) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
        if any(list(info.full_shape) != list(shape) for info in infos):
            raise ValueError(
                f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                f"{[info.full_shape for info in infos]}"
            )
        self._name = name
        self._shape = shapes.as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._variable_list = sorted(variable_list, key=lambda part: part._get_save_slice_info().var_offset)
        self._partitions = list(partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> shapes.TensorShape:
        return self._shape

    def get_shape(self) -> shapes.TensorShape:
        """The shape of the whole."""
        return self._shape

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _axis(self) -> int:
        """The dimension that is divided."""
        axes = [axis for axis, count in enumerate(self._partitions) if count > 1]
        if len(axes) > 1:
            raise NotImplementedError(
                f"{self._name} is divided along more than one dimension: {axes}. Its parts can be used, not "
                "the whole."
            )
        return axes[0] if axes else 0

    def as_tensor(self) -> Tensor:
        """The parts, read and concatenated."""
        with framework.control_dependencies(None):
            return self._concatenated()

    def _concatenated(self) -> Tensor:
        if len(self._variable_list) == 1:
            with framework.name_scope(None):
                return apply_one("Identity", self._variable_list[0], name=self._name)
        axis = self._axis()
        with framework.name_scope(f"{self._name}/ConcatPartitions/"):
            whole = apply_one("ConcatV2", self._variable_list, axis, name="concat")
        with framework.name_scope(None):
            return apply_one("Identity", whole, name=self._name)

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Sets every part to its share of `value`, a tensor or list of parts; one result for each."""
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Adds to every part its share of `value`."""
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Subtracts from every part its share of `value`."""
        return self._each("assign_sub", value, use_locking, name, read_value)

    def _each(
        self, method: str, value: Any, use_locking: bool, name: str | None, read_value: bool
    ) -> list[Any]:
        if isinstance(value, (list, PartitionedVariable)):
            shares = list(value)
        else:
            axis = self._axis()
            sizes = [part.shape.as_list()[axis] for part in self._variable_list]
            shares = _split(convert_to_tensor(value, self._dtype.base), sizes, axis)
        return [
            getattr(part, method)(share, use_locking=use_locking, name=name, read_value=read_value)
            for part, share in zip(self._variable_list, shares, strict=True)
        ]

    def __repr__(self) -> str:
        return (
            f"<PartitionedVariable '{self._name}' shape={self._shape} dtype={self._dtype.name} "
            f"of {len(self._variable_list)} parts>"
        )


def _split(value: Tensor, sizes: list[int], axis: int) -> list[Tensor]:
    from tensorfleet.ops.array.joining import split

    return split(value, sizes, axis)


def _to_tensor(
    value: PartitionedVariable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtypes.as_dtype(dtype).name}' for variable "
            "of type "
            f"'{value.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _to_tensor)


class PartitionInfo:
    """The part of a variable that an initializer is called for, its argument `partition_info`.

    Attributes:
        full_shape: the shape of the whole variable.
        var_offset: the index of the part's first element, one int for each dimension.

    Raises:
        ValueError: the part begins outside of the variable, as when there are more parts than rows.
    """

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        self.full_shape = list(full_shape)
        self.var_offset = list(var_offset)
        for offset, size in zip(self.var_offset, self.full_shape, strict=True):
            if not 0 <= offset < size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for "
                    f"var_offset={self.var_offset}, full_shape={self.full_shape}"
                )

    def single_offset(self, shape: Sequence[int]) -> int:
        """The offset of a part of that shape along the dimension that is divided."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The dimension that is divided; None if the part is the whole variable.

        Raises:
            ValueError: the shape has another rank, is too large, or is a part along several dimensions.
        """
        if len(shape) != len(self.full_shape):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while "
                f"self.full_shape={self.full_shape} is of length {len(self.full_shape)}."
            )
        for axis, (size, full) in enumerate(zip(shape, self.full_shape, strict=True)):
            if self.var_offset[axis] + size > full:
                raise ValueError(
                    f"With self.var_offset={self.var_offset}, a partition of shape={shape} would exceed "
                    f"self.full_shape={self.full_shape} in dimension {axis}."
                )
        axes = [axis for axis, size in enumerate(shape) if size != self.full_shape[axis]]
        if len(axes) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={self.full_shape} "
                "since "
                f"slice dim could be either dimension {axes[0]} or {axes[1]}."
            )
        return axes[0] if axes else None


def partitions_of(partitioner: Any, shape: shapes.TensorShape, dtype: DType) -> list[int]:
    """The number of parts that `partitioner` makes along each dimension.

    Raises:
        ValueError: `partitioner` is not callable, the shape is not known, or the partitioner's result does
            not divide the shape along one dimension.
    """
    if not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if shape.ndims is None or shape.ndims < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {partitions}")
    if len(partitions) != shape.ndims:
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {partitions} "
            f"vs. {shape}"
        )
    if any(count < 1 for count in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    if sum(count > 1 for count in partitions) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {partitions}"
        )
    return list(partitions)


def slices(shape: Sequence[int], partitions: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Offset and shape of each part; the first ones are larger by one if the division leaves a remainder."""
    axis = next((axis for axis, count in enumerate(partitions) if count > 1), 0)
    count = partitions[axis]
    least, larger = divmod(shape[axis], count)
    offset = 0
    for index in range(count):
        size = least + (index < larger)
        begin, extent = [0] * len(shape), list(shape)
        begin[axis], extent[axis] = offset, size
        yield begin, extent
        offset += size
