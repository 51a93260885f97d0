"""Op definitions: the signature of every op type, in a notation close to TensorFlow's `REGISTER_OP`.

An op is a name; what is known about it is kept in three tables: its signature and shape rule here (written
beside each other in `tensorfleet.ops`), its gradient in the registry of gradients, its kernel in the
service.

    op("MatMul(a: T, b: T) -> (product: T)",
       "transpose_a: bool = false", "T: {float32, float64}", shape=matmul_shape)

Arguments are `name: dtype`, `name: T` (a type attribute), `name: N * T` (N tensors of one type),
`name: list(T)` (tensors of the types in attribute T) or `name: Ref(T)`. Attributes are `name: kind`, with
`{…}` for the allowed values, `>= n` for the least value or length, and `= default`.

Signatures are parsed at their first use: importing the package costs a dictionary entry per op.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import Dims
from tensorfleet.graph.rules import RuleNode

ShapeRule = Callable[[RuleNode], list[Dims]]

TYPE_SETS = {
    "number": (
        "float32, float64, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
        "bfloat16, qint16, quint16, uint16, complex128, float16, uint32, uint64"
    ),
    "realnumber": (
        "float32, float64, int32, uint8, int16, int8, int64, bfloat16, uint16, float16, uint32, uint64"
    ),
}


@dataclass(frozen=True, slots=True)
class Arg:
    """An input or output of an op type. Exactly one of dtype, type_attr, type_list_attr is set."""

    name: str
    dtype: DType | None
    type_attr: str
    number_attr: str
    type_list_attr: str
    is_ref: bool

    @property
    def is_list(self) -> bool:
        return bool(self.number_attr or self.type_list_attr)


@dataclass(frozen=True, slots=True)
class Attr:
    """An attribute of an op type; `kind` is TensorFlow's: "type", "int", …, "list(type)", …"""

    name: str
    kind: str
    has_default: bool
    default: Any
    allowed: tuple[Any, ...] | None
    minimum: int | None


@dataclass(frozen=True, slots=True)
class OpDef:
    """The signature of an op type, as TensorFlow's OpDef."""

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: dict[str, Attr]
    is_stateful: bool
    is_commutative: bool
    is_aggregate: bool
    allows_uninitialized_input: bool
    shape: ShapeRule
    inferred: frozenset[str]
    """Attributes whose values follow from the inputs."""
    simple: bool
    """No argument is a list, a reference, or absent: one tensor per argument."""

    def input_types(self, attrs: dict[str, Any]) -> list[DType]:
        """The dtype of each input, given all attributes; references are `_ref` types."""
        return _flat_types(self.inputs, attrs)

    def output_types(self, attrs: dict[str, Any]) -> list[DType]:
        """The dtype of each output, given all attributes; references are `_ref` types."""
        return _flat_types(self.outputs, attrs)

    def output_slices(self, attrs: dict[str, Any]) -> list[tuple[Arg, int, int]]:
        """(argument, first index, index after the last) of each output argument."""
        result = []
        start = 0
        for arg in self.outputs:
            count = len(arg_types(arg, attrs))
            result.append((arg, start, start + count))
            start += count
        return result


def arg_types(arg: Arg, attrs: dict[str, Any]) -> list[DType]:
    """The dtypes of the tensors that one argument stands for."""
    if arg.type_list_attr:
        types = list(attrs[arg.type_list_attr])
    else:
        dtype = arg.dtype if arg.dtype is not None else attrs[arg.type_attr]
        types = [dtype] * attrs[arg.number_attr] if arg.number_attr else [dtype]
    return [t._as_ref for t in types] if arg.is_ref else types


def _flat_types(args: Iterable[Arg], attrs: dict[str, Any]) -> list[DType]:
    result: list[DType] = []
    for arg in args:
        result += arg_types(arg, attrs)
    return result


_raw: dict[str, tuple[str, tuple[str, ...], ShapeRule, frozenset[str]]] = {}
_parsed: dict[str, OpDef] = {}
_load_families: Callable[[], None] | None = None


def op(
    signature: str,
    *attrs: str,
    shape: ShapeRule,
    stateful: bool = False,
    commutative: bool = False,
    aggregate: bool = False,
    uninitialized: bool = False,
) -> None:
    """Registers an op type. The flags are those of TensorFlow's OpDef.

    Args:
        signature: `Name(inputs) -> (outputs)`.
        attrs: one text for each attribute, in TensorFlow's order.
        shape: the shape rule: from the operation to the dims of its outputs; raises ValueError where the
            input shapes cannot work.
    """
    name = signature[: signature.index("(")]
    if name in _raw:
        raise ValueError(f"Op type {name} is registered twice")
    flags = frozenset(
        flag
        for flag, is_set in (
            ("stateful", stateful),
            ("commutative", commutative),
            ("aggregate", aggregate),
            ("uninitialized", uninitialized),
        )
        if is_set
    )
    _raw[name] = (signature, attrs, shape, flags)


def serve(load_families: Callable[[], None]) -> None:
    """Registers the function that imports all op families; called by `tensorfleet.ops`."""
    global _load_families
    _load_families = load_families


def lookup(name: str) -> OpDef | None:
    """The definition of an op type, or None if there is none."""
    found = _parsed.get(name)
    if found is None:
        if name not in _raw:
            load()
        if name in _raw:
            found = _parsed[name] = _parse(name, *_raw[name])
    return found


def registered() -> list[str]:
    """The names of all op types, sorted."""
    load()
    return sorted(_raw)


def load() -> None:
    """Imports the op families that nothing in this process has imported yet."""
    # Two threads may come here at once: the import lock has the second one wait for the first.
    global _load_families
    if _load_families is not None:
        _load_families()
        _load_families = None


_ARG = re.compile(r"(\w+): (Ref\()?(?:(\w+) \* )?(list\()?(\w+)\)*")
_ATTR = re.compile(
    r"(?P<name>\w+): (?P<kind>\{.*?\}|list\(\{.*?\}\)|list\(\w+\)|\w+)"
    r"(?: >= (?P<minimum>-?\d+))?(?: = (?P<default>.*))?",
    re.DOTALL,
)


def _parse(
    name: str, signature: str, attr_texts: tuple[str, ...], shape: ShapeRule, flags: frozenset[str]
) -> OpDef:
    inputs_text, outputs_text = signature[len(name) :].split(" -> ")
    attrs = {attr.name: attr for attr in map(_parse_attr, attr_texts)}
    inputs = _parse_args(inputs_text, attrs)
    outputs = _parse_args(outputs_text, attrs)
    inferred = {a for i in inputs for a in (i.type_attr, i.number_attr, i.type_list_attr) if a}
    return OpDef(
        name=name,
        inputs=inputs,
        outputs=outputs,
        attrs=attrs,
        is_stateful="stateful" in flags,
        is_commutative="commutative" in flags,
        is_aggregate="aggregate" in flags,
        allows_uninitialized_input="uninitialized" in flags,
        shape=shape,
        inferred=frozenset(inferred),
        simple=not any(a.is_list or a.is_ref for a in (*inputs, *outputs)),
    )


def _parse_args(text: str, attrs: dict[str, Attr]) -> tuple[Arg, ...]:
    result = []
    for match in _ARG.finditer(text):
        arg_name, is_ref, number, is_list, kind = match.groups()
        known = kind in attrs
        result.append(
            Arg(
                name=arg_name,
                dtype=None if known else dtypes.as_dtype(kind),
                type_attr=kind if known and not is_list else "",
                number_attr=number or "",
                type_list_attr=kind if is_list else "",
                is_ref=is_ref is not None,
            )
        )
    return tuple(result)


def _parse_attr(text: str) -> Attr:
    match = _ATTR.fullmatch(text)
    if match is None:
        raise ValueError(f"Malformed attribute {text!r}")
    kind, allowed = match["kind"], None
    is_list = kind.startswith("list({")
    if is_list or kind.startswith("{"):
        items = kind[kind.index("{") + 1 : kind.index("}")]
        element = "string" if items.startswith('"') else "type"
        items = ", ".join(TYPE_SETS.get(item, item) for item in items.split(", "))
        allowed = tuple(_parse_value(item, element) for item in items.split(", "))
        kind = f"list({element})" if is_list else element
    elif kind in TYPE_SETS:
        allowed = tuple(_parse_value(item, "type") for item in TYPE_SETS[kind].split(", "))
        kind = "type"
    return Attr(
        name=match["name"],
        kind=kind,
        has_default=match["default"] is not None,
        default=None if match["default"] is None else _parse_value(match["default"], kind),
        allowed=allowed,
        minimum=None if match["minimum"] is None else int(match["minimum"]),
    )


def _parse_value(text: str, kind: str) -> Any:
    if kind.startswith("list("):
        items = [item for item in text.strip("[]").split(", ") if item]
        return [_parse_value(item, kind[5:-1]) for item in items]
    match kind:
        case "type":
            return dtypes.as_dtype(text)
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "bool":
            return text == "true"
        case "string":
            return text.strip('"').encode()
        case "shape":
            return None if text == "?" else tuple(int(d) for d in text.strip("[]").split(",") if d)
        case "tensor":
            dtype, _, numbers = text.partition("[")
            return np.array([int(n) for n in numbers.strip("]").split(", ")], dtypes.as_dtype(dtype).np)
    raise ValueError(f"An attribute of kind {kind} has no default value")
