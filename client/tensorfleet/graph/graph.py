"""Graph: operations by name, and the scopes under which new ones are made."""

from __future__ import annotations

import contextlib
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from tensorfleet.core import attr_value, shapes
from tensorfleet.graph import describe, op_def
from tensorfleet.graph.attributes import complete
from tensorfleet.graph.elements import find_element
from tensorfleet.graph.op_def import OpDef
from tensorfleet.graph.operation import Operation, call_frames
from tensorfleet.graph.scopes import Controller, ScopeState, device_scope, device_string
from tensorfleet.graph.static_value import infer_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto import function_pb2, graph_pb2, versions_pb2

if TYPE_CHECKING:
    from tensorfleet.core.dtypes import DType

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")

# TensorFlow 2.21's graph version: which consumer a GraphDef asks for, at least.
PRODUCER_VERSION = 2474
MIN_CONSUMER_VERSION = 12


class _Signatures(Protocol):
    """What a session keeps of the signatures that it has run."""

    @property
    def cache(self) -> dict[Any, Any]: ...


class Graph:
    """A dataflow graph (`tf.Graph`). Operations are added and never removed.

    Example:
        >>> graph = tf.Graph()
        >>> with graph.as_default():
        ...     x = tf.constant(3, name="x")
        >>> tf.Session(graph=graph).run("x:0")
        np.int32(3)
    """

    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self._lock = threading.RLock()
        self._finalized = False
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._signatures: weakref.WeakSet[_Signatures] = weakref.WeakSet()
        self._functions: dict[str, function_pb2.FunctionDef] = {}
        self.seed: int | None = None
        self._state = ScopeState()
        self._local_states: threading.local | None = None

    # Building

    def add_operation(
        self,
        opdef: OpDef,
        name: str,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        output_types: list[DType],
        skip_frames: int = 1,
    ) -> Operation:
        """Adds a node with a name that is unique already, under the current scopes, and infers its shapes.

        Raises:
            RuntimeError: the graph is finalized.
            ValueError: the input shapes cannot work, in the words of TensorFlow.
        """
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        state = self._scopes
        controls = self._controls_for(state, inputs) if state.controls else []
        op = Operation(self, opdef, name, inputs, controls, attrs, output_types, call_frames(skip_frames))
        self._infer_shapes(op)
        for key, value in state.attrs.items():
            op.attrs.setdefault(key, value)
        if state.gradient_overrides and opdef.name in state.gradient_overrides:
            op.attrs["_gradient_op_type"] = state.gradient_overrides[opdef.name].encode()
        if state.colocation:
            self._apply_colocation(op, state.colocation)
        if state.devices and not op._device:
            self._apply_devices(op, state)
        with self._lock:
            self._operations[name] = op
            op._id = len(self._operations)
        for tensor in inputs:
            tensor._consumers.append(op)
        for control in controls:
            control._control_outputs.append(op)
        for controller in state.controls:
            controller.seen.add(op)
        if state.control_flow is not None:
            op._control_flow_context = state.control_flow
            state.control_flow.AddOp(op)
        return op

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Takes back the operations, names and functions that are added, if it is left by an exception."""
        with self._lock:
            count, names, functions = len(self._operations), dict(self._names_in_use), dict(self._functions)
            try:
                yield
            except BaseException:
                for op in list(self._operations.values())[count:]:
                    del self._operations[op.name]
                    for tensor in op.inputs:
                        tensor._consumers.remove(op)
                    for control in op.control_inputs:
                        control._control_outputs.remove(op)
                self._names_in_use, self._functions = names, functions
                raise

    def create_op(
        self,
        op_type: str,
        inputs: Iterable[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds a node by its parts (`tf.Graph.create_op`); `attrs` maps names to AttrValue messages."""
        opdef = lookup_op(op_type)
        tensors = tuple(inputs)
        values = {key: attr_value.from_proto(value) for key, value in (attrs or {}).items()}
        final = complete(opdef, name or op_type, values)
        final.update((key, value) for key, value in values.items() if key not in final)
        expected = opdef.input_types(final)
        if len(expected) != len(tensors) or not all(
            wanted.is_compatible_with(tensor.dtype.base)
            for wanted, tensor in zip(expected, tensors, strict=True)
        ):
            raise ValueError(
                f"Op {op_type} takes inputs of types {[dtype.name for dtype in expected]}, "
                f"got {[tensor.dtype.name for tensor in tensors]}"
            )
        return self.add_operation(
            opdef, self.op_name(name, op_type), tensors, final, opdef.output_types(final)
        )

    def _infer_shapes(self, op: Operation) -> None:
        try:
            dims = infer_dims(op.opdef.shape, op)
        except ValueError as e:
            raise ValueError(describe.shape_error(op, e)) from None
        for tensor, d in zip(op.outputs, dims, strict=True):
            tensor.dims = d

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
            yield f"{new}/" if new else ""
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

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Places new operations where `op` is (`tf.Graph.colocate_with`); None clears the outer scopes."""
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
        """Gives new operations further attributes, in the forms of tensorfleet.core.attr_value."""
        state = self._scopes
        old, state.attrs = state.attrs, {**state.attrs, **attrs}
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
        """New operations run after these (`tf.Graph.control_dependencies`); None clears the outer scopes."""
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
            waited_for = {op for outer in old for op in outer.ops}
            state.controls = (*old, Controller([op for op in dict.fromkeys(ops) if op not in waited_for]))
        try:
            yield
        finally:
            state.controls, state.control_flow = old, old_flow

    def _may_capture(self, tensor: Tensor) -> bool:
        """Whether operations here may take a tensor of another graph: only in a function's body."""
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

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes this the graph that new operations go to, in this thread (`tf.Graph.as_default`)."""
        stack = _default_stack.graphs
        stack.append(self)
        try:
            yield self
        finally:
            if stack[-1] is not self:
                raise RuntimeError(
                    "Nesting of Graph.as_default() blocks is broken: close the innermost first."
                )
            stack.pop()

    def switch_to_thread_local(self) -> None:
        """Gives each thread its own scopes from now on, starting from the current ones."""
        if self._local_states is None:
            self._local_states = threading.local()

    @property
    def _scopes(self) -> ScopeState:
        if self._local_states is None:
            return self._state
        state: ScopeState | None = getattr(self._local_states, "state", None)
        if state is None:
            state = self._local_states.state = self._state.copy()
        return state

    # Looking up

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were added."""
        return list(self._operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of this name, such as "a/MatMul".

        Raises:
            KeyError: there is none.
            ValueError: the name is one of a tensor.
            TypeError: the name is no text.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)  # type: ignore[return-value]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of this name, such as "a/MatMul:0".

        Raises:
            KeyError: there is none.
            ValueError: the name is one of an operation.
            TypeError: the name is no text.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)  # type: ignore[return-value]

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """The Tensor or Operation that `obj` names (`tf.Graph.as_graph_element`).

        Raises:
            TypeError: `obj` is of a type that names no element.
            ValueError: `obj` is an element of another graph, or a malformed name.
            KeyError: the graph has no element of that name.
        """
        return find_element(self, obj, allow_tensor, allow_operation)

    def is_feedable(self, tensor: Any) -> bool:
        """Whether a run may feed the tensor."""
        return tensor not in self._unfeedable

    def prevent_feeding(self, tensor: Any) -> None:
        """Forbids runs to feed the tensor."""
        self._unfeedable.add(tensor)
        self._forget_signatures()

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Whether a run may fetch the tensor or operation."""
        return tensor_or_op not in self._unfetchable

    def prevent_fetching(self, op: Any) -> None:
        """Forbids runs to fetch the operation."""
        self._unfetchable.add(op)
        self._forget_signatures()

    def _forget_signatures(self) -> None:
        """Has sessions look again at what they have run already: it may not be allowed any longer."""
        with self._lock:
            known = list(self._signatures)
        for signatures in known:
            signatures.cache.clear()

    def _remember_signatures(self, signatures: _Signatures) -> None:
        """Has the cache of `signatures` cleared when what may be fed or fetched changes."""
        with self._lock:
            self._signatures.add(signatures)

    # Collections

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds a value to a collection, which may be new; it may be in it more than once."""
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds a value to each of the collections, once to each."""
        names = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself: changes to the list are changes to the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection; with `scope`, the items whose names match that regular expression."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[Any]:
        """The names of the collections that are named by text."""
        return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self) -> list[Any]:
        """The names of the collections."""
        return list(self._collections)

    def clear_collection(self, name: Any) -> None:
        """Removes a collection with all that is in it."""
        self._collections.pop(name, None)

    # Functions

    def _add_function(self, function: function_pb2.FunctionDef) -> None:
        """Puts a function into the library, where nodes and other functions find it by its name.

        Raises:
            ValueError: another function of that name is there.
        """
        name = function.signature.name
        known = self._functions.setdefault(name, function)
        if known != function:
            raise ValueError(
                f"Cannot add function '{name}' because a different function with the same name already "
                "exists."
            )

    # The whole

    def finalize(self) -> None:
        """Makes the graph read-only."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    @property
    def finalized(self) -> bool:
        """Whether the graph is finalized: nothing can be added to it."""
        return self._finalized

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @property
    def building_function(self) -> bool:
        """Whether this graph becomes a function's body."""
        return False

    @property
    def version(self) -> int:
        """A number that grows with every operation added."""
        return len(self._operations)

    @property
    def graph_def_versions(self) -> versions_pb2.VersionDef:
        """The versions that GraphDefs of this graph carry."""
        return versions_pb2.VersionDef(producer=PRODUCER_VERSION, min_consumer=MIN_CONSUMER_VERSION)

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> graph_pb2.GraphDef:
        """The graph as a GraphDef message.

        Args:
            from_version: only the operations added after this `version`.
            add_shapes: adds the attribute `_output_shapes` to every node.
        """
        proto = graph_pb2.GraphDef(versions=self.graph_def_versions)
        with self._lock:
            operations = list(self._operations.values())[from_version or 0 :]
        for op in operations:
            node = proto.node.add()
            op.fill_node_def(node)
            if add_shapes:
                node.attr["_output_shapes"].list.shape.extend(shapes.to_proto(t.dims) for t in op.outputs)
        if self._functions:
            proto.library.function.extend(self._functions.values())
        return proto


_convert: Callable[..., Tensor] | None = None


def serve_conversion(convert: Callable[..., Tensor]) -> None:
    """Told by `convert`, whose tensors are made in graphs: what makes a tensor of a value."""
    global _convert
    _convert = convert


class _DefaultStack(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []


_default_stack = _DefaultStack()
_global_default: Graph | None = None


def get_default_graph() -> Graph:
    """The graph of the innermost `as_default` of this thread, or else the process's own
    (`tf.get_default_graph`).

    Example:
        >>> x = tf.constant(1)
        >>> x.graph is tf.get_default_graph()
        True
    """
    global _global_default
    if _default_stack.graphs:
        return _default_stack.graphs[-1]
    if _global_default is None:
        _global_default = Graph()
    return _global_default


def reset_default_graph() -> None:
    """Replaces the process's default graph by an empty one (`tf.reset_default_graph`).

    Raises:
        AssertionError: inside of a `Graph.as_default` block.
    """
    global _global_default
    if _default_stack.graphs:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit "
            "the nesting and create a new graph."
        )
    _global_default = Graph()


def lookup_op(op_type: str) -> OpDef:
    """The definition of a registered op type.

    Raises:
        NotFoundError: it is not registered.
    """
    found = op_def.lookup(op_type)
    if found is None:
        from tensorfleet.core import errors

        raise errors.NotFoundError(
            None,
            None,
            f"Op type not registered '{op_type}'. docs/ops.md lists the ops that TensorFleet has.",
        )
    return found
