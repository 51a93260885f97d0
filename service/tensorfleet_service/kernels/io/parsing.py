"""Examples as arrays: ParseExampleV2 and its older forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import array_kernel, invalid, shape_text
from tensorfleet_service.records.examples import ExampleParser, dense_feature

_KEPT = 16  # sets of keys whose parsers are kept


def make_parser(
    attrs: dict[str, Any],
    sparse_keys: Sequence[bytes],
    dense_keys: Sequence[bytes],
    ragged_keys: Sequence[bytes] = (),
) -> ExampleParser:
    """The parser of the features that keys and the attributes of an op describe.

    Raises:
        InvalidArgumentError: there are not as many keys as types or shapes.
    """
    sparse_types, dense_types, shapes = attrs["sparse_types"], attrs["Tdense"], attrs["dense_shapes"]
    ragged = attrs.get("ragged_value_types", []), attrs.get("ragged_split_types", [])
    for what, keys, described in (
        ("sparse_keys", sparse_keys, [sparse_types]),
        ("dense_keys", dense_keys, [dense_types, shapes]),
        ("ragged_keys", ragged_keys, ragged),
    ):
        for each in described:
            if len(keys) != len(each):
                raise invalid(f"Expected len({what}) == {len(each)} but got {len(keys)}")
    return ExampleParser(
        list(zip(sparse_keys, sparse_types, strict=True)),
        [dense_feature(*each) for each in zip(dense_keys, dense_types, shapes, strict=True)],
        list(zip(ragged_keys, *ragged, strict=True)),
    )


class _Parsers:
    """The parsers of a node, whose keys are inputs."""

    def __init__(self, node: KernelNode) -> None:
        self._attrs = node.attrs
        self._made: dict[Any, ExampleParser] = {}

    def of(self, *keys: tuple[bytes, ...]) -> ExampleParser:
        parser = self._made.get(keys)
        if parser is None:
            parser = make_parser(self._attrs, *keys)
            if len(self._made) >= _KEPT:
                self._made = {}
            self._made[keys] = parser
        return parser


def _check(node: KernelNode, serialized: Any, names: Any, defaults: Sequence[Any]) -> None:
    if serialized.ndim > 1:
        text = f"Expected serialized to be a scalar or vector, got shape: {shape_text(serialized.shape)}"
        raise invalid(text)
    if names.size and names.shape != serialized.shape:
        raise invalid(
            f"Expected names to be a {'vector' if serialized.ndim else 'scalar'} with as many elements as "
            f"serialized, got shapes {shape_text(names.shape)} and {shape_text(serialized.shape)}"
        )
    check_defaults(node.attrs["dense_shapes"], defaults)


def check_defaults(shapes: Sequence[Any], defaults: Sequence[Any]) -> None:
    """Raises InvalidArgumentError where a default has another shape than its feature."""
    for i, (dims, default) in enumerate(zip(shapes, defaults, strict=True)):
        if dims is None:
            continue
        if dims and dims[0] is None:
            if default.size > 1:
                text = f"dense_shape[{i}] is a variable length shape, but"
                raise invalid(f"{text} dense_defaults[{i}] has more than 1 element")
        elif default.size and default.shape != tuple(dims):
            raise invalid(
                f"dense_defaults[{i}].shape() == {shape_text(default.shape)} != dense_shapes_[{i}] == "
                f"{shape_text(dims)}"
            )


def _outputs(parsed: Sequence[list[Any]]) -> Any:
    flat = [value for part in parsed for value in part]
    return flat[0] if len(flat) == 1 else tuple(flat) or None


def _strings(value: Any) -> tuple[bytes, ...]:
    return tuple(value.reshape(-1).tolist())


def _scalars(value: Any) -> Any:
    """A result of rank 0 as a NumPy scalar, the form that values have."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim and value.dtype != object else value


@array_kernel("ParseExampleV2")
def parse_example_v2(node: KernelNode) -> Kernel:
    parsers = _Parsers(node)

    def run(serialized: Any, names: Any, sparse: Any, dense: Any, ragged: Any, *defaults: Any) -> Any:
        _check(node, serialized, names, defaults)
        parser = parsers.of(_strings(sparse), _strings(dense), _strings(ragged))
        items, single = serialized.reshape(-1).tolist(), not serialized.ndim
        parsed = parser.parse(items, _strings(names), defaults, single)
        if single:
            parsed = (*parsed[:3], list(map(_scalars, parsed[3])), *parsed[4:])
        return _outputs(parsed)

    return run


@array_kernel("ParseExample")
def parse_example(node: KernelNode) -> Kernel:
    parsers = _Parsers(node)
    sparse, dense = node.attrs["Nsparse"], node.attrs["Ndense"]

    def run(serialized: Any, names: Any, *rest: Any) -> Any:
        keys, defaults = rest[: sparse + dense], rest[sparse + dense :]
        if serialized.ndim != 1:
            text = f"Expected serialized to be a vector, got shape: {shape_text(serialized.shape)}"
            raise invalid(text)
        _check(node, serialized, names, defaults)
        found = [bytes(key.reshape(())[()]) for key in keys]
        parser = parsers.of(tuple(found[:sparse]), tuple(found[sparse:]))
        return _outputs(parser.parse(serialized.tolist(), _strings(names), defaults, False)[:4])

    return run


@array_kernel("ParseSingleExample")
def parse_single_example(node: KernelNode) -> Kernel:
    attrs = node.attrs
    parser = make_parser(attrs, attrs["sparse_keys"], attrs["dense_keys"])

    def run(serialized: Any, *defaults: Any) -> Any:
        if serialized.ndim:
            text = f"Expected serialized to be a scalar, got shape: {shape_text(serialized.shape)}"
            raise invalid(text)
        check_defaults(attrs["dense_shapes"], defaults)
        parsed = parser.parse([serialized[()]], (), defaults, True)[:4]
        return _outputs((*parsed[:3], list(map(_scalars, parsed[3]))))

    return run
