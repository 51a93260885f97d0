"""apply_op: adds a node of any op type, converting its inputs and inferring its attributes."""

from __future__ import annotations

import contextlib
import functools
from collections import namedtuple
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import attr_value, dtypes, shapes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import Graph, get_default_graph, lookup_op
from tensorfleet.graph.op_def import Arg, Attr, OpDef
from tensorfleet.graph.operation import Operation
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
    opdef = lookup_op(op_type)
    graph = _graph_of(inputs)
    node_name = graph.op_name(name, op_type)
    values: dict[str, Any] = {}
    for key, value in attrs.items():
        attr = opdef.attrs.get(key)
        if attr is None:
            raise TypeError(f"apply_op() got an unexpected keyword argument '{key}' for op {op_type}")
        if value is not None or attr.kind == "shape":
            values[key] = _attr(value, attr, op_type)
    if len(inputs) != len(opdef.inputs):
        raise TypeError(f"Op {op_type} takes {len(opdef.inputs)} inputs, got {len(inputs)}")
    tensors = _convert_inputs(graph, opdef, node_name, inputs, values)
    final = _complete(opdef, node_name, values)
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


def create_operation(
    graph: Graph, op_type: str, inputs: tuple[Tensor, ...], name: str | None, attrs: dict[str, Any]
) -> Operation:
    """Adds a node whose inputs are tensors already; attributes are AttrValue messages."""
    opdef = lookup_op(op_type)
    values = {key: attr_value.from_proto(value) for key, value in attrs.items()}
    final = _complete(opdef, name or op_type, values)
    final.update((k, v) for k, v in values.items() if k not in final)
    expected = opdef.input_types(final)
    if len(expected) != len(inputs) or not all(
        e.is_compatible_with(t.dtype.base) for e, t in zip(expected, inputs, strict=False)
    ):
        raise ValueError(
            f"Op {op_type} takes inputs of types {[e.name for e in expected]}, "
            f"got {[t.dtype.name for t in inputs]}"
        )
    return graph.add_operation(
        opdef, graph.op_name(name, op_type), inputs, final, opdef.output_types(final), 2
    )


def _graph_of(inputs: tuple[Any, ...]) -> Graph:
    graph = get_default_graph()
    for value in inputs:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) and item.op.graph is not graph and not graph._may_capture(item):
                raise ValueError(
                    f"{item!r} must be from the same graph as the default graph: it was made in another "
                    "tf.Graph. Build the whole of one graph inside of `with graph.as_default():`."
                )
    return graph


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
        default = attr.default if attr.has_default else None
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
    """What makes numbers of two dtypes one; nothing for those that no cast converts."""
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


def _complete(opdef: OpDef, node_name: str, values: dict[str, Any]) -> dict[str, Any]:
    """All attributes in the order of the definition: given, inferred or default; checked."""
    final = {}
    for key, attr in opdef.attrs.items():
        if key in values:
            value = values[key]
        elif attr.has_default:
            value = attr.default
        elif attr.kind == "type" or attr.kind.startswith("list(type"):
            raise TypeError(f"Could not infer attribute '{key}' of '{opdef.name}' Op '{node_name}'.")
        else:
            raise TypeError(f"'{opdef.name}' Op '{node_name}' needs attribute '{key}'.")
        if attr.allowed is not None:
            _check_allowed(opdef, attr, value)
        if attr.minimum is not None:
            _check_minimum(opdef, attr, value)
        final[key] = value
    return final


def _check_allowed(opdef: OpDef, attr: Attr, value: Any) -> None:
    assert attr.allowed is not None
    for item in value if isinstance(value, list) else (value,):
        if item in attr.allowed:
            continue
        if isinstance(item, DType):
            allowed = ", ".join(t.name for t in attr.allowed)
            arg = next((a.name for a in opdef.inputs if attr.name in (a.type_attr, a.type_list_attr)), None)
            if arg is None:
                raise TypeError(
                    f"Value passed to attribute '{attr.name}' of '{opdef.name}' Op has DataType {item.name} "
                    f"not in list of allowed values: {allowed}"
                )
            raise TypeError(
                f"Value passed to parameter '{arg}' has DataType {item.name} not in list of allowed values: "
                f"{allowed}"
            )
        allowed = '", "'.join(v.decode() for v in attr.allowed)
        shown = item.decode() if isinstance(item, bytes) else item
        raise ValueError(
            f'Value for attr \'{attr.name}\' of "{shown}" is not in the list of allowed values: "{allowed}" '
            f"of '{opdef.name}' Op"
        )


def _check_minimum(opdef: OpDef, attr: Attr, value: Any) -> None:
    size = len(value) if isinstance(value, list) else value
    if attr.minimum is None or size >= attr.minimum:
        return
    arg = next((a.name for a in opdef.inputs if attr.name in (a.number_attr, a.type_list_attr)), None)
    if arg is not None:
        raise ValueError(
            f"List argument '{arg}' to '{opdef.name}' Op with length {size} shorter than "
            f"minimum length {attr.minimum}."
        )
    raise ValueError(
        f"Attr '{attr.name}' of '{opdef.name}' Op passed {size} less than minimum {attr.minimum}."
    )


def _attr(value: Any, attr: Attr, op_type: str) -> Any:
    """An attribute's value in the form of `tensorfleet.core.attr_value`, from what a caller may pass."""
    kind = attr.kind
    if kind.startswith("list("):
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"Expected list for attr {attr.name}, obtained {type(value).__name__} instead.")
        return [_scalar_attr(item, kind[5:-1], attr.name) for item in value]
    return _scalar_attr(value, kind, attr.name)


def _scalar_attr(value: Any, kind: str, name: str) -> Any:
    match kind:
        case "type":
            return value.base if type(value) is DType else dtypes.as_dtype(value).base
        case "int":
            if isinstance(value, (float, str, bytes)):
                raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
            return int(value)
        case "bool":
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
            return bool(value)
        case "float":
            return float(value)
        case "string":
            return value.encode() if isinstance(value, str) else bytes(value)
        case "shape":
            return shapes.as_dims(value)
        case "tensor":
            return value if isinstance(value, (np.ndarray, np.generic)) else tensor_util.convert_value(value)
    return value


def _result(op: Operation) -> Any:
    outputs = op.outputs
    opdef = op.opdef
    if not outputs and (opdef.is_stateful or not opdef.outputs):
        return op
    if len(opdef.outputs) == 1:
        return list(outputs) if opdef.outputs[0].is_list else outputs[0]
    return _output_tuple(opdef.name)(
        *(
            list(outputs[start:stop]) if arg.is_list else outputs[start]
            for arg, start, stop in opdef.output_slices(op.attrs)
        )
    )


@functools.cache
def _output_tuple(op_type: str) -> Any:
    return namedtuple(op_type, [arg.name for arg in lookup_op(op_type).outputs])
