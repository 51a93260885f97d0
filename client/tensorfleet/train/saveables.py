"""Objects that a Saver saves: variables, and other objects whose state is tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tensorfleet.core.device import DeviceSpec
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.framework import device as device_scope, get_collection
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.ref_variable import RefVariable
from tensorfleet.ops.state.resource_variables import ResourceVariable
from tensorfleet.ops.state.variables import Variable


class SaveSpec:
    """One tensor of a checkpoint.

    Attributes:
        tensor: the tensor to save.
        slice_spec: "", or its slice of a larger tensor.
        name: its name in the checkpoint.
        dtype: its dtype.
        device: its device.
    """

    def __init__(
        self,
        tensor: Tensor,
        slice_spec: str,
        name: str,
        dtype: DType | None = None,
        device: str | None = None,
    ) -> None:
        self.tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self.dtype = (dtype or tensor.dtype).base
        self.device = device if device is not None else tensor.device


class SaveableObject:
    """An object whose state is a few tensors; subclasses implement how to restore them.

    Attributes:
        op: the object to save; none is saved twice.
        specs: the SaveSpecs of its tensors.
        name: its name in the checkpoint.
    """

    optional_restore = False

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> str:
        """The device of its tensors."""
        return self.specs[0].device

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """The operation that sets the state; each tensor gets the given shape, if there is one."""
        raise NotImplementedError


class ReferenceVariableSaveable(SaveableObject):
    """A reference variable."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        tensor = var._ref() if isinstance(var, RefVariable) else var
        super().__init__(tensor, [SaveSpec(tensor, slice_spec, name)], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        validate = restored_shapes is None and self.op.shape.is_fully_defined()
        return variable_ops.assign(self.op, value, validate_shape=validate)


class ResourceVariableSaveable(SaveableObject):
    """A resource variable, or the tensor that reads one."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        tensor = var._graph_element if isinstance(var, ResourceVariable) else var
        self.handle = tensor.op.inputs[0]
        # The device of the handle, as the read may be cached on another one.
        self._variable_device = self.handle.device
        super().__init__(tensor, [SaveSpec(tensor, slice_spec, name)], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        with device_scope(self._variable_device):
            value = identity(value)
            if not self.op.shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"Received incompatible tensor with shape {value.shape} when attempting to restore "
                    f"variable with shape {self.op.shape} and name {self.name}."
                )
            return apply_op("AssignVariableOp", self.handle, value)


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """The variables and other saveable objects of the default graph, or of a name scope in it."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + get_collection(
        GraphKeys.SAVEABLE_OBJECTS, scope
    )


def op_list_to_dict(op_list: Any) -> dict[str, Any]:
    """The items of `op_list` by their names in the checkpoint; slices of one tensor form a list.

    Raises:
        TypeError: not a list, or an item that is not a variable.
        ValueError: two variables have the same name.
    """
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list. Got {op_list}")
    result: dict[str, Any] = {}
    for item in sorted(_flat(op_list), key=lambda item: item.name):
        info = item._get_save_slice_info() if isinstance(item, Variable) else None
        if info is not None:
            parts = result.setdefault(str(info.full_name), [])
            if not isinstance(parts, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
            parts.append(item)
            continue
        name, value = item.name, item
        if hasattr(item, "saveable"):  # a variable with copies
            name = item.primary.op.name
        elif not isinstance(item, SaveableObject) and not _is_partitioned(item):
            value = _tensor_of(item)
            if not _is_variable(value):
                raise TypeError(f"Variable to save is not a Variable: {item}")
            name = value.op.inputs[0].op.name if value.op.type == "ReadVariableOp" else value.op.name
        if name in result:
            raise ValueError(f"At least two variables have the same name: {name}")
        result[name] = value
    return result


def validated(names_to_saveables: dict[str, Any]) -> list[SaveableObject]:
    """The saveable objects of a dict from names to variables, sorted by name.

    Raises:
        TypeError: a name is not a string, or a value not a variable.
        ValueError: an object would be saved twice.
    """
    result: list[SaveableObject] = []
    seen: set[int] = set()
    for name, item in sorted(names_to_saveables.items()):
        for saveable in _saveables(item, name):
            if id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
            seen.add(id(saveable.op))
            result.append(saveable)
    return result


def _saveables(item: Any, name: str) -> Iterator[SaveableObject]:
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to trackable operations. Name is not a "
            f"string: {name}"
        )
    if isinstance(item, SaveableObject):
        yield item
    elif hasattr(item, "saveable"):
        yield item.saveable(name)
    elif isinstance(item, (list, tuple)) or _is_partitioned(item):
        yield from _slices(list(item), name)
    else:
        tensor = _tensor_of(item)
        if not _is_variable(tensor):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a "
                f"variable: {item}"
            )
        yield _variable_saveable(tensor, "", name)


def _slices(parts: list[Any], name: str) -> Iterator[SaveableObject]:
    full_name = None
    for part in parts:
        if isinstance(part, SaveableObject):
            yield part
            continue
        if not isinstance(part, Variable):
            raise ValueError(f"Slices must all be Variables: {part}")
        info = part._get_save_slice_info()
        if info is None:
            raise ValueError(f"Slices must all be slices: {part}")
        full_name = full_name or info.full_name
        if full_name != info.full_name:
            raise ValueError(f"Slices must all be from the same tensor: {full_name} != {info.full_name}")
        yield _variable_saveable(_slice_tensor(part), info.spec, name)


def _slice_tensor(part: Variable) -> Tensor:
    return part._graph_element if isinstance(part, ResourceVariable) else _tensor_of(part)


def _variable_saveable(tensor: Tensor, slice_spec: str, name: str) -> SaveableObject:
    kind = ReferenceVariableSaveable if tensor.dtype.is_ref else ResourceVariableSaveable
    return kind(tensor, slice_spec, name)


def _flat(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, (list, tuple, set)):
            yield from _flat(item)
        else:
            yield item


def _is_partitioned(item: Any) -> bool:
    """Whether `item` is a PartitionedVariable."""
    return hasattr(item, "as_tensor") and not isinstance(item, (Variable, Tensor))


def _tensor_of(item: Any) -> Any:
    """The reference of a reference variable, or the tensor that reads a resource variable."""
    if isinstance(item, ResourceVariable):
        return item._graph_element
    return item._ref() if isinstance(item, RefVariable) else item


def _is_variable(tensor: Any) -> bool:
    return isinstance(tensor, Tensor) and tensor.op.type in _VARIABLE_OPS


_VARIABLE_OPS = frozenset(("Variable", "VariableV2", "ReadVariableOp"))


def cpu_of(device: str) -> str:
    """The CPU of a device's task."""
    return DeviceSpec.from_string(device).replace(device_type="CPU", device_index=0).to_string()
