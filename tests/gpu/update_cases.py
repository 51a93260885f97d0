"""The recorded updates of optimizers, as source for one element."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph.graph import lookup_op
from tensorfleet_service.kernels.math.cuda_fusion import FUNCTIONS, c_type
from tensorfleet_service.kernels.training.cuda_updates import update_body
from tensorfleet_service.kernels.training.optimizer_updates import RULES
from tensorfleet_service.kernels.training.recording import (
    NotRecorded,
    RecordedStep,
    numbers_key,
    record,
    switches_of,
)

OP_BY_OP = {"ProximalAdagrad"}
"""Rules that choose elements by a mask."""

NUMBERS = {"global_step": 3, "lr_power": -0.5}


def op_type(rule: str) -> str:
    return f"ResourceApply{rule}"


def attrs_of(rule: str) -> dict[str, Any]:
    attrs = lookup_op(op_type(rule)).attrs
    return {name: attr.default for name, attr in attrs.items() if getattr(attr, "default", None) is not None}


def numbers_of(rule: str, dtype: Any) -> list[Any]:
    count = RULES[rule].variables
    names = [a.name for a in lookup_op(op_type(rule)).inputs][count:]
    given = [n for n in names if n not in ("grad", "delta")]
    return [np.dtype(dtype).type(NUMBERS.get(n, 0.1 + 0.05 * i)) for i, n in enumerate(given)]


def recorded(rule: str, dtype: Any) -> tuple[list[RecordedStep], list[float]]:
    numbers = numbers_key(numbers_of(rule, dtype))
    recorder = record(RULES[rule], switches_of(attrs_of(rule)), numbers, FUNCTIONS.__contains__)
    if recorder is None:
        raise NotRecorded
    return recorder.steps, recorder.numbers


def function(rule: str, dtype: Any, head: str) -> str:
    """A function `rule_type(n, gradient, numbers…, variables…)`; `head` begins its loop over `i`."""
    steps, numbers = recorded(rule, dtype)
    name, outputs = c_type(dtype), range(RULES[rule].variables)
    parameters = [f"{name} n{i}" for i in range(len(numbers))] + [f"{name}* p{i}" for i in outputs]
    element = " ".join(f"{name} o{i} = p{i}[i];" for i in outputs)
    back = " ".join(f"p{i}[i] = o{i};" for i in outputs)
    loop = f"{head} {{ {name} x0 = g[i]; {element}\n{update_body(steps, dtype)}\n{back} }}"
    return f"void {rule}_{name}(long n, {name}* g, {', '.join(parameters)}) {{ {loop} }}"
