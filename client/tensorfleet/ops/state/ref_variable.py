"""RefVariable: a variable whose tensor is a reference, which ops like Assign change in place."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor, register_tensor_conversion_function
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.initialized import guarded_initial_value
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization
from tensorfleet.ops.state.variables import Variable
from tensorfleet.proto import variable_pb2


class RefVariable(Variable):
    """`tf.Variable` with `use_resource=False`."""

    _is_reference = True

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
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._snapshot: Tensor = self._set_up_from_proto(variable_def, import_scope)(
                variable_def.snapshot_name
            )
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        joined = self._set_up(collections, trainable, constraint, synchronization, aggregation)
        values = [] if callable(initial_value) else [initial_value]
        with (
            # The variable is made once, even if the call is in a conditional or a loop.
            get_default_graph().control_dependencies(None),
            name_scope(name, "Variable", values) as scope,
        ):
            self._make_variable(initial_value, scope, dtype, validate_shape, shape)
            self._make_initializer(scope, validate_shape, caching_device)
        self.graph.add_to_collections(joined, self)

    def _make_variable(
        self, initial_value: Any, scope: str, dtype: Any, validate_shape: bool, shape: Any
    ) -> None:
        graph = get_default_graph()
        if callable(initial_value):
            # The function's ops are colocated with the variable, which does not exist yet.
            with graph._attr_scope({"_class": [f"loc:@{scope[:-1]}".encode()]}):
                with graph.name_scope("Initializer"), graph.device(None):
                    value = convert_to_tensor(initial_value(), dtype, "initial_value")
                self._variable = _variable_op(value, scope, validate_shape, shape)
        else:
            value = convert_to_tensor(initial_value, dtype, "initial_value")
            if value.op._control_flow_context is not None:
                raise ValueError(
                    f"Initializer for variable {scope} is from inside a control-flow construct, such as a "
                    "loop or "
                    "conditional. When creating a variable inside a loop or conditional, use a lambda as the "
                    "initializer."
                )
            self._variable = _variable_op(value, scope, validate_shape, shape)
        self._initial_value = value
        self._name = self._variable.name
        if validate_shape and not value.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value}")

    def _make_initializer(self, scope: str, validate_shape: bool, caching_device: Any) -> None:
        graph = get_default_graph()
        assert self._initial_value is not None
        self._initializer_op = apply_op(
            "Assign",
            self._variable,
            guarded_initial_value(scope, self._initial_value),
            validate_shape=validate_shape,
            name=f"{scope}Assign/",
        ).op
        place = (
            graph.colocate_with(self._variable.op) if caching_device is None else graph.device(caching_device)
        )
        with place:
            self._snapshot = apply_op("Identity", self._variable, name=f"{scope}read/")

    def _snapshot_name(self) -> str:
        return self._snapshot.name

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def value(self) -> Tensor:
        return self._snapshot

    def read_value(self) -> Tensor:
        return apply_one("Identity", self._variable, name="read")

    def _ref(self) -> Tensor:
        """The reference that ops which change the variable take."""
        return self._variable

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """`tf.assign` to the variable; with `read_value=False` the operation alone."""
        return _result(variable_ops.assign(self._variable, value, None, use_locking, name), read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """`tf.assign_add` to the variable."""
        return _result(variable_ops.assign_add(self._variable, delta, use_locking, name), read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """`tf.assign_sub` from the variable."""
        return _result(variable_ops.assign_sub(self._variable, delta, use_locking, name), read_value)

    def _assign_slice(
        self, begin: Any, end: Any, strides: Any, masks: Any, value: Any, name: str | None
    ) -> Any:
        return variable_ops.assign_slice(
            "StridedSliceAssign", self._variable, begin, end, strides, masks, value, name
        )


def _result(assigned: Tensor, read_value: bool) -> Any:
    return assigned if read_value else assigned.op


def _variable_op(value: Tensor, scope: str, validate_shape: bool, shape: Any) -> Tensor:
    dims = (value.dims if validate_shape else None) if shape is None else shapes.as_dims(shape)
    return apply_one("VariableV2", shape=dims, dtype=value.dtype.base, name=scope)


def _to_tensor(
    variable: RefVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    return variable._ref() if as_ref else variable.value()


register_tensor_conversion_function(RefVariable, _to_tensor)
