"""Operation: a node of a graph."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from tensorfleet.core import attr_value, shapes
from tensorfleet.core.device import DeviceSpec
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import node_bytes
from tensorfleet.graph.default_session import RunsSteps, eval_using_default_session
from tensorfleet.graph.op_def import OpDef
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto import node_def_pb2

if TYPE_CHECKING:
    from tensorfleet.graph.graph import Graph

PACKAGE_DIRECTORY = os.path.dirname(os.path.abspath(sys.modules["tensorfleet"].__file__ or "")) + os.sep
_EXAMPLES = os.path.join(PACKAGE_DIRECTORY, "examples") + os.sep  # programs, like those of users


class Operation:
    """A node of a graph (`tf.Operation`): an op type, inputs, attributes, a device. Made by the graph.

    Attributes:
        name: unique in the graph.
        type: the op type, such as "MatMul".
        inputs: the input tensors, a tuple.
        control_inputs: the operations that must have run before.
        attrs: attribute values in the Python forms of `tensorfleet.core.attr_value`.
        outputs: the output tensors, a list.
        device: the device string asked for, possibly partial or empty.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_changes",
        "_control_flow_context",
        "_control_outputs",
        "_device",
        "_encoded",
        "_frames",
        "_id",
        "attrs",
        "control_inputs",
        "graph",
        "inputs",
        "name",
        "opdef",
        "outputs",
        "type",
    )

    added_outputs = 0
    """How many of the last outputs are values that its gradient takes, and no results."""

    def __init__(
        self,
        graph: Graph,
        opdef: OpDef,
        name: str,
        inputs: tuple[Tensor, ...],
        control_inputs: list[Operation],
        attrs: dict[str, Any],
        output_types: list[DType],
        frames: list[tuple[CodeType, int]],
    ) -> None:
        self.graph = graph
        self.opdef = opdef
        self.type = opdef.name
        self.name = name
        self.inputs = inputs
        self.control_inputs = control_inputs
        self.attrs = attrs
        self.outputs = [Tensor(self, i, dtype) for i, dtype in enumerate(output_types)]
        self._device = ""
        self._encoded: bytes | None = None
        self._changes = 0  # what was read before one of them is not kept
        self._frames = frames
        self._id = 0
        self._control_flow_context: Any = None
        self._control_outputs: list[Operation] = []

    # Programs that rewrite graphs take them by these names.

    @property
    def _inputs(self) -> tuple[Tensor, ...]:
        return self.inputs

    @property
    def _outputs(self) -> list[Tensor]:
        return self.outputs

    @property
    def device(self) -> str:
        """The device that was asked for, such as "/job:worker/task:1"; "" leaves the choice to the master."""
        return self._device

    def _set_device(self, device: Any) -> None:
        self._device = device.to_string() if isinstance(device, DeviceSpec) else str(device or "")
        self._changed()

    def _get_control_flow_context(self) -> Any:
        """The loop or conditional that the operation lies in, or None."""
        return self._control_flow_context

    def _set_control_flow_context(self, ctx: Any) -> None:
        self._control_flow_context = ctx

    @property
    def op_def(self) -> Any:
        """The signature as an OpDef message."""
        from tensorfleet.graph.op_def_proto import to_proto

        return to_proto(self.opdef)

    @property
    def node_def(self) -> node_def_pb2.NodeDef:
        """The node as a NodeDef message, made anew at each call."""
        node = node_def_pb2.NodeDef()
        self.fill_node_def(node)
        return node

    def encoded(self) -> bytes | None:
        """The node as a part of a serialized GraphDef, kept until it changes; None if it is large."""
        found = self._encoded
        if found is None:
            changes = self._changes
            found = node_bytes.encode(self.name, self.type, self.input_texts(), self._device, self.attrs)
            self._encoded = found
            if self._changes != changes:  # another thread is building
                self._encoded = None
        return found

    def _changed(self) -> None:
        """Forgets the bytes; called after each change."""
        self._changes += 1
        self._encoded = None

    def fill_node_def(self, node: node_def_pb2.NodeDef) -> None:
        """Writes the node into an empty NodeDef."""
        node.name = self.name
        node.op = self.type
        if self._device:
            node.device = self._device
        node.input.extend(self.input_texts())
        for key, value in self.attrs.items():
            attr_value.to_proto(value, node.attr[key])

    def input_texts(self) -> list[str]:
        """The inputs as a NodeDef names them: tensors, and then operations to wait for."""
        texts = [t.name if t.value_index else t.op.name for t in self.inputs]
        if self.control_inputs:
            texts += sorted(f"^{op.name}" for op in self.control_inputs)
        return texts

    @property
    def control_outputs(self) -> list[Operation]:
        """The operations that run after this one because of a control dependency."""
        return list(self._control_outputs)

    def values(self) -> tuple[Tensor, ...]:
        """The outputs."""
        return tuple(self.outputs)

    def get_attr(self, name: str) -> Any:
        """The value of an attribute; a shape is given as a TensorShapeProto, as in TensorFlow.

        Raises:
            ValueError: the op has no such attribute.
        """
        if name not in self.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        value = self.attrs[name]
        if isinstance(value, tuple) or value is None:
            return shapes.to_proto(value)
        if isinstance(value, list):
            return [shapes.to_proto(v) if isinstance(v, tuple) or v is None else v for v in value]
        return value

    def _set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute to an AttrValue message (`tf.Operation._set_attr`)."""
        self.put_attr(name, attr_value.from_proto(value))

    def put_attr(self, name: str, value: Any) -> None:
        """Sets an attribute to a Python value, after the operation was made."""
        self.attrs[name] = value
        self._changed()

    def add_outputs(self, types: Sequence[DType], dims: Sequence[Dims]) -> None:
        """Adds outputs for a gradient, later; the operation's attributes are for the caller to change."""
        self.added_outputs += len(types)
        for dtype, shape in zip(types, dims, strict=True):
            tensor = Tensor(self, len(self.outputs), dtype)
            tensor.dims = shape
            self.outputs.append(tensor)
        self._changed()

    def call_instead(self, opdef: OpDef) -> None:
        """Makes this the call of another function, which has the same arguments."""
        self.opdef, self.type = opdef, opdef.name
        self._changed()

    def add_inputs(self, tensors: Sequence[Tensor]) -> None:
        """Adds inputs for a gradient, later; the operation's attributes are for the caller to change."""
        self.inputs = (*self.inputs, *tensors)
        for tensor in tensors:
            tensor._consumers.append(self)
        self._changed()

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops: list[Operation]) -> None:
        for op in ops:
            if op not in self.control_inputs:
                self.control_inputs.append(op)
                op._control_outputs.append(self)
        self._changed()

    def _remove_control_input(self, op: Operation) -> None:
        self.control_inputs.remove(op)
        op._control_outputs.remove(self)
        self._changed()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        self.inputs[index]._consumers.remove(self)
        self.inputs = (*self.inputs[:index], tensor, *self.inputs[index + 1 :])
        self._changed()
        tensor._consumers.append(self)

    def colocation_groups(self) -> list[bytes]:
        """The names of the colocation groups that this operation belongs to, as bytes `loc:@name`."""
        groups = [c for c in self.attrs.get("_class", []) if c.startswith(b"loc:@")]
        return groups or [f"loc:@{self.name}".encode()]

    @property
    def traceback(self) -> list[traceback.FrameSummary]:
        """The stack of calls that made the operation, the innermost frame last."""
        return [
            traceback.FrameSummary(code.co_filename, line, code.co_name)
            for code, line in reversed(self._frames)
        ]

    @property
    def definition(self) -> str | None:
        """`file:line in function: source`, the user's line that made the operation."""
        for code, line in self._frames:
            if not code.co_filename.startswith(PACKAGE_DIRECTORY) or code.co_filename.startswith(_EXAMPLES):
                source = linecache.getline(code.co_filename, line).strip()
                return f"{code.co_filename}:{line} in {code.co_name}" + (f": {source}" if source else "")
        return None

    def run(self, feed_dict: dict[Any, Any] | None = None, session: RunsSteps | None = None) -> None:
        """Runs the operation in `session`, or in the default session."""
        eval_using_default_session(self, feed_dict, self.graph, session, is_op=True)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def call_frames(skip: int) -> list[tuple[CodeType, int]]:
    """(code, line) of the callers, the innermost first, without the `skip` innermost ones."""
    frames = []
    frame = sys._getframe(skip + 1)
    while frame is not None:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return frames
