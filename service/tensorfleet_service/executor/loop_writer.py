"""Writing the code of one loop and of those in it; see `loops`.

For

    tf.while_loop(
        lambda i, x: i < 10,
        lambda i, x: (i + 1, tf.cond(x > 0, lambda: x * 2.0, lambda: x + 1.0)),
        [i, x])

`write_function` writes this code, without the comments:

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
from typing import TYPE_CHECKING

from tensorfleet_service.executor.loop_code import LoopCode
from tensorfleet_service.executor.loop_items import ALIASES, Item, Items, Key
from tensorfleet_service.executor.loop_shape import SWITCHES, Guard, Loop, Unstructured
from tensorfleet_service.executor.statements import dereferences

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


def write_function(code: LoopCode, loop: Loop) -> None:
    """Writes the function of a loop. Raises Unstructured if it does not have tf.while_loop's form."""
    code.add(0, "def run(t, a):")
    entered = [code.fresh() for _ in loop.enters]
    code.add(1, f"{', '.join(entered)}, = a; a.clear()")
    code.begin_block(1, [*loop.enters, *loop.exits])
    left = _write_loop(code, loop, entered, entered, 1)
    code.add(1, f"return {left[0] if len(left) == 1 else '(' + ', '.join(left) + ')'}")


def _write_loop(
    code: LoopCode, loop: Loop, entered: list[str], ending: Sequence[str], indent: int
) -> list[str]:
    """Writes a loop; returns the variables of the values that leave it, all different.

    Args:
        entered: the variables of the values that enter it.
        ending: those of them that are not needed after the loop.
    """
    if code.nested >= _MAX_NESTED or indent > _MAX_INDENT:
        raise Unstructured
    code.nested += 1
    left = _LoopWriter(code, loop, indent).write(entered, ending)
    code.nested -= 1
    return left


class _LoopWriter:
    """Writes one loop."""

    def __init__(self, code: LoopCode, loop: Loop, indent: int) -> None:
        self._code = code
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
        self._after: list[str] = []  # variables set after the last iteration, whose body does not run
        self._nodes: dict[Guard, list[Node]] = {}  # counted nodes of the condition or of the body
        self._begun: set[Guard] = set()

    def write(self, entered: list[str], ending: Sequence[str]) -> list[str]:
        """See `_write_loop`."""
        code, items, base = self._code, self._items, self._base
        shared, variables, kept = self._enter(entered)
        code.clear(base, [name for name in dict.fromkeys(ending) if name not in shared], give=True)
        code.add(base, "while True:")
        code.add(base + 1, "if t.error is not None: raise t.error")
        self._begin_part(self._loop.variables)
        self._write_items(items.condition, 0)
        condition = items.guards.condition
        code.add(base + 1, f"if not {self._name(condition, 0)}: break", condition)
        self._begin_part(())
        test = len(items.condition)
        self._end_values(test, self._early)
        self._write_items(items.body, test + 1)
        self._next_iteration()
        return self._exit(variables, kept + [name for name in ending if name in shared])

    # The parts of a loop

    def _enter(self, entered: list[str]) -> tuple[set[str], list[str], list[str]]:
        """The variables of values that all iterations share, those of the loop, and those made for it."""
        code, loop = self._code, self._loop
        names = dict(zip(map(id, loop.enters), entered, strict=True))
        shared = set()
        made = []
        for node in loop.enters:
            if not node.attrs["is_constant"]:
                continue
            name = names[id(node)]
            if dereferences(node, 0):
                name = code.slot()
                code.add(self._base, f"{name} = {names[id(node)]}.read()", node)
                made.append(name)
            else:
                shared.add(name)
            self._values[id(node), 0] = _Value(name, (), False, _OUTER)
        variables = []
        for variable in loop.variables:
            node = variable.inputs[0][0]
            read = ".read()" if dereferences(node, 0) or dereferences(variable, 0) else ""
            name = code.slot()
            code.add(self._base, f"{name} = {names[id(node)]}{read}", node)
            self._values[id(variable), 0] = _Value(name, (), False, _VARIABLE)
            variables.append(name)
        return shared, variables, made

    def _begin_part(self, nodes: Sequence[Node]) -> None:
        """Begins the condition's part or the body's part."""
        self._nodes = {(): list(nodes)}
        self._begun = {()}
        self._code.begin_block(self._base + 1, self._nodes[()])

    def _next_iteration(self) -> None:
        names = [(self._name(variable, 0), self._input(variable, 1)) for variable in self._loop.variables]
        names = [(old, new) for old, new in names if old != new]
        if names:
            old, new = zip(*names, strict=True)
            self._code.add(self._base + 1, f"{', '.join(old)} = {', '.join(new)}")
        self._end_values(self._items.at_end, [])

    def _exit(self, variables: list[str], ending: list[str]) -> list[str]:
        """Writes the code after the loop; returns the variables of the values that leave it."""
        code, items, base = self._code, self._items, self._base
        left: list[str] = []
        copied: list[str] = []
        copies: list[str] = []
        for node in self._loop.exits:
            name = self._input(node, 0)
            if name not in variables or name in left:
                copied.append(name)
                copies.append(code.fresh())
                name = copies[-1]
            left.append(name)
        if copies:
            code.add(base, f"{', '.join(copies)} = {', '.join(copied)}")
        own = [self._values[key] for key in items.ended.get(items.at_exit, ()) if key in self._values]
        ending += [value.name for value in own if value.kind == _OWN]
        ending += [name for name in variables if name not in left]
        code.clear(base, list(dict.fromkeys(name for name in self._after if name not in ending)))
        code.clear(base, list(dict.fromkeys(ending)), give=True)
        return left

    # Names

    def _name(self, source: Node, index: int) -> str:
        key = self._items.origin(source, index)
        constant = self._items.constants.get(key[0])
        if constant is not None:
            return self._code.constant(constant)
        value = self._values.get(key)
        if value is None:
            raise Unstructured
        return value.name

    def _input(self, node: Node, index: int) -> str:
        """The code for an input of a node, which may take the value of a variable."""
        return self._name(*node.inputs[index]) + (".read()" if dereferences(node, index) else "")

    def _define(self, node: Node, index: int, item: Item, guard: Guard) -> str:
        name = self._code.slot()
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
        code, indent = self._code, self._indent
        inputs = [self._input(node, i) for i in range(len(node.inputs))]
        ended, cleared = self._ended(item, position)
        code.give(ended)
        if node.op in SWITCHES or node.op in ALIASES:
            name = self._define(node, 0, item, item.guard)
            code.add(indent, f"{name} = {inputs[0]}", node, inputs)
            outputs = [name]
        else:
            outputs = [self._define(node, i, item, item.guard) for i in range(len(node.output_types))]
            code.compute(indent, node, inputs, outputs)
        unused = [name for i, name in enumerate(outputs) if (id(node), i) not in self._items.used]
        code.clear(indent, [name for name in ended if name not in outputs] + cleared + unused)
        code.give(unused)

    def _write_branch(self, item: Item, node: Node, branch: int, position: int) -> None:
        """Writes one of the two values of a Merge."""
        guard = self._items.guards.of(node)
        guard = guard[1:] if item.in_body else guard
        used = self._items.used
        text = self._input(node, branch)
        for output, value in enumerate((text, f"I{branch}")):
            key = id(node), output
            if key in used:
                known = self._values.get(key)
                name = self._define(node, output, item, guard) if known is None else known.name
                self._code.add(self._indent, f"{name} = {value}", node, [text])
        ended, cleared = self._ended(item, position)
        self._code.clear(self._indent, ended + cleared)
        self._code.give(ended)

    def _write_loop(self, item: Item, loop: Loop, position: int) -> None:
        entered = [self._name(*enter.inputs[0]) for enter in loop.enters]
        ended, cleared = self._ended(item, position)
        left = _write_loop(self._code, loop, entered, ended, self._indent)
        unused = []
        for node, name in zip(loop.exits, left, strict=True):
            self._values[id(node), 0] = _Value(name, item.guard, item.in_body, _OWN)
            if (id(node), 0) not in self._items.used:
                unused.append(name)
        self._code.clear(self._indent, unused, give=True)
        self._code.clear(self._indent, cleared)

    # Branches

    @property
    def _indent(self) -> int:
        return self._base + 1 + len(self._path)

    def _go_to(self, guard: Guard) -> None:
        """Ends and begins branches, to get to a guard."""
        while self._path != guard[: len(self._path)]:
            self._closed = (), -1
            if self._opened_by_if.pop():
                self._closed = self._path, len(self._code.text)
            self._path = self._path[:-1]
            self._free_pending()
        for edge, branch in guard[len(self._path) :]:
            opened = (*self._path, (edge, branch))
            is_else = self._closed == ((*self._path, (edge, 1 - branch)), len(self._code.text))
            self._opened_by_if.append(not is_else)
            if is_else:
                self._code.add(self._indent, "else:")
            else:
                name = self._name(*edge)
                self._code.add(self._indent, f"if {name}:" if branch else f"if not {name}:", edge[0])
            self._path = opened
            if opened in self._begun:
                self._code.add(self._indent, "pass")
            else:
                self._begun.add(opened)
                self._code.begin_block(self._indent, self._nodes.setdefault(opened, []))

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
        self._code.clear(self._base + 1, names + cleared)
        self._code.give(names)

    def _free_pending(self) -> None:
        """Frees values from outside of a branch whose last use was in it, whichever branch was taken."""
        depth = len(self._path)
        ending = [entry for entry in self._pending if entry[0] == depth]
        if ending:
            self._pending = [entry for entry in self._pending if entry[0] != depth]
            self._code.clear(self._indent, list(dict.fromkeys(name for _, name, _ in ending)))
            self._code.give([name for _, name, own in ending if own])
