"""The names of a graph's operations, and the scopes under which new ones are made."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from tensorfleet.core import attr_value, compat
from tensorfleet.core.device import DeviceSpec
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.scopes import Controller, ScopeState, device_scope, device_string
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.attr_value_pb2 import AttrValue

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


_convert: Callable[..., Tensor] | None = None


def serve_conversion(convert: Callable[..., Tensor]) -> None:
    """Registers the function that makes a tensor of a value; called by `convert`, a module above."""
    global _convert
    _convert = convert


class _LocalScopes(threading.local):
    """The scopes in force in each thread; None before it has any of a graph."""

    state: ScopeState | None = None


class ScopedGraph:
    """The part of `Graph` that gives new operations names, devices, colocation and control inputs."""

    def __init__(self) -> None:
        self._names_in_use: dict[str, int] = {}
        self._lock = threading.RLock()
        self._state = ScopeState()  # of the thread that makes the graph
        self._local = _LocalScopes()
        self._local.state = self._state

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """The Tensor or Operation that `obj` names (`tf.Graph.as_graph_element`)."""
        raise NotImplementedError

    # Names

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` under the current name scope, with `_1`, `_2` … added where it is taken already."""
        scope = self._scopes.name
        if scope:
            name = f"{scope}/{name}"
        key = name.lower()
        with self._lock:
            count = self._names_in_use.get(key, 0)
            if not count:
                if mark_as_used:
                    self._names_in_use[key] = 1
                return name
            base = name
            while key in self._names_in_use:
                name = f"{base}_{count}"
                key = name.lower()
                count += 1
            if mark_as_used:
                self._names_in_use[base.lower()] = count
                self._names_in_use[key] = 1
            return name

    def op_name(self, name: str | None, op_type: str) -> str:
        """The unique name of a new node: a name that ends in "/" is taken as it is, as in TensorFlow."""
        if not name:
            return self.unique_name(op_type)
        name = compat.as_text(name)
        if name[-1] == "/":
            return name[:-1]
        if not (_VALID_NAME if not self._scopes.name else _VALID_SCOPE).match(name):
            raise ValueError(f"'{name}' is not a valid node name")
        return self.unique_name(name)

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of new operations (`tf.Graph.name_scope`); yields the prefix with its "/"."""
        state = self._scopes
        old = state.name
        name = name and compat.as_text(name)
        if not name:
            new = ""
        elif name[-1] == "/":
            new = name[:-1]
        else:
            if not (_VALID_SCOPE if old else _VALID_NAME).match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
            new = self.unique_name(name)
        state.name = new
        try:
            yield f"{new}/" if name else ""
        finally:
            state.name = old

    def get_name_scope(self) -> str:
        """The full name of the current name scope, such as "a/b"; "" outside of all."""
        return self._scopes.name

    # Devices and colocation

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Asks for a device for new operations (`tf.Graph.device`).

        Args:
            device_name_or_function: a string, a DeviceSpec, a function from the operation to one of these, or
                None to ignore the outer scopes.
        """
        state = self._scopes
        old = state.devices
        state.devices = (*old, device_scope(device_name_or_function))
        try:
            yield
        finally:
            state.devices = old

    def _apply_devices(self, op: Operation, state: ScopeState) -> None:
        for scope in reversed(state.devices):
            if scope is None:
                break
            op._device = device_string(scope(op))

    def _apply_device_functions(self, op: Any) -> None:
        """Tells any object, by its `_set_device`, which device the scopes ask for, as a DeviceSpec.

        Libraries find the current device so.
        """
        seen: Any = SimpleNamespace(type="", name="", _device="", device="")
        for scope in reversed(self._scopes.devices):
            if scope is None:
                break
            seen._device = seen.device = device_string(scope(seen))
            op._set_device(DeviceSpec.from_string(seen.device))

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Places new operations where `op` is (`tf.Graph.colocate_with`); None clears the outer scopes.

        Raises:
            ValueError: `op` is None without `ignore_existing`.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but `ignore_existing` is not True")
        state = self._scopes
        old, old_devices = state.colocation, state.devices
        if op is None:
            state.colocation = ()
        else:
            op = op if isinstance(op, Operation) else self._operation_of(op)
            state.colocation = (op,) if ignore_existing else (*old, op)
        # The colocation decides, or what stands inside, not the device scopes outside of it.
        state.devices = ()
        try:
            yield
        finally:
            state.colocation, state.devices = old, old_devices

    @contextlib.contextmanager
    def no_colocation(self) -> Iterator[None]:
        """New operations are placed by their own devices and the device scopes alone."""
        state = self._scopes
        old, state.colocation = state.colocation, ()
        try:
            yield
        finally:
            state.colocation = old

    def _operation_of(self, value: Any) -> Operation:
        assert _convert is not None
        element = value.op if hasattr(value, "op") else _convert(value, as_ref=True).op
        assert isinstance(element, Operation)
        return element

    def _apply_colocation(self, op: Operation, others: tuple[Operation, ...]) -> None:
        groups = {group for other in others for group in other.colocation_groups()}
        groups.update(op.attrs.get("_class", []))
        op.attrs["_class"] = sorted(groups)
        for other in others:
            if other._device:
                op._device = other._device

    @contextlib.contextmanager
    def _attr_scope(self, attrs: dict[str, Any]) -> Iterator[None]:
        """Gives new operations further attributes: AttrValue messages, or the forms of
        tensorfleet.core.attr_value. None takes away what an outer scope gives.
        """
        state = self._scopes
        made = {k: attr_value.from_proto(v) if isinstance(v, AttrValue) else v for k, v in attrs.items()}
        merged = {k: v for k, v in {**state.attrs, **made}.items() if v is not None}
        old, state.attrs = state.attrs, merged
        try:
            yield
        finally:
            state.attrs = old

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Gives new operations of some types other gradients (`tf.Graph.gradient_override_map`).

        Args:
            op_type_map: from an op type to the name that the other gradient was registered by.

        Raises:
            TypeError: not a dictionary from strings to strings.
        """
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for op_type, mapped in op_type_map.items():
            if not isinstance(op_type, str) or not isinstance(mapped, str):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        state = self._scopes
        old, state.gradient_overrides = state.gradient_overrides, {**state.gradient_overrides, **op_type_map}
        try:
            yield
        finally:
            state.gradient_overrides = old

    # Control dependencies

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """New operations run after these (`tf.Graph.control_dependencies`); None clears the outer scopes.

        Raises:
            ValueError: an operation is one of another graph.
        """
        state = self._scopes
        old, old_flow = state.controls, state.control_flow
        if control_inputs is None:
            state.controls, state.control_flow = (), None
        else:
            ops = []
            for value in control_inputs:
                if isinstance(value, Operation):
                    ops.append(value)
                elif hasattr(value, "handle") and isinstance(getattr(value, "op", None), Operation):
                    ops.append(value.op)  # A resource variable: what made or changed it, not a read of it.
                elif hasattr(value, "_as_graph_element"):
                    element = value._as_graph_element()
                    ops.append(element if isinstance(element, Operation) else element.op)
                elif isinstance(value, Tensor) or (
                    hasattr(value, "values") and isinstance(getattr(value, "op", None), Operation)
                ):
                    ops.append(value.op)
                else:
                    element = self.as_graph_element(value)
                    ops.append(element.op if isinstance(element, Tensor) else element)
            for op in ops:
                if op.graph is not self and not self._is_inside(op.graph):
                    raise ValueError(f"{op!r} is not an element of this graph.")
            waited_for = {op for outer in old for op in outer.ops}
            state.controls = (*old, Controller([op for op in dict.fromkeys(ops) if op not in waited_for]))
        try:
            yield
        finally:
            state.controls, state.control_flow = old, old_flow

    def _is_inside(self, graph: Any) -> bool:
        """Whether it is the body of a function that is made in `graph`."""
        return False

    def _controls_for(self, state: ScopeState, inputs: tuple[Tensor, ...]) -> list[Operation]:
        """The control inputs of a new node; those that its inputs wait for already are left out."""
        input_ops = {t.op for t in inputs}
        result: list[Operation] = []
        for controller in state.controls:
            if not controller.seen.isdisjoint(input_ops):
                continue
            result += [op for op in controller.ops if op not in input_ops and op not in result]
        return result

    # Other scopes

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """The resource container of new stateful operations (`tf.Graph.container`)."""
        state = self._scopes
        old, state.container = state.container, container_name
        try:
            yield container_name
        finally:
            state.container = old

    def switch_to_thread_local(self) -> None:
        """Gives each thread its own scopes (`tf.Graph.switch_to_thread_local`), as it has in any case."""

    def scopes(self) -> ScopeState:
        """The scopes in force."""
        return self._scopes

    def use_scopes(self, state: ScopeState) -> ScopeState:
        """Puts other scopes in force in this thread, those of another replica; returns the old ones."""
        old, self._local.state = self._scopes, state
        return old

    @property
    def _scopes(self) -> ScopeState:
        """The scopes of this thread, so that several threads build one graph without finding each other's.

        As in TensorFlow, a thread starts without the name scope of the thread that made the graph, but with
        its devices and control dependencies. Unlike there, they are the thread's own from then on.
        """
        state = self._local.state
        if state is None:
            state = self._local.state = self._state.copy()
            state.name = ""
        return state
