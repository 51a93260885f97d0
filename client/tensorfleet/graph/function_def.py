"""The FunctionDef of a body that was built as a graph, with the names that TensorFlow gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tensorfleet.core import shapes
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.function_pb2 import FunctionDef

_NOT_IN_ARGUMENTS = re.compile(r"[^a-z0-9_]")
_LOCATION = b"loc:@"


def definition_of(
    name: str,
    operations: Iterable[Operation],
    arguments: Sequence[Tensor],
    outputs: Sequence[Tensor],
    output_names: Sequence[str] | None = None,
    keeps_effects: bool = True,
    replaced: Mapping[Tensor, Tensor] | None = None,
) -> FunctionDef:
    """The definition of a function.

    Args:
        name: the function's name.
        operations: those of the body, in their order; those of arguments are left out. What they wait for
            and is not among them has run before.
        arguments: tensors that calls give: placeholders, and others whose operations are not in the body.
        outputs: tensors of the body, or arguments.
        output_names: the names of the results; by default those of the operations that make them, in lower
            case.
        keeps_effects: whether to name the operations with state, so that they run though no result needs
            them.
        replaced: tensors that the operations take, and results, by what stands for them.
    """
    instead = replaced or {}
    definition = FunctionDef()
    signature = definition.signature
    signature.name = name
    placeholders = {tensor.op for tensor in arguments}
    body = [op for op in operations if op not in placeholders]
    names = _Names()
    if output_names is None:
        result_names = [names.unique(_argument_name(tensor.op.name)) for tensor in outputs]
    else:
        result_names = [names.unique(given) for given in output_names]
    texts: dict[Tensor, str] = {}
    for index, tensor in enumerate(arguments):
        texts[tensor] = names.unique(_argument_name(tensor.op.name))
        signature.input_arg.add(name=texts[tensor], type=tensor.dtype.enum)
        shape = definition.arg_attr[index].attr["_output_shapes"].list.shape.add()
        shape.CopyFrom(shapes.to_proto(tensor.dims))
    renamed = {op: names.unique(op.name) for op in body}
    for op in body:
        for arg, start, stop in op.opdef.output_slices(op.attrs):
            for index in range(start, stop):
                texts[op.outputs[index]] = f"{renamed[op]}:{arg.name}:{index - start}"
    located = {_LOCATION + op.name.encode(): _LOCATION + own.encode() for op, own in renamed.items()}
    for op in body:
        node = definition.node_def.add()
        op.fill_node_def(node)
        node.name = renamed[op]
        del node.input[:]
        node.input.extend(texts[instead.get(tensor, tensor)] for tensor in op.inputs)
        node.input.extend(f"^{renamed[control]}" for control in op.control_inputs if control in renamed)
        if "_class" in node.attr:
            groups = node.attr["_class"].list.s
            groups[:] = [located.get(group, group) for group in groups]
        if op.opdef.is_stateful:
            signature.is_stateful = True
            if keeps_effects:
                signature.control_output.append(node.name)
                definition.control_ret[node.name] = node.name
    for result, tensor in zip(result_names, outputs, strict=True):
        signature.output_arg.add(name=result, type=tensor.dtype.base.enum)
        definition.ret[result] = texts[instead.get(tensor, tensor)]
    return definition


def _argument_name(name: str) -> str:
    """A node's name as that of an argument: in lower case, letters first."""
    return _NOT_IN_ARGUMENTS.sub("_", name.lower()).lstrip("0123456789_") or "unknown"


class _Names:
    """Names that are used once each."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def unique(self, name: str) -> str:
        found, number = name, 0
        while found in self._used:
            found = f"{name}_{number}"
            number += 1
        self._used.add(found)
        return found
