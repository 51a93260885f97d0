"""An optimizer's update on a GPU as one kernel, of the recorded steps that CPUs compile, too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tensorfleet_service.kernels.math.cuda_fusion import FUNCTIONS, OPTIONS, c_type, call, preamble
from tensorfleet_service.kernels.training.recording import (
    Numbers,
    RecordedStep,
    Switches,
    record,
)
from tensorfleet_service.kernels.training.update_rule import Rule


def update_body(steps: Sequence[RecordedStep], dtype: Any) -> str:
    """The assignments to `o0`, `o1`, … (variables) from themselves, `x0` (the gradient) and numbers `n0`, ….

    For one element, in CUDA and in C.
    """
    lines, declared = [], set()
    for ufunc, target, operands in steps:
        is_new = target[0] == "t" and target not in declared
        declared.add(target)
        lines.append(f"{f'{c_type(dtype)} ' if is_new else ''}{target} = {call(ufunc, operands)};")
    return "\n".join(lines)


@lru_cache(maxsize=256)
def _kernel(
    xp: Any, steps: tuple[RecordedStep, ...], known: tuple[str, ...], numbers: int, outputs: int, dtype: str
) -> Any:
    inputs = ["x0", *known, *(f"n{i}" for i in range(numbers))]
    return xp.ElementwiseKernel(
        ", ".join(f"{dtype} {name}" for name in inputs),
        ", ".join(f"{dtype} o{i}" for i in range(outputs)),
        update_body(steps, dtype),
        "tensorfleet_update",
        preamble=preamble(dtype),
        options=OPTIONS,
    )


@lru_cache(maxsize=256)
def _prepared(
    xp: Any, rule: Rule, switches: Switches, numbers: Numbers, dtype: str
) -> tuple[Any, tuple[Any, ...]] | None:
    """The kernel of a rule with these numbers, and what it takes beside arrays."""
    recorder = record(rule, switches, numbers, FUNCTIONS.__contains__)
    if recorder is None:
        return None
    known = tuple(f"d{i}" for i, (_, value) in enumerate(numbers) if value is None)
    kernel = _kernel(xp, tuple(recorder.steps), known, len(recorder.numbers), rule.variables, dtype)
    return kernel, tuple(map(np.dtype(dtype).type, recorder.numbers))


def apply_on_gpu(
    xp: Any,
    rule: Rule,
    switches: Switches,
    numbers: Sequence[Any],
    variables: Sequence[Any],
    gradient: Any,
) -> bool:
    """Applies an update in one launch; False if the rule does more than arithmetic on whole arrays.

    Args:
        numbers: the step's, in the host's memory or, such as the powers of Adam's betas, in the device's,
            where the kernel reads them and nobody waits.
        variables: arrays of one shape and dtype, changed in place.
        gradient: another one.
    """
    dtype = variables[0].dtype
    if dtype not in (np.float32, np.float64) or any(xp.may_share_memory(gradient, v) for v in variables):
        return False
    known = [x for x in numbers if isinstance(x, xp.ndarray)]
    key = tuple([(x.dtype.char, None if isinstance(x, xp.ndarray) else x.tobytes()) for x in numbers])
    found = _prepared(xp, rule, switches, key, dtype.name)
    if found is None:
        return False
    kernel, values = found
    kernel(gradient, *known, *values, *variables)
    return True
