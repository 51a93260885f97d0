"""Graph: operations by name, and the scopes under which new ones are made."""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from tensorfleet.core import attr_value, shapes
from tensorfleet.graph import describe, op_def
from tensorfleet.graph.attributes import complete
from tensorfleet.graph.collecting_graph import CollectingGraph
from tensorfleet.graph.elements import find_element
from tensorfleet.graph.function_calls import DefinedFunction, call_definition
from tensorfleet.graph.graph_part import GraphPart
from tensorfleet.graph.op_def import OpDef
from tensorfleet.graph.operation import Operation, call_frames
from tensorfleet.graph.static_value import infer_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto import function_pb2, graph_pb2, versions_pb2

if TYPE_CHECKING:
    from tensorfleet.core.dtypes import DType

# TensorFlow 2.21's graph version: which consumer a GraphDef asks for, at least.
PRODUCER_VERSION = 2474
MIN_CONSUMER_VERSION = 12


class _Signatures(Protocol):
    """The signatures that a session has run."""

    def forget(self) -> None: ...


class Graph(CollectingGraph):
    """A dataflow graph (`tf.Graph`). Operations are added and never removed.

    Example:
        >>> graph = tf.Graph()
        >>> with graph.as_default():
        ...     x = tf.constant(3, name="x")
        >>> tf.Session(graph=graph).run("x:0")
        np.int32(3)
    """

    def __init__(self) -> None:
        super().__init__()
        self._operations: dict[str, Operation] = {}
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._signatures: weakref.WeakSet[_Signatures] = weakref.WeakSet()
        self.functional_flow = False  # whether conditionals and loops become If, Case and While
        self._functions: dict[str, function_pb2.FunctionDef] = {}
        self._function_gradients: dict[str, str] = {}
        self._defined: dict[str, DefinedFunction] = {}
        self._calls: dict[str, OpDef] = {}
        self._traced: dict[Any, dict[Any, Any]] = {}
        self.seed: int | None = None

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
        for tensor in inputs:
            if tensor.op._control_flow_context not in (None, state.control_flow):
                tensor.op._control_flow_context.CheckUse(tensor, op, state.control_flow)
        self._infer_shapes(op)
        for key, value in state.attrs.items():
            op.attrs.setdefault(key, value)
        if state.container and opdef.is_stateful and op.attrs.get("container") == b"":
            op.attrs["container"] = state.container.encode()
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

    def _get_control_flow_context(self) -> Any:
        """The conditional or loop whose body is being built by this thread, or None."""
        return self._scopes.control_flow

    def _set_control_flow_context(self, ctx: Any) -> None:
        self._scopes.control_flow = ctx

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Takes back the operations, names and functions that are added, if it is left by an exception."""
        with self._lock:
            count, names = len(self._operations), dict(self._names_in_use)
            functions, gradients = dict(self._functions), dict(self._function_gradients)
            try:
                yield
            except BaseException:
                for op in list(self._operations.values())[count:]:
                    del self._operations[op.name]
                    for tensor in op.inputs:
                        tensor._consumers.remove(op)
                    for control in op.control_inputs:
                        control._control_outputs.remove(op)
                self._names_in_use = names
                self._functions, self._function_gradients = functions, gradients
                self._calls.clear()
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
        opdef = self._op_definition(op_type)
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

    def _may_capture(self, tensor: Tensor) -> bool:
        """Whether operations here may take a tensor of another graph: only in a function's body."""
        return False

    def _keeping_effects(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A branch, or a loop's body, as it is; in functions that act in order, one with all its effects."""
        return function

    # The default

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes this the graph that new operations go to, in this thread (`tf.Graph.as_default`)."""
        stack = _default_stack.graphs
        stack.append(self)
        try:
            yield self
        finally:
            if stack[-1] is not self:
                raise AssertionError(
                    "Nesting violated for default graphs: close the innermost Graph.as_default() first."
                )
            stack.pop()

    # Looking up

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were added."""
        return list(self._operations.values())

    @property
    def operations(self) -> list[Operation]:
        """All operations, in the order in which they were added."""
        return self.get_operations()

    def num_operations(self) -> int:
        """The number of operations."""
        return len(self._operations)

    def op_def_for_type(self, type: str) -> Any:
        """The OpDef message of an op type, or of a function of this graph.

        Raises:
            NotFoundError: there is none of that name.
        """
        from tensorfleet.graph.op_def_proto import to_proto

        function = self._functions.get(type)
        return to_proto(lookup_op(type)) if function is None else function.signature

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
        return getattr(tensor_or_op, "op", tensor_or_op) not in self._unfetchable

    def prevent_fetching(self, op: Any) -> None:
        """Forbids runs to fetch the operation."""
        self._unfetchable.add(op)
        self._forget_signatures()

    def _forget_signatures(self) -> None:
        """Has sessions look again at what they have run already: it may not be allowed any longer."""
        with self._lock:
            known = list(self._signatures)
        for signatures in known:
            signatures.forget()

    def _remember_signatures(self, signatures: _Signatures) -> None:
        """Has `signatures` forget what they keep when what may be fed or fetched changes."""
        with self._lock:
            self._signatures.add(signatures)

    # Functions

    def _add_function(
        self, function: function_pb2.FunctionDef | DefinedFunction, gradient: str | None = None
    ) -> None:
        """Puts a function into the library, where nodes and other functions find it by its name.

        Args:
            function: its definition, or what `Defun` gives.
            gradient: the name of the function that is its gradient.

        Raises:
            InvalidArgumentError: another function of that name is there, or has another gradient, or an op
                has that name.
        """
        defined: DefinedFunction | None = None
        if isinstance(function, function_pb2.FunctionDef):
            definition = function
        else:
            definition, defined = function.definition, function
        name = definition.signature.name
        known = self._functions.get(name)
        problem = ""
        if known is None:
            if op_def.lookup(name) is not None:
                problem = f"Cannot add function '{name}' because an op with the same name already exists."
        elif known is not definition and known != definition:
            problem = (
                f"Cannot add function '{name}' because a different function with the same name already "
                "exists."
            )
        if not problem and gradient and self._function_gradients.get(name, gradient) != gradient:
            problem = (
                f"Cannot assign gradient function '{gradient}' to '{name}' because it already has gradient "
                f"function '{self._function_gradients[name]}'"
            )
        if problem:
            from tensorfleet.core import errors

            raise errors.InvalidArgumentError(None, None, problem)
        self._functions.setdefault(name, definition)
        if defined is not None:
            self._defined.setdefault(name, defined)
        if gradient:
            self._function_gradients[name] = gradient

    def _is_function(self, name: str) -> bool:
        """Whether the library has a function of that name."""
        return name in self._functions

    def _get_function(self, name: Any) -> DefinedFunction | None:
        """What `Defun` or an import gave for the function of that name, or None."""
        return self._defined.get(name.decode() if isinstance(name, bytes) else name)

    def _op_definition(self, op_type: str) -> OpDef:
        """The definition of an op type, or of the calls of a function of the library.

        Raises:
            NotFoundError: there is none of that name.
        """
        function = self._functions.get(op_type)
        if function is None:
            return lookup_op(op_type)
        found = self._calls.get(op_type)
        if found is None:
            found = self._calls[op_type] = call_definition(function.signature)
        return found

    # The whole

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
        part = self.part(from_version or 0)
        proto = part.graph_def()
        if add_shapes:
            for op, node in zip(part.operations, proto.node, strict=True):
                node.attr["_output_shapes"].list.shape.extend(shapes.to_proto(t.dims) for t in op.outputs)
        return proto

    def part(self, from_version: int = 0) -> GraphPart:
        """The operations added after a `version`, for a session's master."""
        return GraphPart(
            self._since(from_version),
            list(self._functions.values()),
            self.graph_def_versions,
            self._function_gradients,
        )

    def _since(self, version: int) -> list[Operation]:
        """The operations added after a version; their number decides how long it takes, not the graph's."""
        with self._lock:
            newest = reversed(self._operations.values())
            return list(itertools.islice(newest, max(0, len(self._operations) - version)))[::-1]


class _DefaultStack(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []


_default_stack = _DefaultStack()
_global_default: Graph | None = None
_making_default = threading.Lock()


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
        with _making_default:
            if _global_default is None:
                _global_default = Graph()
    return _global_default


def is_nested() -> bool:
    """Whether this thread is inside of a `Graph.as_default` block."""
    return bool(_default_stack.graphs)


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
