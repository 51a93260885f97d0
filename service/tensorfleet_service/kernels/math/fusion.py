"""Elementwise ops on large arrays, several at once: a block goes through all of them while it is cached.

An op that can take part has a formula (`formulas`): a row of steps, each a ufunc that writes to the op's
output. A group of such ops becomes a function of its inputs. It computes what the kernels compute, bit by
bit: the same ufuncs on the same elements; only the order of elements differs, and where results are kept.
(Which of two NaNs results is not defined.)

Inputs may have the full shape, be a number, or be a row ([n] or [1, n]) or column ([m, 1]) of the full shape,
such as a bias. What does not depend on an input of the full shape is computed once, before the blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import BLOCK_BYTES, in_parallel, scratch, shares
from tensorfleet_service.kernels.math.compiled import CompiledSteps, compile_steps, is_compiled
from tensorfleet_service.kernels.math.formulas import FORMULAS, OUT, Steps, steps

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

ALIKE = frozenset(
    (
        *("TanhGrad", "SigmoidGrad", "ReciprocalGrad", "InvGrad"),
        *("ReluGrad", "EluGrad", "SoftplusGrad", "SoftsignGrad"),
    )
)
"""Ops that refuse inputs of different shapes."""

_COST = {
    **dict.fromkeys(("divide", "sqrt", "reciprocal"), 2),
    **dict.fromkeys(("exp", "log", "tanh", "sin", "cos"), 5),
    **dict.fromkeys(("arctan", "arctan2", "expm1", "log1p", "logaddexp", "power"), 20),
}
"""Approximate cost of a ufunc, in additions."""

WORTH = 400_000
"""Number of additions from which blocks and threads pay, about 0.1 ms. Each block has at least as many, since
a thread may wait half as long for the interpreter's lock at its end."""

WORTH_COMPILED = 30_000
"""Number of additions from which one call of compiled code pays, compared with a call of NumPy per step."""

Source = tuple[bool, int]
"""The source of an op's input: (True, index of the group's input) or (False, index of the group's op)."""


@dataclass(slots=True)
class FusedOp:
    """An op of a group: its type, its steps, and where its inputs come from."""

    type: str
    steps: Steps
    sources: list[Source]


def steps_of(node: Node) -> Steps | None:
    """The steps of an op that can be part of a group; None for any other."""
    if node.op not in FORMULAS:
        return None
    wanted = node.output_types[0]
    if wanted is not dtypes.float32 and wanted is not dtypes.float64:
        return None
    for dtype in node.input_types:
        if dtype is not wanted:
            return None
    if node.op == "BiasAdd" and node.attrs["data_format"] == b"NCHW":
        return None
    return steps(node.op)


_NUMBER, _ROW, _COLUMN, _FULL = range(4)
"""The forms of inputs, ordered: two of them broadcast to the greater one, except a row and a column."""


class FusedGroup:
    """The function of a group.

    Attributes:
        least: the number of elements from which the group pays; with fewer it need not be called.
    """

    __slots__ = ("_compiles", "_dtype", "_ops", "_outputs", "_programs", "least")

    def __init__(
        self, types: Sequence[str], ops: Callable[[], Sequence[FusedOp]], outputs: Sequence[int], dtype: Any
    ) -> None:
        """
        Args:
            types: the op types of the group.
            ops: makes the ops, when arrays come for which the group pays: in many graphs they never do.
            outputs: the ops whose results are wanted.
        """
        self._ops = ops
        self._outputs = list(outputs)
        self._dtype = np.dtype(dtype)
        self._programs: dict[tuple[int, ...], _Program | None] = {}
        counts = Counter(types)
        cost = sum(count * _COST.get(ufunc, 1) for op, count in counts.items() for ufunc, _ in steps(op))
        self._compiles = is_compiled({ufunc for op in counts for ufunc, _ in steps(op)}, self._dtype)
        self.least = max(1, (WORTH_COMPILED if self._compiles else WORTH) // cost)

    def __call__(self, *values: Any) -> tuple[Any, ...] | None:
        """The outputs; None if the inputs are too small, or of shapes that are left to the kernels."""
        full = max(values, key=_size)
        shape = full.shape
        if full.size < self.least or not shape:
            return None
        forms = []
        if self._compiles:
            # One copy of a slice, such as a gate of an LSTM cell, costs less than each op's pass over it.
            values = tuple([_contiguous(value, shape) for value in values])
        for value in values:
            form = _form(value, shape)
            if form is None:
                return None
            forms.append(form)
        key = tuple(forms)
        try:
            program = self._programs[key]
        except KeyError:
            program = self._programs[key] = self._program(key)
        return None if program is None else program.run(values, shape, self._dtype)

    def _program(self, forms: tuple[int, ...]) -> _Program | None:
        ops = self._ops()
        found: list[int] = []
        for op in ops:
            own = [forms[i] if is_input else found[i] for is_input, i in op.sources]
            if op.type in ALIKE and own[0] != own[1]:
                return None
            if op.type == "BiasAdd" and own != [_FULL, _ROW]:
                return None
            found.append(_FULL if {_ROW, _COLUMN} <= {*own} else max(own))
        size = max(self.least, BLOCK_BYTES // self._dtype.itemsize)
        return _Program(ops, forms, found, self._outputs, size, self._dtype)


def _contiguous(value: Any, shape: tuple[int, ...]) -> Any:
    if value.shape == shape and not value.flags.c_contiguous:
        return np.ascontiguousarray(value)
    return value


def _size(value: Any) -> int:
    size: int = value.size
    return size


def _form(value: Any, shape: tuple[int, ...]) -> int | None:
    """The form of a value beside an array of the shape; None for any other."""
    own = value.shape
    if not own:
        return _NUMBER
    if not value.flags.c_contiguous:
        return None
    if own == shape:
        return _FULL
    if len(shape) < 2 or len(own) > len(shape):
        return None
    if own[-1] == shape[-1] and value.size == shape[-1]:
        return _ROW
    return _COLUMN if own == (*shape[:-1], 1) else None


class _Program:
    """A group for inputs of certain forms, as two generated functions: before the blocks, and for a block."""

    __slots__ = ("_block", "_compiled", "_early", "_forms", "_outputs", "_rows", "_size", "_temporaries")

    def __init__(
        self,
        ops: Sequence[FusedOp],
        forms: Sequence[int],
        results: Sequence[int],
        outputs: Sequence[int],
        size: int,
        dtype: Any,
    ) -> None:
        """`size` is the number of elements of a block."""
        early = [i for i, form in enumerate(results) if form != _FULL]
        last: dict[int, int] = {}
        for i, op in enumerate(ops):
            for is_input, j in op.sources:
                if not is_input:
                    last[j] = i
        registers: dict[int, str] = {i: f"e{i}" for i in early}
        free: list[str] = []
        count = 0
        early_lines: list[str] = []
        steps: list[tuple[str, str, list[str]]] = []
        for i, op in enumerate(ops):
            inputs = [f"x{j}" if is_input else registers[j] for is_input, j in op.sources]
            if results[i] == _FULL:
                ending = {
                    registers[j]: None
                    for is_input, j in op.sources
                    if not is_input and last[j] == i and registers[j][0] == "t"
                }
                # An input that is not used after this op may be overwritten, unless a later step reads it.
                late = {inputs[x] for _, operands in op.steps[1:] for x in operands if isinstance(x, int)}
                free += [name for name in ending if name not in late]
                if i in outputs:
                    registers[i] = f"o{outputs.index(i)}"
                elif free:
                    registers[i] = free.pop()
                else:
                    registers[i] = f"t{count}"
                    count += 1
                free += [name for name in ending if name in late]
            for ufunc, operands in op.steps:
                own = [
                    registers[i] if x is OUT else inputs[x] if isinstance(x, int) else repr(x)
                    for x in operands
                ]
                if results[i] == _FULL:
                    steps.append((ufunc, registers[i], own))
                else:
                    early_lines.append(f" {registers[i]} = {ufunc}({', '.join(own)})")
        arguments = ", ".join(f"x{i}" for i in range(len(forms)))
        values = "".join(f", e{i}" for i in early)
        targets = "".join(f", o{k}" for k, i in enumerate(outputs) if results[i] == _FULL)
        temporaries = "".join(f", t{i}" for i in range(count))
        text = "\n".join(
            (
                f"def early({arguments}):",
                *early_lines,
                f" return ({', '.join(f'e{i}' for i in early)}{',' if early else ''})",
                f"def block({arguments}{values}{targets}{temporaries}):",
                *(f" {ufunc}({', '.join(own)}, out={register})" for ufunc, register, own in steps),
            )
        )
        names: dict[str, Any] = {ufunc: getattr(np, ufunc) for op in ops for ufunc, _ in op.steps}
        made: dict[str, Any] = {}
        exec(text, names, made)
        self._early = made["early"]
        self._block = made["block"]
        self._forms = [*forms, *(results[i] for i in early)]
        self._temporaries = count
        self._size = size
        self._rows = any(form in (_ROW, _COLUMN) for form in self._forms)
        # From an output to its place among the early values, or None where it is computed in blocks.
        self._outputs = [early.index(i) if results[i] != _FULL else None for i in outputs]
        self._compiled: CompiledSteps | None = None
        if is_compiled({ufunc for ufunc, _, _ in steps}, dtype):
            inputs = [*(f"x{i}" for i in range(len(forms))), *(f"e{i}" for i in early)]
            written = [f"o{k}" for k, i in enumerate(outputs) if results[i] == _FULL]
            forms_of = dict(zip(inputs, self._forms, strict=True))
            self._compiled = compile_steps(steps, forms_of, written, count)

    def run(self, values: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> tuple[Any, ...]:
        early = self._early(*values)
        outputs = [empty(shape, dtype) if place is None else early[place] for place in self._outputs]
        full = [output for output, place in zip(outputs, self._outputs, strict=True) if place is None]
        width = shape[-1] if self._rows else 1
        if self._compiled is not None:
            self._compiled.run((*values, *early), full, full[0].size // max(width, 1), width)
            return tuple(outputs)
        operands: list[tuple[Any, bool]] = []
        for value, form in zip((*values, *early), self._forms, strict=True):
            if form == _NUMBER:
                operands.append((value, False))
            elif form == _ROW:
                operands.append((value.reshape(-1), False))
            elif form == _COLUMN:
                operands.append((value.reshape(-1, 1), True))
            else:
                operands.append((value.reshape(-1, width) if self._rows else value.reshape(-1), True))
        for output in full:
            operands.append((output.reshape(-1, width) if self._rows else output.reshape(-1), True))
        block, count = self._block, self._temporaries
        total = full[0].size // width
        step = max(1, self._size // width)

        def run(part: tuple[int, int]) -> None:
            temporaries = scratch(count, step * width, dtype)
            if self._rows:
                temporaries = [t.reshape(step, width) for t in temporaries]
            for begin in range(*part, step):
                end = min(begin + step, part[1])
                block(
                    *[array[begin:end] if divided else array for array, divided in operands],
                    *[t[: end - begin] for t in temporaries],
                )

        in_parallel(run, shares(total, step))
        return tuple(outputs)
