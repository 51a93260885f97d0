"""Rows of elementwise steps for the compiled kernels, which go through all of them block by block.

A step is (ufunc, register, operands): the name of NumPy's function, the register of the result, and the
registers or numbers that it takes. The compiled code has those functions of float32 that are in
`native.STEPS`. Sums, products, quotients and roots are NumPy's bit by bit; exponentials, logarithms and tanh
are within 3 units of the last place.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.devices.native import native

NUMBER, ROW, COLUMN, FULL, OUTPUT, UPDATED = range(6)
"""Forms of operands: a number, [width], [rows, 1], [rows, width]; an output; an output that is read, too."""

Step = tuple[str, str, Sequence[str]]

_NUMBERS: dict[str, int] = {} if native is None else {name: i for i, name in enumerate(native.STEPS)}
_MOST_OPERANDS, _MOST_TEMPORARIES, _MOST_STEPS = 24, 32, 512


def is_compiled(ufuncs: Collection[str], dtype: Any) -> bool:
    """Whether the compiled code has all of these functions for a dtype."""
    return native is not None and dtype == np.float32 and all(ufunc in _NUMBERS for ufunc in ufuncs)


def has_step(ufunc: str) -> bool:
    return ufunc in _NUMBERS


class CompiledSteps:
    """Steps in the form of the compiled code."""

    __slots__ = ("_code", "_constants", "_forms", "_temporaries")

    def __init__(self, code: bytes, constants: tuple[float, ...], forms: bytes, temporaries: int) -> None:
        self._code = code
        self._constants = constants
        self._forms = forms
        self._temporaries = temporaries

    def run(self, inputs: tuple[Any, ...], outputs: Sequence[Any], rows: int, width: int) -> None:
        """Computes [rows, width] elements.

        Raises:
            ValueError, TypeError, BufferError: arrays of other sizes, not contiguous, or sharing memory.
        """
        operands = (*inputs, *self._constants, *outputs)
        native.evaluate(self._code, operands, self._forms, rows, width, self._temporaries, thread_count())


def compile_steps(
    steps: Sequence[Step],
    inputs: Mapping[str, int],
    outputs: Sequence[str],
    temporaries: int,
    written: int = OUTPUT,
) -> CompiledSteps | None:
    """Steps in the compiled form; None if they are not for the compiled code.

    Args:
        inputs: the registers that are given, in order, with their forms.
        outputs: the registers that are written; they are the last operands of a call.
        temporaries: how many registers t0, t1, … there are beside.
        written: OUTPUT, or UPDATED where the steps read the outputs' old values, too.
    """
    given = {**inputs, **dict.fromkeys(outputs, written)}
    steps = _combined(steps, lambda text: not _is_temporary(text) and given.get(text, NUMBER) == NUMBER)
    texts = {text: None for _, _, own in steps for text in own}
    constants = [
        text for text in texts if text not in inputs and text not in outputs and not _is_temporary(text)
    ]
    operands = [*inputs, *constants, *outputs]
    forms = [*inputs.values(), *[NUMBER] * len(constants), *[written] * len(outputs)]
    if len(operands) > _MOST_OPERANDS or temporaries > _MOST_TEMPORARIES or len(steps) > _MOST_STEPS:
        return None
    place = {text: i for i, text in enumerate([*operands, *(f"t{i}" for i in range(temporaries))])}
    code = []
    for ufunc, register, own in steps:
        if all(place[text] < len(forms) and forms[place[text]] == NUMBER for text in own):
            return None
        code.append(struct.pack("iiii", _NUMBERS[ufunc], place[register], place[own[0]], place[own[-1]]))
    return CompiledSteps(b"".join(code), tuple(float(text) for text in constants), bytes(forms), temporaries)


def _combined(steps: Sequence[Step], is_number: Callable[[str], bool]) -> list[Step]:
    """The steps, with those of COMBINED in place of what they do at once.

    Each saves a pass over the block. As all steps, they have one operand at least that is not a number.
    """
    found: list[Step] = []
    at = 0
    while at < len(steps):
        for combine, length in COMBINED:
            row = steps[at : at + length]
            made = combine(*row) if len(row) == length else None
            if made is not None and made[0] in _NUMBERS and not all(map(is_number, made[2])):
                used = {row[0][1]} - {made[1]}
                if not any(_is_read(register, steps[at + length :]) for register in used):
                    found.append(made)
                    at += length
                    break
        else:
            found.append(steps[at])
            at += 1
    return found


def _is_read(register: str, steps: Sequence[Step]) -> bool:
    """Whether the value of a register is needed by steps; that of an output always is."""
    for _, target, operands in steps:
        if register in operands:
            return True
        if register == target:
            return False
    return not _is_temporary(register)


def _move(first: Step, second: Step, third: Step) -> Step | None:
    """average += (value - average) rate."""
    (a, t, (value, average)), (b, u, own), (c, to, last) = _paired(first), _paired(second), _paired(third)
    if (a, b, c) != ("subtract", "multiply", "add") or not t == u == own[0] == last[1] != to:
        return None
    return ("move", to, (value, own[1])) if to == average == last[0] and own[1] != t else None


def _add_product(first: Step, second: Step) -> Step | None:
    """to += a b, and to -= a b."""
    (a, t, own), (b, to, last) = _paired(first), _paired(second)
    if a != "multiply" or b not in ("add", "subtract") or last != (to, t) or to == t:
        return None
    return f"{b}_product", to, own


def _subtract_quotient(first: Step, second: Step) -> Step | None:
    """to -= a / b."""
    (a, t, own), (b, to, last) = _paired(first), _paired(second)
    if (a, b) != ("divide", "subtract") or last != (to, t) or to == t:
        return None
    return "subtract_quotient", to, own


def _add_to_root(first: Step, second: Step) -> Step | None:
    """to = sqrt(a) + b."""
    (a, t, own), (b, to, last) = _paired(first), _paired(second)
    if (a, b) != ("sqrt", "add") or last[0] != t or t != to or last[1] == t:
        return None
    return "add_to_root", to, (own[0], last[1])


def _paired(step: Step) -> tuple[str, str, tuple[str, str]]:
    ufunc, register, operands = step
    return ufunc, register, (operands[0], operands[-1])


COMBINED: tuple[tuple[Callable[..., Step | None], int], ...] = (
    (_move, 3),
    (_add_product, 2),
    (_subtract_quotient, 2),
    (_add_to_root, 2),
)
"""What makes one step of several that follow each other, and of how many; each part is rounded by itself."""


def elementwise(steps: Sequence[Step], inputs: int, temporaries: int) -> Callable[..., Any] | None:
    """The function of arrays of one shape that the native kernels take; None without them.

    Args:
        steps: on registers x0, x1, … for the inputs, t0, t1, … and out.
    """
    if not is_compiled({ufunc for ufunc, _, _ in steps}, np.float32):
        return None
    compiled = compile_steps(steps, {f"x{i}": FULL for i in range(inputs)}, ["out"], temporaries)
    if compiled is None:
        return None

    def run(*arrays: Any) -> Any:
        out = empty(arrays[0].shape, np.float32)
        compiled.run(arrays, (out,), out.size, 1)
        return out

    return run


def _is_temporary(text: str) -> bool:
    return text[0] == "t"
