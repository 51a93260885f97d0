"""Writing the code of one loop and of those in it; see `loops`.

For

    tf.while_loop(
        lambda i, x: i < 10,
        lambda i, x: (i + 1, tf.cond(x > 0, lambda: x * 2.0, lambda: x + 1.0)),
        [i, x])

`Writer` writes this code, without the comments:

    def run(t, a):
     v0, v1, = a; a.clear()                    # the values that enter
     N[0] += 1                                 # counts the ops outside of the iterations
     v2 = v0                                   # the loop's variables, v2 and v3, have names of their own
     v3 = v1
     v0 = v1 = None                            # free variables are reused
     while True:
      if t.error is not None: raise t.error    # a step that fails ends an infinite loop
      N[1] += 1                                # counts the ops of the condition
      v1 = v2 < c0
      if not v1: break
      N[2] += 1                                # counts the ops of the body
      v1 = None
      v1 = v2 + c2
      v2 = None                                # its last use
      v0 = v3 > c4
      if not v0:                               # a Switch; its guard has the items of a branch
       N[3] += 1
       v4 = v3 + c6
       v5 = v4                                 # a Merge: either branch gives it a value
       v4 = None
      else:
       N[4] += 1
       v4 = v3 * c8
       v3 = None
       v5 = v4
       v4 = v0 = None
      v3 = v0 = None                           # the branch that does not use them has kept them
      v2, v3 = v1, v5                          # NextIteration: all variables at once
      v1 = v5 = None
     v1 = None
     return (v2, v3)                           # Exit

`t` is the step, `a` the list of the values that enter, and each number in `N` counts nodes that run together.
As in a plan, each line belongs to one node, constants (`c0`) and kernels are globals, and no value outlives
its last use. A nested loop becomes a nested `while`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.executor.loop_items import ALIASES, Item, Items, Key
from tensorfleet_service.executor.loop_shape import SWITCHES, Guard, Loop, Unstructured
from tensorfleet_service.executor.statements import (
    Line,
    as_string,
    assign,
    call_text,
    constant_value,
    dereferences,
)

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

_MAX_NESTED = 15  # limit on nested loops; Python's is 20
_MAX_INDENT = 80  # limit on nested blocks; Python's is 100

_OWN, _VARIABLE, _OUTER = range(3)


class _Value:
    """A variable of the code that holds an output of a node."""

    __slots__ = ("guard", "in_body", "kind", "name")

    def __init__(self, name: str, guard: Guard, in_body: bool, kind: int) -> None:
        self.name = name
        self.guard = guard
        self.in_body = in_body
        self.kind = kind  # of one iteration, a variable of the loop, or from outside


class Writer:
    """Writes the function of a loop.

    Attributes:
        text, lines: the lines of the code, and the origin of each.
        names: its globals, without the list `N`.
        counted: the nodes that are counted by each number in `N`.
    """

    def __init__(self, xp: ModuleType, kernels: dict[int, Any]) -> None:
        self.names: dict[str, Any] = {"xp": xp, "as_string": as_string, "I0": np.int32(0), "I1": np.int32(1)}
        self.text: list[str] = []
        self.lines: list[Line] = [(None, [], None)]
        self.counted: list[list[Node]] = []
        self._nested = 0
        self._kernels = kernels
        self._moves = movers(xp)
        self._free: list[str] = []
        self._used = 0
        self._numbers: dict[int, int] = {}

    def write(self, loop: Loop) -> None:
        """Writes the function. Raises Unstructured if the loop does not have tf.while_loop's form."""
        self.add(0, "def run(t, a):")
        entered = [self.fresh() for _ in loop.enters]
        self.add(1, f"{', '.join(entered)}, = a; a.clear()")
        self.begin_block(1, [*loop.enters, *loop.exits])
        left = self.loop(loop, entered, entered, 1)
        self.add(1, f"return {left[0] if len(left) == 1 else '(' + ', '.join(left) + ')'}")

    def loop(self, loop: Loop, entered: list[str], ending: Sequence[str], indent: int) -> list[str]:
        """Writes a loop; returns the variables of the values that leave it, all different.

        Args:
            entered: the variables of the values that enter it.
            ending: those of them that are not needed after the loop.
        """
        if self._nested >= _MAX_NESTED or indent > _MAX_INDENT:
            raise Unstructured
        self._nested += 1
        left = _LoopWriter(self, loop, indent).write(entered, ending)
        self._nested -= 1
        return left

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
        self.add(indent, assign(node, outputs, text)[1:], node, inputs, expression)

    def constant(self, node: Node) -> str:
        name = f"c{self._number(node)}"
        if name not in self.names:
            value = constant_value(node)
            self.names[name] = value if self._moves is None else self._moves[0](value)
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


class _LoopWriter:
    """Writes one loop."""

    def __init__(self, writer: Writer, loop: Loop, indent: int) -> None:
        self._writer = writer
        self._loop = loop
        self._items = Items(loop)
        self._base = indent
        self._values: dict[Key, _Value] = {}
        self._path: Guard = ()
        self._opened_by_if: list[bool] = []  # for each branch of the path, whether by `if` or by `else`
        # The branch that has just ended, and the number of lines then: `else` may follow there.
        self._closed: tuple[Guard, int] = (), -1
        # Values to be freed when branches have ended: the depth, the variable, whether it may be reused.
        self._pending: list[tuple[int, str, bool]] = []
        self._early: list[str] = []  # variables that the body does not use
        self._after: list[
            str
        ] = []  # variables that are set after the last iteration, whose body does not run
        self._nodes: dict[Guard, list[Node]] = {}  # counted nodes of the condition or of the body
        self._begun: set[Guard] = set()

    def write(self, entered: list[str], ending: Sequence[str]) -> list[str]:
        """See `Writer.loop`."""
        writer, items, base = self._writer, self._items, self._base
        shared, variables, kept = self._enter(entered)
        writer.clear(base, [name for name in dict.fromkeys(ending) if name not in shared], give=True)
        writer.add(base, "while True:")
        writer.add(base + 1, "if t.error is not None: raise t.error")
        self._begin_part(self._loop.variables)
        self._write_items(items.condition, 0)
        condition = items.guards.condition
        writer.add(base + 1, f"if not {self._name(condition, 0)}: break", condition)
        self._begin_part(())
        test = len(items.condition)
        self._end_values(test, self._early)
        self._write_items(items.body, test + 1)
        self._next_iteration()
        return self._exit(variables, kept + [name for name in ending if name in shared])

    # The parts of a loop

    def _enter(self, entered: list[str]) -> tuple[set[str], list[str], list[str]]:
        """The variables of values that all iterations share, those of the loop, and those made for it."""
        writer, loop = self._writer, self._loop
        names = dict(zip(map(id, loop.enters), entered, strict=True))
        shared = set()
        made = []
        for node in loop.enters:
            if not node.attrs["is_constant"]:
                continue
            name = names[id(node)]
            if dereferences(node, 0):
                name = writer.slot()
                writer.add(self._base, f"{name} = {names[id(node)]}.read()", node)
                made.append(name)
            else:
                shared.add(name)
            self._values[id(node), 0] = _Value(name, (), False, _OUTER)
        variables = []
        for variable in loop.variables:
            node = variable.inputs[0][0]
            read = ".read()" if dereferences(node, 0) else ""
            name = writer.slot()
            writer.add(self._base, f"{name} = {names[id(node)]}{read}", node)
            self._values[id(variable), 0] = _Value(name, (), False, _VARIABLE)
            variables.append(name)
        return shared, variables, made

    def _begin_part(self, nodes: Sequence[Node]) -> None:
        """Begins the condition's part or the body's part."""
        self._nodes = {(): list(nodes)}
        self._begun = {()}
        self._writer.begin_block(self._base + 1, self._nodes[()])

    def _next_iteration(self) -> None:
        names = [
            (self._name(variable, 0), self._name(*variable.inputs[1])) for variable in self._loop.variables
        ]
        names = [(old, new) for old, new in names if old != new]
        if names:
            old, new = zip(*names, strict=True)
            self._writer.add(self._base + 1, f"{', '.join(old)} = {', '.join(new)}")
        self._end_values(self._items.at_end, [])

    def _exit(self, variables: list[str], ending: list[str]) -> list[str]:
        """Writes the code after the loop; returns the variables of the values that leave it."""
        writer, items, base = self._writer, self._items, self._base
        left: list[str] = []
        copied: list[str] = []
        copies: list[str] = []
        for node in self._loop.exits:
            name = self._name(*node.inputs[0])
            if name not in variables or name in left:
                copied.append(name)
                copies.append(writer.fresh())
                name = copies[-1]
            left.append(name)
        if copies:
            writer.add(base, f"{', '.join(copies)} = {', '.join(copied)}")
        own = [self._values[key] for key in items.ended.get(items.at_exit, ()) if key in self._values]
        ending += [value.name for value in own if value.kind == _OWN]
        ending += [name for name in variables if name not in left]
        writer.clear(base, list(dict.fromkeys(name for name in self._after if name not in ending)))
        writer.clear(base, list(dict.fromkeys(ending)), give=True)
        return left

    # Names

    def _name(self, source: Node, index: int) -> str:
        key = self._items.origin(source, index)
        constant = self._items.constants.get(key[0])
        if constant is not None:
            return self._writer.constant(constant)
        value = self._values.get(key)
        if value is None:
            raise Unstructured
        return value.name

    def _define(self, node: Node, index: int, item: Item, guard: Guard) -> str:
        name = self._writer.slot()
        self._values[id(node), index] = _Value(name, guard, item.in_body, _OWN)
        return name

    # Items

    def _write_items(self, items: list[Item], first: int) -> None:
        for position, item in enumerate(items, first):
            if item.branch is None:
                nodes = self._nodes.setdefault(item.guard, [])
                nodes += [item.node] if item.loop is None else item.loop.enters + item.loop.exits
            if not item.writes:
                continue
            self._go_to(item.guard)
            if item.loop is not None:
                self._write_loop(item, item.loop, position)
            elif item.branch is not None:
                self._write_branch(item, item.node, item.branch, position)
            else:
                self._write_node(item, item.node, position)
        self._go_to(())

    def _write_node(self, item: Item, node: Node, position: int) -> None:
        writer, indent = self._writer, self._indent
        inputs = [
            self._name(source, index) + (".read()" if dereferences(node, i) else "")
            for i, (source, index) in enumerate(node.inputs)
        ]
        ended, cleared = self._ended(item, position)
        writer.give(ended)
        if node.op in SWITCHES or node.op in ALIASES:
            name = self._define(node, 0, item, item.guard)
            writer.add(indent, f"{name} = {inputs[0]}", node, inputs)
            outputs = [name]
        else:
            outputs = [self._define(node, i, item, item.guard) for i in range(len(node.output_types))]
            writer.compute(indent, node, inputs, outputs)
        unused = [name for i, name in enumerate(outputs) if (id(node), i) not in self._items.used]
        writer.clear(indent, [name for name in ended if name not in outputs] + cleared + unused)
        writer.give(unused)

    def _write_branch(self, item: Item, node: Node, branch: int, position: int) -> None:
        """Writes one of the two values of a Merge."""
        guard = self._items.guards.of(node)
        guard = guard[1:] if item.in_body else guard
        (source, index), used = node.inputs[branch], self._items.used
        text = self._name(source, index) + (".read()" if dereferences(node, branch) else "")
        for output, value in enumerate((text, f"I{branch}")):
            key = id(node), output
            if key in used:
                known = self._values.get(key)
                name = self._define(node, output, item, guard) if known is None else known.name
                self._writer.add(self._indent, f"{name} = {value}", node, [text])
        ended, cleared = self._ended(item, position)
        self._writer.clear(self._indent, ended + cleared)
        self._writer.give(ended)

    def _write_loop(self, item: Item, loop: Loop, position: int) -> None:
        entered = [self._name(*enter.inputs[0]) for enter in loop.enters]
        ended, cleared = self._ended(item, position)
        left = self._writer.loop(loop, entered, ended, self._indent)
        unused = []
        for node, name in zip(loop.exits, left, strict=True):
            self._values[id(node), 0] = _Value(name, item.guard, item.in_body, _OWN)
            if (id(node), 0) not in self._items.used:
                unused.append(name)
        self._writer.clear(self._indent, unused, give=True)
        self._writer.clear(self._indent, cleared)

    # Branches

    @property
    def _indent(self) -> int:
        return self._base + 1 + len(self._path)

    def _go_to(self, guard: Guard) -> None:
        """Ends and begins branches, to get to a guard."""
        while self._path != guard[: len(self._path)]:
            self._closed = (), -1
            if self._opened_by_if.pop():
                self._closed = self._path, len(self._writer.text)
            self._path = self._path[:-1]
            self._free_pending()
        for edge, branch in guard[len(self._path) :]:
            opened = (*self._path, (edge, branch))
            is_else = self._closed == ((*self._path, (edge, 1 - branch)), len(self._writer.text))
            self._opened_by_if.append(not is_else)
            if is_else:
                self._writer.add(self._indent, "else:")
            else:
                name = self._name(*edge)
                self._writer.add(self._indent, f"if {name}:" if branch else f"if not {name}:", edge[0])
            self._path = opened
            if opened in self._begun:
                self._writer.add(self._indent, "pass")
            else:
                self._begun.add(opened)
                self._writer.begin_block(self._indent, self._nodes.setdefault(opened, []))

    # Ends

    def _ended(self, item: Item, position: int) -> tuple[list[str], list[str]]:
        """The variables whose last use is at a position: free ones, and those whose value must be dropped."""
        ended: list[str] = []
        cleared: list[str] = []
        for key in self._items.ended.get(position, ()):
            value = self._values.get(key)
            if value is None or value.kind == _OUTER:
                continue
            if item.in_body and not value.in_body and value.kind == _OWN:
                self._after.append(value.name)
            if value.kind == _VARIABLE and not item.in_body:
                self._early.append(value.name)  # its value may leave the loop
                continue
            if value.kind == _OWN and value.guard == item.guard:
                ended.append(value.name)
                continue
            cleared.append(value.name)
            if value.guard != item.guard:
                self._pending.append((len(value.guard), value.name, value.kind == _OWN))
        return ended, cleared

    def _end_values(self, position: int, cleared: list[str]) -> None:
        """Frees variables, and the values whose last use is at a position between items."""
        values = [self._values[key] for key in self._items.ended.get(position, ()) if key in self._values]
        own = [value for value in values if value.kind == _OWN]
        self._after += [value.name for value in own if not value.in_body]
        names = [value.name for value in own]
        self._writer.clear(self._base + 1, names + cleared)
        self._writer.give(names)

    def _free_pending(self) -> None:
        """Frees values from outside of a branch whose last use was in it, whichever branch was taken."""
        depth = len(self._path)
        ending = [entry for entry in self._pending if entry[0] == depth]
        if ending:
            self._pending = [entry for entry in self._pending if entry[0] != depth]
            self._writer.clear(self._indent, list(dict.fromkeys(name for _, name, _ in ending)))
            self._writer.give([name for _, name, own in ending if own])
