"""ResourceVariable: a variable behind a handle; each read and each assignment is an op of its own."""

from __future__ import annotations

from typing import Any, NoReturn

from tensorfleet.core import shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor, register_tensor_conversion_function
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state import resource_variable_ops  # noqa: F401 - registers the ops
from tensorfleet.ops.state.initialized import guarded_initial_value
from tensorfleet.ops.state.variable_ops import assign_slice
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization
from tensorfleet.ops.state.variables import Variable
from tensorfleet.proto import variable_pb2


class ResourceVariable(Variable):
    """`tf.Variable` with `use_resource=True`.

    Attributes:
        reads_slices: that `tf.gather` need not read the whole variable.
    """

    reads_slices = True

    _dtype: DType
    _shape: TensorShape
    _graph_element: Tensor
    _cached_value: Tensor | None

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: variable_pb2.VariableDef | None = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError(
                    "The variable_def and initial_value args to `tf.Variable` are mutually exclusive, but "
                    "got both."
                )
            self._make_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except in a creator."
            )
        joined = self._set_up(collections, trainable, constraint, synchronization, aggregation)
        self._validate_shape = validate_shape
        values = [] if callable(initial_value) else [initial_value]
        with get_default_graph().control_dependencies(None), name_scope(name, "Variable", values) as scope:
            self._make_variable(initial_value, scope, dtype, shape)
            self._make_initializer(scope)
            self._make_reader(caching_device)
        self.graph.add_to_collections(joined, self)

    def _make_from_proto(self, definition: variable_pb2.VariableDef, import_scope: str | None) -> None:
        if not definition.is_resource:
            raise ValueError("The `variable_def` is that of a reference variable.")
        element = self._set_up_from_proto(definition, import_scope)
        handle = self._variable.op
        self._dtype = handle.get_attr("dtype")
        self._shape = shapes.TensorShape(handle.attrs["shape"])
        self._validate_shape = True
        snapshot = element(definition.snapshot_name) if definition.snapshot_name else None
        self._cached_value = None
        if snapshot is None:
            snapshot = apply_op(
                "ReadVariableOp", self._variable, dtype=self._dtype, name=f"{handle.name}/Read/"
            )
        elif snapshot.op.type != "ReadVariableOp":
            self._cached_value = snapshot
        self._graph_element = snapshot

    def _make_variable(self, initial_value: Any, scope: str, dtype: Any, shape: Any) -> None:
        graph = get_default_graph()
        handle_name = scope[:-1]
        # The initial value is colocated with the handle, which does not exist yet.
        with graph._attr_scope({"_class": [f"loc:@{handle_name}".encode()]}):
            with graph.name_scope("Initializer"), graph.device(None):
                given = initial_value() if callable(initial_value) else initial_value
                value = convert_to_tensor(given, dtype, "initial_value")
            if value.op._control_flow_context is not None:
                raise ValueError(
                    f"The `initial_value` passed to `tf.Variable` {scope} is from inside a control-flow "
                    "construct, "
                    "such as a loop or conditional. Pass a function instead."
                )
            self._shape = shapes.TensorShape(value.dims if shape is None else shapes.as_dims(shape))
            self._dtype = value.dtype.base
            self._variable = apply_op(
                "VarHandleOp",
                dtype=self._dtype,
                shape=self._shape,
                shared_name=handle_name,
                debug_name=scope,
                name=scope,
            )
        self._initial_value = value
        self._name = f"{handle_name}:0"

    def _make_initializer(self, scope: str) -> None:
        graph = get_default_graph()
        assert self._initial_value is not None
        with graph.name_scope("IsInitialized"):
            self._is_initialized_op = apply_op("VarIsInitializedOp", self._variable)
        with (
            graph.name_scope("Assign") as assign_name,
            graph.colocate_with(None, ignore_existing=True),
            graph.device(self._variable.device),
        ):
            self._initializer_op = apply_op(
                "AssignVariableOp",
                self._variable,
                guarded_initial_value(scope, self._initial_value),
                name=assign_name,
            )

    def _make_reader(self, caching_device: Any) -> None:
        graph = get_default_graph()
        self._cached_value = None
        with graph.name_scope("Read"):
            with graph.device(self._variable.device):
                self._graph_element = self._read_variable_op()
            if caching_device is not None:
                with graph.colocate_with(None, ignore_existing=True), graph.device(caching_device):
                    self._cached_value = apply_op("Identity", self._graph_element)

    # Properties

    @property
    def handle(self) -> Tensor:
        """The handle, a tensor of dtype resource."""
        return self._variable

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def set_shape(self, shape: Any) -> None:
        self._shape = self._shape.merge_with(shape)
        self._graph_element.set_shape(shape)

    @property
    def create(self) -> Any:
        """The operation that gives the variable its initial value, as `initializer`."""
        return self._initializer_op

    def _snapshot_name(self) -> str:
        return (self._graph_element if self._cached_value is None else self._cached_value).name

    def __bool__(self) -> NoReturn:
        raise TypeError(f"Variable {self.name} has no truth value until a session runs it. Use tf.cond.")

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether the variable has a value: a bool of rank 0."""
        return apply_one("VarIsInitializedOp", self._variable, name=name)

    # Reading

    def _read_variable_op(self) -> Tensor:
        value = apply_one("ReadVariableOp", self._variable, dtype=self._dtype)
        value.set_shape(self._shape)
        return value

    def value(self) -> Tensor:
        if self._cached_value is not None:
            return self._cached_value
        with get_default_graph().colocate_with(None, ignore_existing=True):
            return self._read_variable_op()

    def read_value(self) -> Tensor:
        with get_default_graph().name_scope("Read"):
            value = self._read_variable_op()
        # The Identity may be placed on another device than the variable.
        return apply_one("Identity", value)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The slices `variable[indices]`, without reading the whole variable."""
        with name_scope("Gather" if name is None else name) as scope:
            return apply_one("ResourceGather", self._variable, indices, dtype=self._dtype, name=scope)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices at `indices`, as by `tf.gather_nd`, without reading the whole variable."""
        with name_scope("GatherNd" if name is None else name) as scope:
            value = apply_op("ResourceGatherNd", self._variable, indices, dtype=self._dtype, name=scope)
        return apply_one("Identity", value)

    # Changing

    def assign(
        self, value: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Sets the value; with `read_value=False` the operation alone, else a variable read after it.

        Raises:
            ValueError: `value` has another shape.
        """
        tensor = self._as_value(value)
        if not self._shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Cannot assign value to variable ' {self.name}': Shape mismatch."
                f"The variable shape {self._shape}, and the assigned value shape {tensor.shape} are "
                "incompatible."
            )
        validate_shape = self._validate_shape and self._shape.is_fully_defined()
        op = apply_op("AssignVariableOp", self._variable, tensor, validate_shape=validate_shape, name=name)
        return self._lazy_read(op) if read_value else op

    def assign_add(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds `delta`, of the same shape."""
        op = apply_op("AssignAddVariableOp", self._variable, self._as_value(delta), name=name)
        return self._lazy_read(op) if read_value else op

    def assign_sub(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts `delta`, of the same shape."""
        op = apply_op("AssignSubVariableOp", self._variable, self._as_value(delta), name=name)
        return self._lazy_read(op) if read_value else op

    def _assign_slice(
        self, begin: Any, end: Any, strides: Any, masks: Any, value: Any, name: str | None
    ) -> ChangedVariable:
        value = self._as_value(value)
        op = assign_slice(
            "ResourceStridedSliceAssign", self._variable, begin, end, strides, masks, value, name
        )
        return self._lazy_read(op)

    def _lazy_read(self, op: Operation) -> ChangedVariable:
        return ChangedVariable(self, op)


class ChangedVariable(ResourceVariable):
    """A resource variable after an assignment: reads through this object run after the assignment."""

    def __init__(self, variable: ResourceVariable, changed_by: Operation) -> None:
        self._changed_by = changed_by
        for attribute in ("_variable", "_dtype", "_shape", "_validate_shape", "_initial_value", "_trainable"):
            setattr(self, attribute, getattr(variable, attribute))
        for attribute in ("_initializer_op", "_constraint", "_synchronization", "_aggregation"):
            setattr(self, attribute, getattr(variable, attribute))
        self._save_slice_info = variable._save_slice_info
        self._cached_value = None
        self._name = changed_by.name
        self._graph_element = self._read_variable_op()

    @property
    def op(self) -> Operation:
        return self._changed_by

    def _read_variable_op(self) -> Tensor:
        with get_default_graph().control_dependencies([self._changed_by]):
            return super()._read_variable_op()

    def read_value(self) -> Tensor:
        return self._read_variable_op()


def _to_tensor(
    variable: ResourceVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name!r} for `tf.Variable which has type "
            f"{variable.dtype.name!r}`."
        )
    return variable.value()


register_tensor_conversion_function(ResourceVariable, _to_tensor)
