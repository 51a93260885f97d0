"""Recording of an optimizer's update as steps for compiled kernels and GPUs: the rule runs on registers.

So the arithmetic of a rule is in one place, `optimizer_updates`. A rule that does more than arithmetic on
whole blocks (chooses elements by a mask, takes a power) is not recorded, and stays with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any

import numpy as np

from tensorfleet_service.kernels.math.compiled import (
    FULL,
    NUMBER,
    UPDATED,
    CompiledSteps,
    compile_steps,
    has_step,
)
from tensorfleet_service.kernels.training.update_rule import Rule

RecordedStep = tuple[str, str, tuple[str, ...]]
"""The name of NumPy's function, the register of its result, and the registers and numbers that it takes."""


class NotRecorded(Exception):
    """The rule does what the compiled kernels cannot."""


class _Register:
    """Stands for an array while a rule is recorded."""

    __slots__ = ("_recorder", "name")
    __array_ufunc__ = None  # a NumPy number leaves an operator to the register

    def __init__(self, recorder: Recorder, name: str) -> None:
        self._recorder = recorder
        self.name = name

    def __iadd__(self, other: Any) -> _Register:
        return self._recorder.step("add", (self, other), self)

    def __isub__(self, other: Any) -> _Register:
        return self._recorder.step("subtract", (self, other), self)

    def __imul__(self, other: Any) -> _Register:
        return self._recorder.step("multiply", (self, other), self)

    def __itruediv__(self, other: Any) -> _Register:
        return self._recorder.step("divide", (self, other), self)

    def __add__(self, other: Any) -> _Register:
        return self._recorder.step("add", (self, other), None)

    def __mul__(self, other: Any) -> _Register:
        return self._recorder.step("multiply", (self, other), None)

    def __rmul__(self, other: Any) -> _Register:
        return self._recorder.step("multiply", (other, self), None)

    def __rsub__(self, other: Any) -> _Register:
        return self._recorder.step("subtract", (other, self), None)

    def __truediv__(self, other: Any) -> _Register:
        return self._recorder.step("divide", (self, other), None)

    def __rtruediv__(self, other: Any) -> _Register:
        return self._recorder.step("divide", (other, self), None)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotRecorded

    def __le__(self, other: Any) -> bool:
        raise NotRecorded

    def __gt__(self, other: Any) -> bool:
        raise NotRecorded


class Recorder:
    """Stands for NumPy while a rule is recorded.

    Args:
        temporaries: how many registers the rule is given to write to.
        has: whether the kernels have a function.

    Attributes:
        steps: what the rule does, with names for the numbers that it takes.
        numbers: these numbers, n0, n1, ….
        temporaries: how many registers t0, t1, … the steps use.
    """

    def __init__(self, temporaries: int, has: Callable[[str], bool] = has_step) -> None:
        self._has = has
        self.steps: list[RecordedStep] = []
        self.numbers: list[float] = []
        self.temporaries = temporaries

    def register(self, name: str) -> _Register:
        return _Register(self, name)

    def step(self, ufunc: str, operands: tuple[Any, ...], out: Any) -> _Register:
        names = tuple([self._name(operand) for operand in operands])
        target = _Register(self, f"t{self.temporaries}") if out is None else out
        if not isinstance(target, _Register):
            raise NotRecorded
        if out is None:
            self.temporaries += 1
        self.steps.append((ufunc, target.name, names))
        return target

    def _name(self, operand: Any) -> str:
        if isinstance(operand, _Register):
            return operand.name
        if getattr(operand, "ndim", 0):
            raise NotRecorded
        self.numbers.append(float(operand))
        return f"n{len(self.numbers) - 1}"

    def __getattr__(self, ufunc: str) -> Callable[..., Any]:
        if not self._has(ufunc):
            raise NotRecorded(ufunc)
        return lambda *operands, out=None: self._call(ufunc, operands, out)

    def _call(self, ufunc: str, operands: tuple[Any, ...], out: Any) -> Any:
        if not any(isinstance(operand, _Register) for operand in operands):
            return getattr(np, ufunc)(*operands)  # what a rule computes once a step
        return self.step(ufunc, operands, out)


@lru_cache(maxsize=256)
def _compile(
    steps: tuple[RecordedStep, ...], inputs: int, numbers: int, outputs: int, temporaries: int
) -> CompiledSteps | None:
    given = {f"x{i}": FULL for i in range(inputs)} | {f"n{i}": NUMBER for i in range(numbers)}
    return compile_steps(steps, given, [f"o{i}" for i in range(outputs)], temporaries, UPDATED)


Switches = tuple[tuple[str, bool], ...]
"""The attributes that a rule looks at."""


def switches_of(attrs: Mapping[str, Any]) -> Switches:
    return tuple([(name, value) for name, value in attrs.items() if type(value) is bool])


Numbers = tuple[tuple[str, bytes | None], ...]
"""The numbers of a step, each by its dtype and bytes; None for one that the device alone knows."""


def numbers_key(numbers: Sequence[Any]) -> Numbers:
    return tuple([(x.dtype.char, x.tobytes()) for x in numbers])


def record(
    rule: Rule, switches: Switches, numbers: Numbers, has: Callable[[str], bool] = has_step
) -> Recorder | None:
    """What a rule does with these numbers; None if that is more than the functions that there are.

    The gradient is x0, the variables are o0, o1, …, and numbers that the device alone knows d0, d1, ….
    """
    recorder = Recorder(rule.scratch, has)
    given = [
        recorder.register(f"d{i}") if value is None else np.frombuffer(value, dtype)[0]
        for i, (dtype, value) in enumerate(numbers)
    ]
    temporaries = [recorder.register(f"t{i}") for i in range(rule.scratch)]
    variables = [recorder.register(f"o{i}") for i in range(rule.variables)]
    try:
        rule.build(recorder, dict(switches))(*given)(temporaries, *variables, recorder.register("x0"))
    except NotRecorded:
        return None
    return recorder


_Recorded = tuple[CompiledSteps, tuple[float, ...]]


@lru_cache(maxsize=256)
def _recorded(rule: Rule, switches: Switches, numbers: Numbers) -> _Recorded | None:
    """The compiled steps of a rule with these numbers, and what they take beside arrays.

    The variables of a model share their numbers, most of them from step to step.
    """
    recorder = record(rule, switches, numbers)
    if recorder is None:
        return None
    steps = tuple(recorder.steps)
    compiled = _compile(steps, 1, len(recorder.numbers), rule.variables, recorder.temporaries)
    return None if compiled is None else (compiled, tuple(recorder.numbers))


_last: dict[tuple[Rule, Switches], tuple[Sequence[Any], _Recorded | None]] = {}
"""The numbers of a rule's last update, and what was recorded with them: the variables of a model take the
very same ones in a step."""


def apply_recorded(
    rule: Rule, switches: Switches, numbers: Sequence[Any], variables: Sequence[Any], gradient: Any
) -> bool:
    """Applies an update by the compiled kernels; False if they cannot.

    Args:
        numbers: NumPy's, in the order in which the rule takes them.
        variables: contiguous arrays of float32 of one size, changed in place.
        gradient: another one.
    """
    last = _last.get((rule, switches))
    if last is not None and len(last[0]) == len(numbers) and all(map(is_, last[0], numbers)):
        found = last[1]
    else:
        found = _recorded(rule, switches, numbers_key(numbers))
        if not any(type(x) is np.ndarray for x in numbers):  # whose number may change
            _last[rule, switches] = numbers, found
    if found is None:
        return False
    compiled, values = found
    compiled.run((gradient, *values), variables, gradient.size, 1)
    return True
