"""Gradients of calls of traced functions: what the gradient needs of a call becomes more results of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tensorfleet.autodiff.gradients import gradients
from tensorfleet.core import dtypes
from tensorfleet.functions.body import BodyGraph
from tensorfleet.functions.call_node import add_call
from tensorfleet.graph import handles
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.function_def import definition_of
from tensorfleet.graph.gradient_registry import RegisterGradient
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.stateful import READS
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow.gradient_control_flow import is_trainable
from tensorfleet.ops.functions.function_ops_grad import gradient_of_call
from tensorfleet.proto.attr_value_pb2 import NameAttrList

RULE = "TracedFunctionCall"
CALLED = "_traced_function"
"""The attribute of an operation object that has the `ConcreteFunction` that it calls."""

_numbers = itertools.count()


class Pair:
    """A function with more results, and the gradient that takes these.

    Attributes:
        body: the operations of the function itself.
        forward, backward: definitions.
        extra: what the first gives beside the function's own results, tensors of the body.
        xs: the positions of the arguments that have gradients.
        ys: the positions of the results that the gradient takes gradients of.
    """

    def __init__(self, graph: BodyGraph, label: str, outputs: Sequence[Tensor]) -> None:
        """Adds the gradient to the body, once, and cuts the body in two."""
        before = self.body = graph.get_operations()
        arguments = list(graph.arguments)
        self.ys = [i for i, output in enumerate(outputs) if is_trainable(output)]
        with graph.as_default():
            given = [
                apply_op("Placeholder", dtype=outputs[i].dtype.base, shape=outputs[i].dims, name=f"grad_{i}")
                for i in self.ys
            ]
            found = gradients([outputs[i] for i in self.ys], arguments, given) if self.ys else []
            found = [None if z is None else _dense(z) for z in found]
        self.xs = [i for i, z in enumerate(found) if z is not None]
        results = [z for z in found if z is not None]
        number = next(_numbers)
        self.result_types = [tensor.dtype.base for tensor in results]
        everything = graph.get_operations()
        if any(op.type in _CONTROL_FLOW for op in before):
            # A value in a branch may be dead, and one in a loop is many: the gradient computes all again.
            _check_repeatable(before, label)
            self.extra, self.passed = [], list(range(len(arguments)))
            later, backward_arguments = everything, [*given, *arguments]
            own = before
        else:
            chosen = _later(everything[len(before) :], given)
            later = [op for op in everything if op in chosen]
            taken = dict.fromkeys(
                tensor
                for tensor in (*(t for op in later for t in op.inputs), *results)
                if tensor.op not in chosen and tensor not in given
            )
            self.extra = [tensor for tensor in taken if tensor not in arguments]
            self.passed = [arguments.index(tensor) for tensor in taken if tensor in arguments]
            backward_arguments = [*given, *self.extra, *(arguments[i] for i in self.passed)]
            placeholders = {tensor.op for tensor in given}
            own = [op for op in everything if op not in chosen and op not in placeholders]
        results_and_more = [*outputs, *self.extra]
        self.forward = definition_of(f"__forward_{label}_{number}", own, arguments, results_and_more)
        self.backward = definition_of(f"__backward_{label}_{number}", later, backward_arguments, results)


_CONTROL_FLOW = frozenset(("Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter"))


def _check_repeatable(operations: Sequence[Operation], label: str) -> None:
    """Raises LookupError for a body that would not do the same a second time."""
    for op in operations:
        called: Any = getattr(op, CALLED, None)
        if called is not None:
            _check_repeatable(called.operations(), label)
        elif op.opdef.is_stateful and op.type not in _REPEATABLE:
            raise LookupError(
                f"No gradient defined for the function {label}: it has a conditional or a loop, or is "
                f"differentiated twice, so that its gradient computes it again, and {op.name} ({op.type}) "
                "would not do the same twice. Move that out of the function, or call the function without "
                "tf.function."
            )


_REPEATABLE = READS | {"Placeholder", "Assert"}


def _dense(value: Any) -> Tensor:
    return convert_to_tensor(value)


def _later(operations: Sequence[Operation], given: Sequence[Tensor]) -> set[Operation]:
    """The operations that depend on the gradients that come."""
    found = {tensor.op for tensor in given}
    for op in operations:
        if any(t.op in found for t in op.inputs) or any(each in found for each in op.control_inputs):
            found.add(op)
    return found - {tensor.op for tensor in given}


@RegisterGradient(RULE)
def _gradient(op: Operation, *grads: Any) -> list[Any]:
    function: Any = getattr(op, CALLED, None)
    if function is None:
        return gradient_of_call(op, grads, NameAttrList(name=op.attrs["f"].name))
    pair = function.pair()
    if any(grad is not None for grad in grads[len(function.outputs) :]):
        # What the gradient took of the call is differentiated: a gradient of a gradient.
        _check_repeatable(pair.body, op.attrs["f"].name)
        return gradient_of_call(op, grads, NameAttrList(name=op.attrs["f"].name))
    graph = get_default_graph()
    count = len(function.outputs)
    for definition in (pair.forward, pair.backward):
        graph._add_function(definition)
    function.graph.add_functions(graph)
    if len(op.outputs) == count and pair.extra:
        op.add_outputs([tensor.dtype.base for tensor in pair.extra], [tensor.dims for tensor in pair.extra])
        op.put_attr("Tout", [tensor.dtype.base for tensor in op.outputs])
        op.put_attr("f", NameAttrList(name=pair.forward.signature.name))
    given = [
        apply_op("ZerosLike", op.outputs[i], name="zeros_like") if grads[i] is None else grads[i]
        for i in pair.ys
    ]
    inputs = [*given, *op.outputs[count:], *(op.inputs[i] for i in pair.passed)]
    stateful = pair.backward.signature.is_stateful
    call = add_call(
        graph,
        "StatefulPartitionedCall" if stateful else "PartitionedCall",
        pair.backward.signature.name,
        inputs,
        pair.result_types,
    )
    call.put_attr("_gradient_op_type", RULE.encode())
    found: list[Any] = [None] * len(op.inputs)
    for position, output in zip(pair.xs, call.outputs, strict=True):
        x = op.inputs[position]
        output.set_shape(handles.handle_dims(x) if x.dtype.base is dtypes.resource else x.dims)
        found[position] = output
    return found
