"""The code of a loop's function while it is written: its lines, globals and variables; see `loop_writer`."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.executor.statements import (
    Line,
    as_string,
    assign,
    call_text,
    constant_on,
)

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node


class LoopCode:
    """The code of the function of a loop while it is written.

    Attributes:
        text, lines: the lines of the code, and the origin of each.
        names: its globals, without the list `N`.
        counted: the nodes that are counted by each number in `N`.
        nested: the number of loops that are being written.
    """

    def __init__(self, xp: ModuleType, kernels: dict[int, Any]) -> None:
        self.names: dict[str, Any] = {"xp": xp, "as_string": as_string, "I0": np.int32(0), "I1": np.int32(1)}
        self.text: list[str] = []
        self.lines: list[Line] = [(None, [], None)]
        self.counted: list[list[Node]] = []
        self.nested = 0
        self._kernels = kernels
        self._moves = movers(xp)
        self._free: list[str] = []
        self._used = 0
        self._numbers: dict[int, int] = {}

    def add(self, indent: int, statement: str, node: Node | None = None, *more: Any) -> None:
        """Adds a line of a node; `more` are the variables that it reads, and its expression."""
        inputs, expression = (*more, None, None)[:2]
        self.text.append(" " * indent + statement)
        self.lines.append((node, inputs or [], expression))

    def begin_block(self, indent: int, nodes: list[Node]) -> None:
        """Begins to count nodes that run together; more may be added to the list."""
        self.add(indent, f"N[{len(self.counted)}] += 1")
        self.counted.append(nodes)

    def compute(self, indent: int, node: Node, inputs: list[str], outputs: list[str]) -> None:
        """Writes the call of a node's kernel."""
        text, expression = call_text(self._kernels[id(node)], self._number(node), inputs, self.names)
        self.add(indent, assign(node.output_types, outputs, text)[1:], node, inputs, expression)

    def constant(self, node: Node) -> str:
        name = f"c{self._number(node)}"
        if name not in self.names:
            self.names[name] = constant_on(node, self._moves)
        return name

    def _number(self, node: Node) -> int:
        return self._numbers.setdefault(id(node), len(self._numbers))

    # Variables

    def fresh(self) -> str:
        """A new variable."""
        self._used += 1
        return f"v{self._used - 1}"

    def slot(self) -> str:
        """A free variable, the one that was freed last."""
        return self._free.pop() if self._free else self.fresh()

    def clear(self, indent: int, names: Sequence[str], give: bool = False) -> None:
        """Drops the values of variables; with `give`, other values may reuse the variables."""
        if names:
            self.add(indent, f"{' = '.join(names)} = None")
        if give:
            self.give(names)

    def give(self, names: Sequence[str]) -> None:
        """Lets other values reuse variables."""
        self._free += names
