"""An optimizer's update on a GPU as one kernel, of the recorded steps that CPUs compile, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tensorfleet_service.kernels.math.cuda_fusion import FUNCTIONS, OPTIONS, c_type, call, preamble
from tensorfleet_service.kernels.training.recording import NotRecorded, RecordedStep, Recorder
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
def _kernel(xp: Any, steps: tuple[RecordedStep, ...], numbers: int, outputs: int, dtype: str) -> Any:
    inputs = ["x0", *(f"n{i}" for i in range(numbers))]
    return xp.ElementwiseKernel(
        ", ".join(f"{dtype} {name}" for name in inputs),
        ", ".join(f"{dtype} o{i}" for i in range(outputs)),
        update_body(steps, dtype),
        "tensorfleet_update",
        preamble=preamble(dtype),
        options=OPTIONS,
    )


def apply_on_gpu(
    xp: Any, rule: Rule, attrs: dict[str, Any], values: Sequence[Any], variables: Sequence[Any], gradient: Any
) -> bool:
    """Applies an update in one launch; False if the rule does more than arithmetic on whole arrays.

    Args:
        values: the step's numbers, in the host's memory.
        variables: arrays of one shape and dtype, changed in place.
        gradient: another one.
    """
    dtype = variables[0].dtype
    if dtype not in (np.float32, np.float64) or any(xp.may_share_memory(gradient, v) for v in variables):
        return False
    recorder = Recorder(rule.scratch, FUNCTIONS.__contains__)
    temporaries = [recorder.register(f"t{i}") for i in range(rule.scratch)]
    outputs = [recorder.register(f"o{i}") for i in range(len(variables))]
    try:
        update: Callable[..., None] = rule.build(recorder, attrs)(*values)
        update(temporaries, *outputs, recorder.register("x0"))
    except NotRecorded:
        return False
    kernel = _kernel(xp, tuple(recorder.steps), len(recorder.numbers), len(variables), dtype.name)
    kernel(gradient, *map(dtype.type, recorder.numbers), *variables)
    return True
