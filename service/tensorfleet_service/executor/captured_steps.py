"""Steps of a GPU's partition that are replayed as a CUDA graph, once it ran some times with equal inputs.

A replay is the step's code but for the host's part of it: what the code decides is decided, and its kernels
are queued by one call. It works on the variables' arrays where they were: if one was replaced, the partition
is captured anew; while a reader holds one that would change, the step runs as ever. What cannot be captured
is not tried again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core.environment import choice
from tensorfleet_service.devices.cuda_graphs import Graph, capture, detached
from tensorfleet_service.executor.capturable import Capturable, capturable
from tensorfleet_service.state.variables import DONE, MOVED, Use, Variable, run_in_place

if TYPE_CHECKING:
    from tensorfleet_service.devices.scope import Scope
    from tensorfleet_service.executor.plan_writer import PlanWriter

log = logging.getLogger(__name__)

RUNS = 3
"""So many equal runs precede a capture: they compile the kernels, and say that more will come."""

GRAPHS = 4
"""The most graphs of one partition, by the shapes of what it is fed."""

CAPTURES = 8
"""How often a partition is captured at most: anew where the arrays of its variables were replaced."""

_KEYS = 64  # of a partition, whose runs are counted
_HOST_BYTES = 256  # of a fed value that the host looks at, and that is therefore compared

Function = Callable[[Any, Sequence[Any]], Sequence[Any]]


def captures(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether partitions are captured in this process: TENSORFLEET_GPU_GRAPHS."""
    return choice("TENSORFLEET_GPU_GRAPHS", environ) == "auto"


def replayed(plain: Function, writer: PlanWriter, scope: Scope) -> Function | None:
    """The function of a partition that captures and replays itself; None if it cannot be captured."""
    found = capturable(writer.nodes)
    if isinstance(found, str):
        log.debug("a partition of %s is not captured: %s", writer.device, found)
        return None
    return CapturedSteps(plain, writer, scope, found)


class CapturedSteps:
    """The function of a partition, which takes its place.

    Args:
        plain: runs the partition in any case.
    """

    def __init__(self, plain: Function, writer: PlanWriter, scope: Scope, found: Capturable) -> None:
        self._plain = plain
        self._writer = writer
        self._scope = scope
        self._on_host = found.host_args
        self._handles: list[tuple[int, Callable[[], Variable], bool]] = [
            (position, writer.kernels[position], changes) for position, changes in found.variables.items()
        ]
        self._left = CAPTURES
        self._known: dict[Any, int | _Captured | None] = {}
        """By the key of the inputs: the number of runs, the graph, or None where there will be none."""

    def __call__(self, step: Any, args: Sequence[Any]) -> Sequence[Any]:
        key = self._key(args)
        found = None if key is None else self._known.get(key, 0)
        if type(found) is int:
            if found < RUNS:
                if len(self._known) < _KEYS:
                    self._known[key] = found + 1
                found = None
            else:
                found = self._capture(key, step, args)
        if type(found) is _Captured:
            results = found.run(self._variables(), self._given(args))
            if results is not None:
                return results
            if found.is_stale:
                found.graph.close()
                self._known[key] = 0 if self._left else None
        return self._plain(step, args)

    def _key(self, args: Sequence[Any]) -> Any:
        """What is equal for steps that a graph can stand for; None if there is none for these inputs."""
        parts: list[Any] = []
        for on_host, value in zip(self._on_host, args, strict=True):
            if not isinstance(value, (np.ndarray, np.generic)):
                return None
            parts += value.shape, value.dtype.char
            if on_host:
                if value.nbytes > _HOST_BYTES:
                    return None
                parts.append(value.tobytes())
        return tuple(parts)

    def _given(self, args: Sequence[Any]) -> list[Any]:
        """The fed values that the graph takes."""
        return [value for on_host, value in zip(self._on_host, args, strict=True) if not on_host]

    def _variables(self) -> list[Variable]:
        return [handle() for _, handle, _ in self._handles]

    def _capture(self, key: Any, step: Any, args: Sequence[Any]) -> _Captured | None:
        """Captures the partition; None if that is not possible, now or for good."""
        if not self._left or sum(type(known) is _Captured for known in self._known.values()) >= GRAPHS:
            self._known[key] = None
            return None
        variables = self._variables()
        if not all(variable.is_initialized for variable in variables):
            return None  # the step fails, and says so
        try:
            captured = self._captured(variables, step, args)
        except Exception as e:
            self._left -= 1
            self._known[key] = None
            log.warning(
                "a partition of %s with %d ops is not captured as a CUDA graph, and runs as before: %s",
                self._writer.device,
                len(self._writer.nodes),
                str(e),  # whoever keeps the record is not to keep the frames
            )
            return None
        if captured is not None:
            self._left -= 1
            self._known[key] = captured
        return captured

    def _captured(self, variables: Sequence[Variable], step: Any, args: Sequence[Any]) -> _Captured | None:
        xp = self._scope.xp
        uses: dict[int, Use] = {}
        copies: dict[int, Variable] = {}
        instead: dict[int, Any] = {}
        for variable, (position, _, changes) in zip(variables, self._handles, strict=True):
            if id(variable) not in uses:
                uses[id(variable)] = Use(variable, _address, changes)
                # The host's part of the updates is done on these, so that no step sees an array that has no
                # value yet.
                own = copies[id(variable)] = Variable(
                    variable.name, variable.dtype, variable.dims, variable.container, variable.kind
                )
                own._value = detached(xp, variable.read())
            uses[id(variable)].changes |= changes
            instead[position] = _handle(copies[id(variable)])

        to_device: list[Callable[[Any], Any]] = []

        def moved(value: Any) -> Any:
            # What is fed is there, and all else is the same in each step.
            return value if isinstance(value, xp.ndarray) else to_device[0](value)

        for position, node in enumerate(self._writer.nodes):
            if node.op == "_ToDevice":
                instead[position] = moved
        function = self._writer.compile(False, instead).function

        def run(given: list[Any], copied: Callable[[Any], Any]) -> Sequence[Any]:
            rest = iter(given)
            to_device.append(copied)
            found: Sequence[Any] = function(
                step, [value if host else next(rest) for host, value in zip(self._on_host, args, strict=True)]
            )
            return [apart(value) for value in found]

        def apart(value: Any) -> Any:
            # Copied by the graph, as the next step may change the variable before this one has its fetches.
            is_variable = isinstance(value, xp.ndarray) and any(
                value.data.mem is copy._value.data.mem
                for copy in copies.values()
                if isinstance(copy._value, xp.ndarray)
            )
            return value.copy() if is_variable else value

        graph = capture(self._scope, [(v.shape, v.dtype) for v in self._given(args)], run)
        if graph is None:
            return None
        if not all(use.is_at(copies[which]._value) for which, use in uses.items()):
            graph.close()
            raise ValueError("a variable gets a new array in each step, as its old value is read afterwards")
        return _Captured(graph, variables, list(uses.values()))


class _Captured:
    """A graph, and the variables that it works on.

    Attributes:
        is_stale: whether it can never run again.
    """

    __slots__ = ("_uses", "_variables", "graph", "is_stale")

    def __init__(self, graph: Graph, variables: Sequence[Variable], uses: list[Use]) -> None:
        self.graph = graph
        self.is_stale = False
        self._variables = variables
        self._uses = sorted(uses, key=lambda use: id(use.variable))

    def run(self, variables: Sequence[Variable], given: Sequence[Any]) -> Sequence[Any] | None:
        """The results of a step; None if it has to run otherwise."""
        if any(a is not b for a, b in zip(variables, self._variables, strict=True)):
            self.is_stale = True
            return None

        def launch(graph: Callable[[], None]) -> bool:
            done = run_in_place(self._uses, graph)
            self.is_stale = done == MOVED
            return done == DONE

        found: Sequence[Any] | None = self.graph.run(given, launch)
        return found


def _address(array: Any) -> Any:
    """Where an array of a GPU lies, and in what form."""
    return array.data.ptr, array.shape, array.strides, array.dtype


def _handle(variable: Variable) -> Callable[[], Variable]:
    return lambda: variable
