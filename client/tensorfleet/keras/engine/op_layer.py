"""Operations between layers as layers, so that models have them: `x + y`, `tf.nn.relu(x)`, …"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import nest
from tensorfleet.keras.backend.state import unique_name
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.engine.node import Node, history
from tensorfleet.proto.node_def_pb2 import NodeDef


class TensorFlowOpLayer(Layer):
    """An operation that was made between layers (its inputs from layers are the layer's inputs).

    Args:
        node_def: the node, or its text in base64.
        constants: the other inputs by their position, tensors or arrays.
    """

    def __init__(
        self,
        node_def: Any,
        constants: Any = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
    ) -> None:
        if isinstance(node_def, str):
            node_def = NodeDef.FromString(base64.b64decode(node_def))
        super().__init__(name=name or unique_name(f"tf_op_layer_{node_def.name}"), trainable=trainable)
        self.node_def, self.built = node_def, True
        self.constants: dict[int, Any] = {int(k): v for k, v in (constants or {}).items()}

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        operands = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        for position, value in sorted(self.constants.items()):
            operands.insert(position, value if isinstance(value, Tensor) else constant(np.array(**value)))
        made = get_default_graph().create_op(
            self.node_def.op,
            operands,
            name=self.node_def.name.rpartition("/")[2],
            attrs={k: v for k, v in self.node_def.attr.items() if not k.startswith("_")},
        )
        return nest.unpack_single(list(made.outputs))

    def get_config(self) -> dict[str, Any]:
        """The node, and the values of its other inputs.

        Raises:
            NotImplementedError: another input has no value that is known without a step.
        """
        values = {}
        for position, tensor in self.constants.items():
            known = static_value(tensor) if isinstance(tensor, Tensor) else np.array(**tensor)
            if known is None:
                raise NotImplementedError(
                    f"The operation {self.node_def.name!r} between the layers takes "
                    f"{tensor.name!r}, which no "
                    "configuration keeps. Put the operation into a tf.keras.layers.Lambda."
                )
            values[str(position)] = {"object": known.tolist(), "dtype": known.dtype.name}
        node = base64.b64encode(self.node_def.SerializeToString()).decode()
        return {**super().get_config(), "node_def": node, "constants": values}


def complete_history(tensors: Any) -> None:
    """Makes layers of the operations between layers and these tensors, unless they are layers' outputs."""
    for tensor in nest.flatten(tensors):
        if isinstance(tensor, Tensor) and history(tensor) is None and _depends_on_layers(tensor):
            _wrap(tensor)


def _depends_on_layers(tensor: Any) -> bool:
    seen = {tensor.op}
    pending = [tensor]
    while pending:
        for source in pending.pop().op.inputs:
            if history(source) is not None:
                return True
            if source.op not in seen:
                seen.add(source.op)
                pending.append(source)
    return False


def _wrap(tensor: Any) -> None:
    """Makes layers of the operation of a tensor and of those before it, the first ones first."""
    pending = [tensor.op]
    while pending:
        op = pending[-1]
        if history(op.outputs[0]) is not None:
            pending.pop()
            continue
        dependent = [t for t in op.inputs if history(t) is not None or _depends_on_layers(t)]
        before = [t.op for t in dependent if history(t) is None]
        if before:
            pending += before
            continue
        pending.pop()
        chosen = {id(t) for t in dependent}
        constants = {i: t for i, t in enumerate(op.inputs) if id(t) not in chosen}
        layer = TensorFlowOpLayer(op.node_def, constants)
        inputs = [t for i, t in enumerate(op.inputs) if i not in constants]
        Node(layer, nest.unpack_single(inputs), nest.unpack_single(list(op.outputs)))


Layer._history_completer = staticmethod(complete_history)
