"""Draws: what the generators of nodes draw from: dtypes that TensorFlow has kernels for, shapes, values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tensorflow.python.framework import kernels

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import op_def

Shape = tuple[int, ...]

_NUMPY_TYPES = [
    dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.bool, dtypes.string, dtypes.uint8,
    dtypes.int8, dtypes.int16, dtypes.uint16, dtypes.uint32, dtypes.uint64, dtypes.float16, dtypes.bfloat16,
    dtypes.complex64, dtypes.complex128,
]  # fmt: skip

_WORDS = np.array([b"", b"a", b"TensorFleet", b"b c", b"\xc3\xbc", b"12", b"zz", b"A B"], object)
_SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5]


@dataclass(frozen=True)
class Leaf:
    """A value that goes into a node: a constant or a fed placeholder, or the output of an earlier node.

    `kind` is "tensor"; or "fixed", whose value the op relies on, so that it comes from no other node; or
    "ref" or "resource": a variable with that value.
    """

    value: Any
    dtype: DType
    kind: str = "tensor"


@dataclass
class Call:
    """One node to be made: inputs are Leafs, or lists of them."""

    op: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)


@functools.cache
def kernel_types(op: str) -> list[dict[str, tuple[DType, ...]]]:
    """The allowed types by attribute, for each of TensorFlow's CPU kernels of an op type."""
    definition = op_def.lookup(op)
    assert definition is not None
    found = []
    for entry in kernels.get_registered_kernels_for_op(op).kernel:
        if entry.device_type not in ("CPU", "DEFAULT") or entry.label:
            continue
        limits = {c.name: list(c.allowed_values.list.type) for c in entry.constraint}
        types = {}
        for attr in definition.attrs.values():
            if attr.kind not in ("type", "list(type)"):
                continue
            allowed = [t for t in _NUMPY_TYPES if attr.allowed is None or t in attr.allowed]
            types[attr.name] = tuple(
                t for t in allowed if attr.name not in limits or t.enum in limits[attr.name]
            )
        if all(types.values()) and (entry.device_type == "CPU" or types not in found):
            found.append(types)
    return found or [_definition_types(definition)]


def _definition_types(definition: op_def.OpDef) -> dict[str, tuple[DType, ...]]:
    """The dtypes that a definition allows: for op types without a kernel, which TensorFlow rewrites."""
    return {
        attr.name: tuple(t for t in _NUMPY_TYPES if attr.allowed is None or t in attr.allowed)
        for attr in definition.attrs.values()
        if attr.kind in ("type", "list(type)")
    }


class Draw:
    """The source from which a generator draws for one node.

    Args:
        draw: hypothesis' function.
        op: the op type.
        pool: dtype and shape of the tensors that the graph has already.
        faulty: let one of the values be of a wrong size, or out of its range.
    """

    def __init__(
        self,
        draw: Callable[[Any], Any],
        op: str,
        pool: Sequence[tuple[DType, Shape]] = (),
        faulty: bool = False,
    ) -> None:
        self._draw = draw
        self.op = op
        self._pool = pool
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self._wild = draw(st.integers(0, 5)) == 0
        self._fault = draw(st.integers(0, 3)) if faulty else -1
        self._types: dict[str, DType] = {}
        self._wanted = draw(st.sampled_from(pool)) if pool and draw(st.integers(0, 3)) else None
        self._limits = draw(st.sampled_from(kernel_types(op)))

    # Choices

    def choice(self, options: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(list(options)))

    def flag(self) -> bool:
        return bool(self._draw(st.booleans()))

    def int(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return int(self._draw(st.integers(low, high)))

    def type(self, attr: str = "T", only: Sequence[DType] | None = None) -> DType:
        """The dtype of a type attribute, one that TensorFlow has a kernel for; the same at each call."""
        if attr not in self._types:
            allowed = [t for t in self._limits.get(attr, _NUMPY_TYPES) if only is None or t in only]
            if only is not None and not allowed:
                self._limits = self.choice(
                    [entry for entry in kernel_types(self.op) if self._fits(entry, attr, only)]
                )
                allowed = [t for t in self._limits[attr] if t in only]
            wanted = self._wanted
            self._types[attr] = wanted[0] if wanted and wanted[0] in allowed else self.choice(allowed)
        return self._types[attr]

    def _fits(self, entry: dict[str, tuple[DType, ...]], attr: str, only: Sequence[DType]) -> bool:
        return any(t in only for t in entry[attr]) and all(
            t in entry.get(a, (t,)) for a, t in self._types.items()
        )

    def shape(self, rank: int | None = None, low: int = 0, high: int = 3, least: int = 0) -> Shape:
        """A shape of `low` to `high` dimensions of `least` to 4; often that of a tensor that is there."""
        if rank is not None:
            low = high = rank
        wanted = self._wanted
        if wanted and low <= len(wanted[1]) <= high and all(d >= least for d in wanted[1]):
            return wanted[1]
        sizes = [1, 2, 2, 3, 3, 4] if least else [0, 1, 2, 2, 2, 3, 3, 3, 4, 4]
        return tuple(self.choice(sizes) for _ in range(self.int(low, high)))

    def broadcastable(self, shape: Shape) -> Shape:
        """A shape that broadcasts with `shape`, and not always to it."""
        kind = self.int(0, 3)
        if kind == 0:
            return shape
        if kind == 1:
            return shape[self.int(0, len(shape)) :]
        return tuple(1 if self.flag() else d for d in shape)

    def axis(self, rank: int) -> int:
        """An axis of a tensor, counted from either end."""
        return self.int(-rank, rank - 1)

    # Values

    def tensor(
        self, shape: Shape, dtype: DType | None = None, values: str = "any", kind: str = "tensor"
    ) -> Leaf:
        """A tensor of values: "any", "positive", "unit" (between -1 and 1), "small" or "nonzero"."""
        dtype = dtype or self.type()
        if kind == "tensor" and self._faulty():
            shape = (*shape, 2) if not shape or self.flag() else (shape[0] + 1, *shape[1:])
        array = self._values(shape, dtype, values)
        return Leaf(array, dtype, kind if values in ("any", "small") or kind != "tensor" else "fixed")

    def like(self, values: Any, dtype: DType, kind: str = "fixed") -> Leaf:
        """These very values."""
        return Leaf(np.asarray(values, dtype.np), dtype, kind)

    def indices(self, shape: Shape, size: int, dtype: DType) -> Leaf:
        """Integers from 0 to `size` - 1; one of them may be out of range in a faulty graph."""
        array = self.rng.integers(0, max(size, 1), shape).astype(dtype.np)
        if array.size and self._faulty():
            array.flat[0] = size + 3
        return Leaf(array, dtype, "fixed")

    def node(self, *inputs: Any, **attrs: Any) -> Call:
        """The call, with the type attributes that were drawn and do not follow from the inputs."""
        definition = op_def.lookup(self.op)
        assert definition is not None
        for name, attr in definition.attrs.items():
            if attr.kind == "type" and name not in definition.inferred:
                attrs.setdefault(name, self.type(name))
        return Call(self.op, inputs, attrs)

    def _faulty(self) -> bool:
        self._fault -= 1
        return self._fault == -1

    def _values(self, shape: Shape, dtype: DType, values: str) -> Any:
        rng = self.rng
        if dtype is dtypes.string:
            return rng.choice(_WORDS, shape) if shape else np.array(rng.choice(_WORDS), object)
        if dtype is dtypes.bool:
            return np.asarray(rng.integers(0, 2, shape).astype(np.bool_))
        if dtype.is_complex:
            parts = rng.normal(size=(2, *shape)) * (0.5 if values == "unit" else 2)
            return np.asarray(parts[0] + 1j * parts[1]).astype(dtype.np)
        if dtype.is_floating:
            return np.asarray(self._floats(shape, values)).astype(dtype.np)
        low = 0 if dtype.is_unsigned else -5
        if values in ("positive", "nonzero"):
            low = 1
        high = 4 if values == "small" else 9
        array = np.asarray(rng.integers(max(low, -3) if values == "small" else low, high, shape)).astype(
            dtype.np
        )
        if values == "any" and self._wild and array.size:
            limits = np.iinfo(dtype.np)
            array.flat[0] = rng.choice(np.array([limits.min, limits.max], dtype.np))
        return array

    def _floats(self, shape: Shape, values: str) -> Any:
        rng = self.rng
        match values:
            case "positive":
                return rng.uniform(0.1, 3, shape)
            case "unit":
                return rng.uniform(-0.95, 0.95, shape)
            case "small":
                return rng.uniform(-2, 2, shape)
            case "nonzero":
                return rng.uniform(0.5, 3, shape) * rng.choice([-1, 1], shape)
        array = np.asarray(rng.normal(size=shape) * 3)
        if self._wild and array.size:
            array.flat[rng.integers(0, array.size, 2)] = rng.choice(_SPECIAL, 2)
        return array
