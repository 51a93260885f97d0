"""PlanWriter: writes the code of a plan's function, which `plan` describes, node by node."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet_service.devices.beside import Beside
from tensorfleet_service.devices.scope import Scope, Shared, gpu_number
from tensorfleet_service.devices.transfer import all_to_host, movers
from tensorfleet_service.executor.branches import SMALL, find_beside, starter
from tensorfleet_service.executor.compiled_text import MANY, CompiledText, Parts, is_large
from tensorfleet_service.executor.fusing import Group, find_groups, last_uses, write_group
from tensorfleet_service.executor.node_kernels import StatefulKernels, make_kernels
from tensorfleet_service.executor.patterns import find_patterns
from tensorfleet_service.executor.shared_operands import (
    SharedOperand,
    find_shared,
    packed_product,
    packer,
)
from tensorfleet_service.executor.statements import (
    NOWHERE,
    Line,
    as_string,
    assign,
    call_text,
    constant_on,
    delete,
    dereferences,
)
from tensorfleet_service.graph import large
from tensorfleet_service.kernels.registry import AsyncKernel, Expression
from tensorfleet_service.threads.future import Future

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.library import Library
    from tensorfleet_service.state.resources import Resources


SendTable = dict[int, str]
"""The task that the tensor of each edge goes to, "" for this task."""


class PlanWriter:
    """Writes the code of one partition."""

    def __init__(
        self,
        device: str,
        nodes: list[Node],
        resources: Resources,
        xp: ModuleType,
        send: SendTable,
        stateful: StatefulKernels,
        library: Library | None,
        scope: Scope | None = None,
    ) -> None:
        self.device = device
        self.nodes = nodes
        self.send = send
        self.globals: dict[str, Any] = {
            "xp": xp,
            "as_string": as_string,
            "Future": Future,
            "clock": time.time_ns,
        }
        self.moves = movers(xp)
        if self.moves is not None:
            assert scope is not None
            self.globals["to_host"], self.globals["all_to_host"] = self.moves[1], all_to_host(xp)
            self.globals["share"], self.globals["Shared"] = scope.share, Shared
            self.globals["outgoing"] = scope.outgoing
        self.constants: dict[int, Any] = {}
        """The values of Const nodes by position: on a device there is one copy for all forms of the code."""
        self.args: list[int] = []
        self.rets: list[int] = []
        for node in nodes:
            if node.op == "_Arg":
                self.args.append(int(node.attrs["index"]))
            elif node.op == "_Retval":
                self.rets.append(int(node.attrs["index"]))
        kernels = make_kernels(device, nodes, resources, xp, stateful, library)
        self.kernels: dict[int, Any] = {
            position: kernels[id(node)] for position, node in enumerate(nodes) if id(node) in kernels
        }
        self.waits = any(n.op == "_Recv" for n in nodes) or any(
            isinstance(kernel, AsyncKernel) for kernel in kernels.values()
        )
        self.groups: dict[int, Group | None] = {}
        """The group of elementwise nodes at its last position; None at its other positions."""
        groups = find_groups(nodes, self._may_wait, dereferences, xp)
        if xp is np:
            # An elementwise node by itself may be a pattern's root; with others it stays with them.
            taken = {position for group in groups if len(group.positions) > 1 for position in group.positions}
            groups += [
                group
                for group in find_patterns(nodes, self._may_wait, dereferences)
                if taken.isdisjoint(group.positions)
            ]
        for group in groups:
            self.groups.update(dict.fromkeys(group.positions))
            self.groups[group.positions[-1]] = group

        self.beside: set[int] = find_beside(nodes, self.groups) if xp is np and self.moves is None else set()
        """The positions of products that may be computed beside what follows."""
        self.shared: dict[int, SharedOperand] = (
            find_shared(nodes, {*self.groups, *self.beside}) if xp is np and self.moves is None else {}
        )
        """The operands that products share, by the positions of these."""

    def _may_wait(self, position: int) -> bool:
        return self.nodes[position].op == "_Recv" or isinstance(self.kernels.get(position), AsyncKernel)

    def containers(self) -> list[Any]:
        """What it has of each node."""
        return [self.globals, self.constants, self.kernels, self.groups, self.shared]

    def compile(self, traced: bool, instead: Mapping[int, Any] | None = None) -> CompiledText:
        """The function, and the origins of its lines; see `write`."""
        functions, names = self.write(traced, instead)
        return CompiledText(functions, names, f"<partition of {self.device}>")

    def write(
        self, traced: bool, instead: Mapping[int, Any] | None = None
    ) -> tuple[list[tuple[str, list[Line]]], dict[str, Any]]:
        """The sources of the functions, each with the origins of its lines, and their globals.

        Args:
            traced: whether each op's time is recorded; such ops are not fused.
            instead: other kernels for some positions. What the function returns is then left where it is.
        """
        text = _Text(self, traced, instead)
        for position, node in enumerate(self.nodes):
            text.add_node(position, node)
        functions = text.functions()
        text.end()
        return functions, text.names


class _Text:
    """The code of one partition while it is written, node by node.

    Attributes:
        names: the globals of the code.
    """

    def __init__(self, writer: PlanWriter, traced: bool, instead: Mapping[int, Any] | None) -> None:
        self.names = dict(writer.globals)
        self._writer = writer
        self._nodes = writer.nodes
        self._kernels = writer.kernels if instead is None else {**writer.kernels, **instead}
        self._moves = writer.moves
        self._stays = writer.moves is None or instead is not None
        self._traced = traced
        self._groups: dict[int, Group | None] = {} if traced else writer.groups
        self._beside: set[int] = set() if traced else writer.beside
        self._shared: dict[int, SharedOperand] = {} if traced else writer.shared
        self._packed: dict[SharedOperand, str] = {}  # the variables of those that have been packed
        self._ended: list[str] = []  # of these, the one that the node at hand is the last to take
        self._started: dict[str, Node] = {}  # the products that their variables may stand for
        self._last_use = last_uses(self._nodes, self._groups)
        self._body: list[str] = []
        self._lines: list[Line] = []
        self._parts = Parts(traced) if is_large(self._nodes, traced) else None
        self._waits = False  # whether these lines may
        self._slots: dict[tuple[int, int], str] = {}  # the variables of outputs
        self._free: dict[str, None] = {}  # the one that was freed last is taken first
        self._slots_made = 0
        self._fed = 0
        self._returned: dict[str, None] = {}
        self._returns: list[str] = []

    def functions(self) -> list[tuple[str, list[Line]]]:
        """The functions of the code, of which the last one is `run`, and the origins of their lines."""
        returned = self._returns
        values = f"({', '.join(returned)}{',' if returned else ''})"
        if self._parts is not None:
            self._end_part(self._parts)
            self._body, self._lines = self._parts.run(self._slots_made, len(self._writer.rets))
            values = "tuple(r)"
        end = f" return {values if self._stays else f'all_to_host({values})'}"
        head = "def run(t, a, p):" if self._parts else "def run(t, a):"
        whole = "\n".join((head, *self._body, end, ""))
        return [*(self._parts.made if self._parts else ()), (whole, [NOWHERE, NOWHERE, *self._lines])]

    def end(self) -> None:
        """Drops what it knows of each node."""
        large.empty(self._slots, self._last_use)

    def add_node(self, position: int, node: Node) -> None:
        """Adds the lines of a node; those of a group at its last node."""
        self._add_lines(position, node)
        if self._parts is not None and self._parts.is_full(self._body):
            self._end_part(self._parts)

    def _end_part(self, parts: Parts) -> None:
        parts.end(self._body, self._lines, self._has_value, self._waits)
        self._body, self._lines, self._waits = [], [], False

    def _has_value(self, name: str) -> bool:
        return name not in self._free and int(name[1:]) < self._slots_made

    def _add_lines(self, position: int, node: Node) -> None:
        if position in self._groups:
            group = self._groups[position]
            if group is not None:
                self._add_group(position, node, group)
        elif node.op == "Const":
            self._add_constant(position, node)
        elif node.op == "_Retval":
            self._add_return(position, node)
        elif node.op == "_Send":
            self._add_send(position, node)
        elif node.op == "_Arg":
            self._add_outputs(position, node, [], f"a[{self._fed}]")
            self._fed += 1
        elif node.op == "_Recv":
            self._waits = True
            received = f"(yield {int(node.attrs['_edge'])})"
            # From another GPU of the task comes a tensor that is still in that one's memory.
            taken = f"w.take() if isinstance(w := {received}, Shared) else w"
            self._add_outputs(position, node, [], received if self._moves is None else taken)
        elif node.op != "NoOp":
            self._add_kernel(position, node)

    def _add_group(self, position: int, node: Node, group: Group) -> None:
        self.names[f"f{position}"] = group.function
        self._take_started(self._slots[id(source), index] for source, index in group.inputs)
        self._release(write_group(group, self._nodes, self._slots, self._slot, self._add, self._call))
        dead = self._ending(position, group.inputs)
        dead += [self._slots[id(n), 0] for n in group.outputs if (id(n), 0) not in self._last_use]
        if dead:
            self._add(f" del {', '.join(dead)}", node, [])
        self._release(dead)

    def _add_constant(self, position: int, node: Node) -> None:
        constants = self._writer.constants
        if position not in constants:
            constants[position] = constant_on(node, self._moves)
        self.names[f"c{position}"] = constants[position]
        self._slots[id(node), 0] = f"c{position}"

    def _add_return(self, position: int, node: Node) -> None:
        inputs = self._inputs(node)
        if self._parts is not None:
            ending = self._ending(position, node.inputs)
            self._add(self._parts.returned(inputs[0]) + delete(ending), node, inputs)
            self._release(ending)
            return
        # A returned variable is not reused; a reference is read when its node runs.
        if inputs[0].endswith(")") or self._moves is not None:
            kept = self._slot()
            self._add(f" {kept} = {inputs[0]}", node, inputs)
        else:
            kept = inputs[0]
        self._returned[kept] = None
        self._returns.append(kept)

    def _add_send(self, position: int, node: Node) -> None:
        inputs = self._inputs(node)
        edge = int(node.attrs["_edge"])
        task = self._writer.send[edge]
        value = inputs[0]
        if self._moves is not None:
            target = gpu_number(node.attrs["recv_device"])
            if target is None:
                value = f"to_host({value})"
            else:
                value = f"outgoing({value}, {target})" if task else f"share({value})"
        call = f"t.push({task!r}, {edge}, {value})" if task else f"t.deliver(({edge},), ({value},))"
        ending = self._ending(position, node.inputs)
        self._add(self._timed(f" {call}", position, "None") + delete(ending), node, inputs)
        self._release(ending)

    def _add_kernel(self, position: int, node: Node) -> None:
        inputs = self._inputs(node)
        kernel = self._kernels[position]
        if isinstance(kernel, AsyncKernel):
            self.names[f"k{position}"] = kernel.function
            arguments = ", ".join(self._gathered(node, inputs))
            self._add(f" w = k{position}({arguments})", node, inputs)
            # The run is suspended only if the value is not there yet.
            self._waits = True
            self._add_outputs(position, node, inputs, "w if type(w) is not Future else (yield w)")
        else:
            text, expression = self._call(position, self._gathered(node, inputs))
            if position in self._beside:
                assert isinstance(kernel, Expression)
                product = eval(f"lambda x0, x1: {kernel.template.format('x0', 'x1')}", dict(kernel.names))
                self.names |= {"Beside": Beside, f"b{position}": starter(node, product)}
                text = f"({text}) if {inputs[0]}.size < {SMALL} else b{position}({', '.join(inputs)})"
            elif position in self._shared:
                text = self._by_packed(position, node, inputs, text)
            self._add_outputs(position, node, inputs, text, expression)
            if position in self._beside:
                self._started[self._slots[id(node), 0]] = node

    def _by_packed(self, position: int, node: Node, inputs: list[str], text: str) -> str:
        """The text of a product whose second operand is packed at the first of those that share it."""
        shared = self._shared[position]
        if position == shared.first:
            self._packed[shared] = self._slot()
            self.names[f"p{position}"] = packer(node)
            self._add(f" {self._packed[shared]} = p{position}({', '.join(inputs)})", node, inputs)
        name = self._packed[shared]
        self.names[f"m{position}"] = packed_product(node)
        text = f"({text}) if {name} is None else m{position}({', '.join(inputs)}, {name})"
        if position == shared.last:
            self._ended.append(name)
        return text

    def _add_outputs(
        self, position: int, node: Node, inputs: list[str], text: str, expression: Expression | None = None
    ) -> None:
        """Adds the line that computes a node's outputs, which reuse the variables of inputs that end here."""
        released = self._ending(position, node.inputs)
        outputs = []
        for index in range(len(node.output_types)):
            name = released.pop() if released else self._slot()
            outputs.append(name)
            self._slots[id(node), index] = name
        unused = [name for index, name in enumerate(outputs) if (id(node), index) not in self._last_use]
        if self._parts is not None and len(outputs) > MANY:
            spread = self._slot()
            self._add(self._timed(f" {spread} = {text}", position, f"{spread}[0]"), node, inputs, expression)
            self._spread(node, outputs, spread)
            self._end_values(node, [*released, *unused, *self._ended, spread])
        else:
            value = outputs[0] if outputs else "None"
            statement = self._timed(assign(node.output_types, outputs, text), position, value)
            self._add(statement, node, inputs, expression)
            self._end_values(node, released + unused + self._ended)
        self._ended.clear()

    def _add(
        self, statement: str, node: Node, inputs: list[str], expression: Expression | None = None
    ) -> None:
        self._body.append(statement)
        self._lines.append((node, inputs, expression))

    def _slot(self) -> str:
        """A free variable."""
        if self._free:
            return self._free.popitem()[0]
        self._slots_made += 1
        return f"v{self._slots_made - 1}"

    def _release(self, names: Iterable[str]) -> None:
        """Lets other values reuse variables."""
        self._free |= dict.fromkeys(names)

    def _take_started(self, names: Iterable[str]) -> None:
        """Adds the lines in which values are taken that were computed beside."""
        for name in dict.fromkeys(names):
            node = self._started.pop(name, None)
            if node is not None:
                self._add(f" if type({name}) is Beside: {name} = {name}.get()", node, [])

    def _inputs(self, node: Node) -> list[str]:
        self._take_started(self._slots[id(source), index] for source, index in node.inputs)
        return [
            self._slots[id(source), index] + (".read()" if dereferences(node, i) else "")
            for i, (source, index) in enumerate(node.inputs)
        ]

    def _ending(self, position: int, inputs: Iterable[tuple[Node, int]]) -> list[str]:
        """The variables that are not read after this node, except constants and returned ones."""
        found = dict.fromkeys(
            self._slots[id(source), index]
            for source, index in inputs
            if self._last_use[id(source), index] == position and self._slots[id(source), index][0] == "v"
        )
        return [name for name in found if name not in self._returned]

    def _call(self, position: int, inputs: list[str]) -> tuple[str, Expression | None]:
        return call_text(self._kernels[position], position, inputs, self.names)

    # Nodes with many inputs or outputs, which are in several lines, and so in several parts

    def _gathered(self, node: Node, inputs: list[str]) -> list[str]:
        """The arguments of a call: many inputs become a list first."""
        if self._parts is None or len(inputs) <= MANY:
            return inputs
        name = self._slot()
        self._add_line(f" {name} = []", node)
        for begin in range(0, len(inputs), MANY):
            self._add_line(f" {name} += ({', '.join(inputs[begin : begin + MANY])},)", node)
        self._ended.append(name)
        return [f"*{name}"]

    def _spread(self, node: Node, outputs: list[str], name: str) -> None:
        """Assigns many outputs, which are in one variable."""
        types = node.output_types
        for begin in range(0, len(outputs), MANY):
            names = outputs[begin : begin + MANY]
            taken = f"{name}[{begin}:{begin + MANY}]" if len(names) > 1 else f"{name}[{begin}]"
            self._add_line(assign(types[begin : begin + MANY], names, taken), node)

    def _end_values(self, node: Node, names: list[str]) -> None:
        """Drops the values of variables after the last line, and lets other values reuse these."""
        first = 0
        if self._body:
            self._body[-1] += delete(names[:MANY])
            self._release(names[:MANY])
            first = MANY
        for begin in range(first, len(names), MANY):
            ending = names[begin : begin + MANY]
            self._add(f" del {', '.join(ending)}", node, [])
            self._release(ending)
            if self._parts is not None and self._parts.is_full(self._body):
                self._end_part(self._parts)

    def _add_line(self, statement: str, node: Node) -> None:
        """Adds a line after which the part may end."""
        self._add(statement, node, [])
        if self._parts is not None and self._parts.is_full(self._body):
            self._end_part(self._parts)

    def _timed(self, statement: str, position: int, value: str) -> str:
        if not self._traced:
            return statement
        self.names[f"n{position}"] = self._nodes[position]
        return f" q = clock();{statement}; t.trace(n{position}, q, clock(), {value})"
