"""Compilation of a loop into a Python `while` with one statement per node, and of conditionals into `if`.

The code of tf.while_loop(lambda i: i < n, lambda i: i + 1, [0]) is

    def run(t, a):
     v0, v1, = a; a.clear()
     N[0] += 1
     v2 = v0
     v0 = None
     while True:
      if t.error is not None: raise t.error
      N[1] += 1
      v0 = v2 < v1
      if not v0: break
      N[2] += 1
      v0 = None
      v3 = v2 + c7; v2 = None
      v2 = v3; v3 = None
     v0 = None
     v1 = None
     return v2

`t` is the step, `a` the values that enter; `t.error` is set when the step is cancelled or late. `N` counts
how often each block ran. As in `plan`, a value lives until its last use, and each line belongs to one node. A
variable is set to None at the end of its value, not deleted, as it may have no value on the branch taken.

The iterations run one after the other, which is one of the orders that the dataflow executor may choose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.executor.loop_code import LoopCode
from tensorfleet_service.executor.loop_shape import Loop, Unstructured, find_loops
from tensorfleet_service.executor.loop_writer import write_function
from tensorfleet_service.executor.statements import Origins, explain
from tensorfleet_service.kernels.registry import AsyncKernel

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node


MAX_LINES = 1 << 13
"""Limit on the lines of a loop's code, which is compiled by one call; a longer one runs op by op."""

MAX_TEXT = 1 << 19
"""The same for its characters."""


class CompiledLoop:
    """A loop as a function of (step, list of the values that enter, which it empties) to those that leave.

    Attributes:
        loop: its nodes.
        source: the generated code.
    """

    __slots__ = ("_counted", "_counts", "_origins", "function", "loop", "source")

    def __init__(self, loop: Loop, device: str, xp: ModuleType, kernels: dict[int, Any]) -> None:
        """Compiles a loop. Raises Unstructured if it does not have the form that tf.while_loop gives it,
        or is too long.
        """
        code = LoopCode(xp, kernels)
        write_function(code, loop)
        if len(code.text) > MAX_LINES or sum(map(len, code.text)) > MAX_TEXT:
            raise Unstructured
        self.loop = loop
        self.source = "\n".join(code.text) + "\n"
        self._counted = code.counted
        self._counts = code.names["N"] = [0] * len(code.counted)
        made: dict[str, Any] = {}
        exec(compile(self.source, f"<loop of {device}>", "exec"), code.names, made)
        self.function: Callable[[Any, list[Any]], Any] = made["run"]
        self._origins = Origins([(self.function.__code__, code.lines)])

    def explain(self, error: BaseException) -> errors.OpError:
        """The error to report for an exception that left the function, with the node's name in it."""
        return explain(error, self._origins)

    def node_at(self, frame: FrameType) -> Node | None:
        """The node whose line a Python frame is at; None if it does not run this loop."""
        return self._origins.of(frame.f_code, frame.f_lineno)[0]

    def runs(self) -> list[tuple[Node, int]]:
        """The number of runs of each node, including those in steps that failed."""
        return [
            (node, count)
            for nodes, count in zip(self._counted, self._counts, strict=True)
            if count
            for node in nodes
        ]


def loops_of(nodes: Sequence[Node], kernels: dict[int, Any]) -> list[Loop]:
    """The outermost loops of a partition; loops with kernels that may have to wait are not whole."""
    return find_loops(nodes, lambda node: not isinstance(kernels.get(id(node)), AsyncKernel))


def compile_loops(
    device: str, loops: Sequence[Loop], xp: ModuleType, kernels: dict[int, Any]
) -> list[CompiledLoop]:
    """Compiles the outermost of the loops that can be compiled.

    Args:
        kernels: by the identities of the nodes.
    """
    found = []
    left = list(loops)
    while left:
        loop = left.pop()
        if loop.is_whole:
            try:
                found.append(CompiledLoop(loop, device, xp, kernels))
                continue
            except Unstructured:
                pass
        left += loop.loops
    return found
