"""A warning if the global step does not increase although variables are trained."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any

from tensorfleet.core import logging
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import lookup
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.session.fetches import Fetches

# A run fetches the step before or after its increase, so two equal values prove nothing.
RUNS = 3
WARNINGS = 5

_RESOURCE_UPDATE = re.compile(r"Assign\w*VariableOp|Resource\w*(Apply|Scatter|Assign|CountUpTo)\w*")


class StandStill:
    """Watches the global step of runs and warns if it does not increase.

    Only runs that change variables count, as an evaluation does not change the step. After the first increase
    there are no warnings, as the program then does increase the step.
    """

    def __init__(self) -> None:
        self._warnings_left = WARNINGS
        self._increased = False
        self._known: dict[tuple[Tensor | Operation, ...], bool] = {}  # by fetches: do runs change variables?
        self.begin()

    def begin(self) -> None:
        """Forgets the step of the last run, as another session may have another step."""
        self._last: int | None = None
        self._runs = 0

    def look(self, step: int, fetches: Any) -> None:
        """Records the step that a run with these fetches saw."""
        if self._increased or not self._warnings_left or not self._changes_variables(fetches):
            return
        if self._last is not None and step > self._last:
            self._increased = True
            self._known.clear()
            return
        self._runs = self._runs + 1 if step == self._last else 1
        self._last = step
        if self._runs >= RUNS:
            self._warnings_left -= 1
            logging.warning(
                "The global step is still %s after %d runs that change variables. Optimizer.minimize and "
                "apply_gradients increase it if called with global_step=tf.train.get_global_step().",
                step,
                self._runs,
            )

    def _changes_variables(self, fetches: Any) -> bool:
        elements = tuple(Fetches(get_default_graph(), fetches).elements)
        known = self._known.get(elements)
        if known is None:
            known = self._known[elements] = changes_variables(elements)
        return known


def changes_variables(fetches: Iterable[Tensor | Operation]) -> bool:
    """Whether a run of these fetches may change a variable."""
    todo = [item.op if isinstance(item, Tensor) else item for item in fetches]
    seen: set[Operation] = set()
    while todo:
        op = todo.pop()
        if op in seen:
            continue
        seen.add(op)
        if _updates(op.type):
            return True
        todo.extend(tensor.op for tensor in op.inputs)
        todo.extend(op.control_inputs)
    return False


@functools.cache
def _updates(op_type: str) -> bool:
    """Whether ops of a type change a variable: they return its reference, or update its resource."""
    signature = lookup(op_type)
    if signature is None or op_type.startswith("Ref"):  # RefSwitch and similar ops only select
        return False
    hands_on = any(a.is_ref for a in signature.inputs) and any(a.is_ref for a in signature.outputs)
    return hands_on or _RESOURCE_UPDATE.fullmatch(op_type) is not None
