"""Compiling the text of a plan; that of many nodes is cut into functions, compiled one after the other.

No other thread runs while Python compiles a text, some 10 us for each of its lines. The code of a plan with
many nodes is therefore

    def part0(t, a, s, r):
     v0 = a[0]
     v1 = v0 * c1
     s[0], s[1], = v0, v1
    def part1(t, a, s, r):
     v0, v1, = s[0], s[1]; s[0] = s[1] = None
     v1 = v0 + v1; del v0
     r[0] = v1; del v1
    def run(t, a, p):
     s = [None] * 2
     r = [None] * 1
     p[0](t, a, s, r)
     p[1](t, a, s, r)
     return tuple(r)

`s` has the values between parts, each at the number of its variable: a part takes those that it uses, and
puts back those that are used later. `r` has the results. A part that may have to wait is a generator, which
`run` goes through by `yield from`. `p` has the parts, as the default of an argument: were they among their
own globals, a plan would live on until the collector finds it.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tensorfleet_service.executor.statements import NOWHERE, Line, Origins
from tensorfleet_service.graph import large

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

LARGE = 1 << 13
"""Number of nodes and edges from which on a plan's code is cut."""

PART = 1 << 11
"""Number of lines in a part: some 20 ms to compile."""

PART_TEXT = 1 << 17
"""Number of characters in a part, whose lines may be long."""

TRACED = 4
"""How much less there is of each in code with a clock at each op, whose lines take longer to compile."""

LONG_LINE = 1 << 10
"""Number of characters from which on a line is one of many variables."""

MANY = 1 << 10
"""Number of variables from which on those of a node are in several lines, where code is cut."""

_VARIABLE = re.compile(r"\bv\d+\b")


def is_large(nodes: Sequence[Node], traced: bool) -> bool:
    """Whether the code of nodes is cut."""
    return len(nodes) + sum(len(node.inputs) for node in nodes) > LARGE // (TRACED if traced else 1)


class Parts:
    """The parts of a code while it is written.

    Args:
        traced: whether there is a clock at each op.

    Attributes:
        made: the source of each part, and the origins of its lines.
    """

    def __init__(self, traced: bool) -> None:
        share = TRACED if traced else 1
        self._most_lines, self._most_text = PART // share, PART_TEXT // share
        self.made: list[tuple[str, list[Line]]] = []
        self._calls: list[str] = []
        self._size = 0
        self._measured = 0
        self._kept: set[str] = set()  # the variables whose values are in `s`
        self._returned = 0

    def is_full(self, body: Sequence[str]) -> bool:
        """Whether a part with these lines has to end; asked after each few of them."""
        # What a long line names is named again where the part takes it, and puts it back.
        self._size += sum(
            len(line) if len(line) < LONG_LINE else 6 * len(line) for line in body[self._measured :]
        )
        self._measured = len(body)
        return len(body) >= self._most_lines or self._size >= self._most_text

    def returned(self, value: str) -> str:
        """The statement for the next of the results."""
        self._returned += 1
        return f" r[{self._returned - 1}] = {value}"

    def end(
        self, body: Sequence[str], lines: Sequence[Line], has_value: Callable[[str], bool], waits: bool
    ) -> None:
        """Makes a part of some lines.

        Args:
            has_value: whether a name is that of a variable with a value after them.
            waits: whether they may have to wait.
        """
        self._size = self._measured = 0
        used = dict.fromkeys(name for line in body for name in _VARIABLE.findall(line))
        taken = [name for name in used if name in self._kept]
        kept = [name for name in used if has_value(name)]
        self._kept.difference_update(used)
        self._kept.update(kept)
        number = len(self.made)
        first, last = " pass", " pass"
        if taken:
            places = _places(taken)
            first = f" {', '.join(taken)}, = {', '.join(places)},; {' = '.join(places)} = None"
        if kept:
            last = f" {', '.join(_places(kept))}, = {', '.join(kept)},"
        source = "\n".join((f"def part{number}(t, a, s, r):", first, *body, last, ""))
        self.made.append((source, [NOWHERE, NOWHERE, NOWHERE, *lines, NOWHERE]))
        self._calls.append(f" {'yield from ' if waits else ''}p[{number}](t, a, s, r)")

    def run(self, variables: int, results: int) -> tuple[list[str], list[Line]]:
        """The lines of `run` but for the `return`, and their origins."""
        lines = [f" s = [None] * {variables}", f" r = [None] * {results}", *self._calls]
        return lines, [NOWHERE] * len(lines)


def _places(names: Sequence[str]) -> list[str]:
    return [f"s[{name[1:]}]" for name in names]


class CompiledText:
    """A plan's function.

    Attributes:
        function: `run`.
        origins: of the lines of all functions.

    Args:
        functions: the source of each, with the origins of its lines; the last one is `run`.
        names: their globals.
        file: the name of the code.
    """

    __slots__ = ("function", "origins")

    def __init__(self, functions: Sequence[tuple[str, list[Line]]], names: dict[str, Any], file: str) -> None:
        made: list[FunctionType] = []
        for source, _ in functions:
            own: dict[str, Any] = {}
            exec(compile(source, file, "exec"), names, own)
            made += own.values()
        *parts, run = made
        if parts:
            run.__defaults__ = (tuple(parts),)
            # Once nothing runs it any more. Its parts are in a list as well, so that they end one by one.
            lines = [lines for _, lines in functions]
            weakref.finalize(run, large.discard, None, (), (names, *lines, parts)).atexit = False
        self.function: Callable[..., Any] = run
        self.origins = Origins(
            [(function.__code__, lines) for function, (_, lines) in zip(made, functions, strict=True)]
        )
