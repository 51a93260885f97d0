"""apply_op: adds a node of any op type, converting its inputs and inferring its attributes."""

from __future__ import annotations

import contextlib
import functools
from collections import namedtuple
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorfleet.core.dtypes import DType
from tensorfleet.graph.attributes import complete, from_argument
from tensorfleet.graph.convert import convert_to_tensor, graph_of
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.op_def import Arg, OpDef
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.output_checks import checked_outputs
from tensorfleet.graph.tensor import Tensor


def apply_op(op_type: str, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
    """Adds a node to the default graph (TensorFlow's `_apply_op_helper`).

    Args:
        op_type: a registered op type.
        inputs: one value for each input argument: a tensor or what converts to one; a list where the
            argument is a list.
        name: the node's name, made unique; by default the op type.
        attrs: attributes that do not follow from the inputs; an attribute that is None counts as not given
            (a shape attribute apart: None is the unknown shape).

    Returns:
        The output tensor; a list of tensors for one list output; a named tuple for several outputs; the
        Operation for a node without outputs, also where a stateful one's list of outputs is empty.

    Raises:
        TypeError, ValueError: inputs or attributes that do not fit the op's signature.
    """
    graph = graph_of(inputs)
    opdef = graph._op_definition(op_type)
    node_name = graph.op_name(name, op_type)
    values: dict[str, Any] = {}
    for key, value in attrs.items():
        attr = opdef.attrs.get(key)
        if attr is None:
            raise TypeError(f"apply_op() got an unexpected keyword argument '{key}' for op {op_type}")
        if value is not None or attr.kind == "shape":
            if attr.kind in _FUNCTIONS:
                _add_functions(graph, value)
            values[key] = from_argument(value, attr)
    if len(inputs) != len(opdef.inputs):
        raise TypeError(f"Op {op_type} takes {len(opdef.inputs)} inputs, got {len(inputs)}")
    tensors = _convert_inputs(graph, opdef, node_name, inputs, values)
    final = complete(opdef, node_name, values)
    with _NO_SCOPE if opdef.simple else _with_references(graph, opdef, tensors, final):
        op = graph.add_operation(opdef, node_name, tensors, final, opdef.output_types(final), 1)
    return _result(op)


if TYPE_CHECKING:

    def apply_one(op_type: str, *inputs: Any, name: str | None = None, **attrs: Any) -> Tensor:
        """`apply_op` for op types with exactly one output, which is a tensor."""

    def apply_list(op_type: str, *inputs: Any, name: str | None = None, **attrs: Any) -> list[Tensor]:
        """`apply_op` for op types with exactly one output, which is a list."""

    def apply_none(op_type: str, *inputs: Any, name: str | None = None, **attrs: Any) -> Operation:
        """`apply_op` for op types without outputs."""

else:
    apply_one = apply_list = apply_none = apply_op


_NO_SCOPE = contextlib.nullcontext()
_FUNCTIONS = frozenset(("func", "list(func)"))


def _add_functions(graph: Graph, value: Any) -> None:
    """Puts the functions that an attribute is to name into the graph's library, where they are objects."""
    for function in value if isinstance(value, (list, tuple)) else (value,):
        if callable(add := getattr(function, "add_to_graph", None)):
            add(graph)


@contextlib.contextmanager
def _with_references(
    graph: Graph, opdef: OpDef, tensors: tuple[Tensor, ...], attrs: dict[str, Any]
) -> Iterator[None]:
    """Places a new operation with the references that it takes: what changes in place stays where it is."""
    with contextlib.ExitStack() as scopes:
        for tensor, dtype in zip(tensors, opdef.input_types(attrs), strict=True):
            if dtype.is_ref:
                scopes.enter_context(graph.colocate_with(tensor.op))
        yield


def _convert_inputs(
    graph: Graph, opdef: OpDef, node_name: str, inputs: tuple[Any, ...], values: dict[str, Any]
) -> tuple[Tensor, ...]:
    """The input tensors in order; sets the attributes that follow from them."""
    if opdef.simple:
        # The usual case, without lists: two tensors of one type need no name scope and no table.
        result = []
        for arg, value in zip(opdef.inputs, inputs, strict=True):
            wanted = arg.dtype if arg.dtype is not None else values.get(arg.type_attr)
            if not isinstance(value, Tensor):
                value = _convert(graph, opdef, node_name, arg, value, wanted, values)
            base = value.dtype.base
            if wanted is None:
                values[arg.type_attr] = base
            elif wanted is not base:
                _type_mismatch(opdef, arg, base, wanted, inputs, values)
            result.append(value)
        return tuple(result)
    tensors: list[Tensor] = []
    for arg, value in zip(opdef.inputs, inputs, strict=True):
        if arg.type_list_attr:
            tensors += _convert_type_list(graph, opdef, node_name, arg, value, values)
        elif arg.number_attr:
            tensors += _convert_number(graph, opdef, node_name, arg, value, values)
        else:
            wanted = arg.dtype if arg.dtype is not None else values.get(arg.type_attr)
            if not isinstance(value, Tensor):
                value = _convert(graph, opdef, node_name, arg, value, wanted, values)
            base = value.dtype.base
            if wanted is None:
                values[arg.type_attr] = base
            elif wanted is not base:
                _type_mismatch(opdef, arg, base, wanted, inputs, values)
            if arg.is_ref and not value.dtype.is_ref:
                raise TypeError(
                    f"'{opdef.name}' Op requires that input '{arg.name}' be a mutable tensor "
                    "(e.g.: a tf.Variable)"
                )
            tensors.append(value)
    return tuple(tensors)


def _convert(
    graph: Graph,
    opdef: OpDef,
    node_name: str,
    arg: Arg,
    value: Any,
    wanted: DType | None,
    values: dict[str, Any],
) -> Tensor:
    """One input that is not a tensor yet; its node is named after the op and the argument."""
    default = None
    if wanted is None and arg.type_attr:
        attr = opdef.attrs[arg.type_attr]
        # An array keeps a dtype that the op takes.
        if attr.has_default and not (attr.allowed and getattr(value, "dtype", None) in attr.allowed):
            default = attr.default
    with graph.name_scope(node_name + "/"):
        try:
            return convert_to_tensor(value, wanted, arg.name, preferred_dtype=default, as_ref=arg.is_ref)
        except TypeError as e:
            if wanted is None:
                raise
            raise TypeError(
                f"Expected {wanted.name} passed to parameter '{arg.name}' of op '{opdef.name}', "
                f"got {value!r} of type '{type(value).__name__}' instead. Error: {e}"
            ) from None


def _type_mismatch(
    opdef: OpDef, arg: Arg, got: DType, wanted: DType, inputs: tuple[Any, ...], values: dict[str, Any]
) -> None:
    prefix = f"Input '{arg.name}' of '{opdef.name}' Op has type {got.name} that does not match"
    if arg.dtype is not None:
        raise TypeError(f"{prefix} expected type of {wanted.name}.")
    other = next((a.name for a in opdef.inputs if a is not arg and a.type_attr == arg.type_attr), None)
    if other is None:
        raise TypeError(f"{prefix} attribute '{arg.type_attr}' = {wanted.name}.")
    raise TypeError(f"{prefix} type {wanted.name} of argument '{other}'.{_cast_hint(got, wanted)}")


def _cast_hint(got: DType, wanted: DType) -> str:
    """Advice for numbers of two dtypes; empty where no cast converts."""
    if not all(t.is_floating or t.is_integer or t.is_complex or t.is_bool for t in (got, wanted)):
        return ""
    # A fraction is lost where a float becomes an integer, so the other way is the one to name.
    rank = [t.is_complex * 4 + t.is_floating * 2 + t.is_integer for t in (got, wanted)]
    source, target = (wanted, got) if rank[0] > rank[1] else (got, wanted)
    return f" Convert the {source.name} one: tf.cast(…, tf.{target.name})."


def _convert_type_list(
    graph: Graph, opdef: OpDef, node_name: str, arg: Arg, value: Any, values: dict[str, Any]
) -> list[Tensor]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{arg.name}' argument to '{opdef.name}' Op, not {value!r}.")
    types = values.get(arg.type_list_attr) or [None] * len(value)
    if len(types) != len(value):
        raise ValueError(
            f"List argument '{arg.name}' to '{opdef.name}' Op has {len(value)} values, attribute "
            f"'{arg.type_list_attr}' has {len(types)}."
        )
    result = []
    with graph.name_scope(node_name + "/"):
        for i, (item, dtype) in enumerate(zip(value, types, strict=True)):
            result.append(convert_to_tensor(item, dtype, f"{arg.name}_{i}", as_ref=arg.is_ref))
    values[arg.type_list_attr] = [t.dtype.base for t in result]
    return result


def _convert_number(
    graph: Graph, opdef: OpDef, node_name: str, arg: Arg, value: Any, values: dict[str, Any]
) -> list[Tensor]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{arg.name}' argument to '{opdef.name}' Op, not {value!r}.")
    if arg.number_attr in values and len(value) != values[arg.number_attr]:
        raise ValueError(
            f"List argument '{arg.name}' to '{opdef.name}' Op with length {len(value)} must match length "
            f"{values[arg.number_attr]} of attribute '{arg.number_attr}'."
        )
    wanted = arg.dtype if arg.dtype is not None else values.get(arg.type_attr)
    if wanted is None:
        # A tensor among the items decides the type of the numbers beside it.
        wanted = next((item.dtype.base for item in value if isinstance(item, Tensor)), None)
    result: list[Tensor] = []
    for i, item in enumerate(value):
        if not isinstance(item, Tensor):
            with graph.name_scope(node_name + "/"):
                item = convert_to_tensor(item, wanted, f"{arg.name}_{i}", as_ref=arg.is_ref)
        result.append(item)
        if wanted is None:
            wanted = item.dtype.base
    for item in result:
        if item.dtype.base is not wanted:
            listed = ", ".join(t.dtype.base.name for t in result)
            raise TypeError(
                f"Tensors in list passed to '{arg.name}' of '{opdef.name}' Op have types [{listed}] "
                "that don't all match. Convert them to one: tf.cast(…, tf.float32), say."
            )
    if arg.type_attr and wanted is not None:
        values[arg.type_attr] = wanted
    values[arg.number_attr] = len(result)
    return result


def _result(op: Operation) -> Any:
    outputs = checked_outputs(op)
    opdef = op.opdef
    if not outputs and (opdef.is_stateful or not opdef.outputs):
        return op
    if len(opdef.outputs) == 1:
        return list(outputs) if opdef.outputs[0].is_list else outputs[0]
    names = tuple(arg.name for arg in opdef.outputs)
    return _output_tuple(opdef.name, names)(
        *(
            list(outputs[start:stop]) if arg.is_list else outputs[start]
            for arg, start, stop in opdef.output_slices(op.attrs)
        )
    )


@functools.cache
def _output_tuple(op_type: str, names: tuple[str, ...]) -> Any:
    return namedtuple(op_type, names)
