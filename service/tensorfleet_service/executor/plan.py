"""From a partition to a function: one Python statement per node, a local variable per live tensor.

The generated code of `y = (x + 300) + (x - 66)`, with x fed and the last part on another task, is

    def run(t, a):
        v0 = a[0]
        t.send(0, v0)
        v0 = v0 + c1
        v1 = yield 1
        v0 = v0 + v1
        return (v0,)

`t` is the step on this task, `a` the fed values, `c1` and kernels are globals of the code. A variable is
overwritten or deleted at its last use, so a tensor lives no longer than it must. A partition that waits for
nothing becomes a plain function. One that receives, or that has an op that may have to wait for other steps,
becomes a generator: it yields an edge's number where the tensor has to come from another device, or a Future
where a queue has no element yet, and the step resumes it with the value, from whichever thread brings it.

Line n of the code is made of one node, so an exception is traced to its node at no cost to the code itself.

Elementwise ops that follow each other are written twice: as one call for large arrays (see `fusing`), and op
by op for all that this call leaves alone:

        if v0.size < 200000 or (q := f2(v0, c1)) is None:
         v1 = v0 * c1
         v1 = v1 + c1
        else:
         v1, = q; del q
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.executor.fusing import Group, find_groups, last_uses, write_group
from tensorfleet_service.executor.statements import (
    Line,
    as_string,
    assign,
    call_text,
    constant_value,
    delete,
    dereferences,
    explain,
)
from tensorfleet_service.kernels import registry
from tensorfleet_service.kernels.registry import ALL, AsyncKernel, Expression, KernelNode
from tensorfleet_service.threads.future import Future
from tensorfleet_service.tracing.timed import Timed

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.library import Library
    from tensorfleet_service.state.resources import Resources


class Plan(Timed):
    """A compiled partition.

    Attributes:
        device: the device that it runs on.
        function: the generated function of (step, fed values), or generator function where `waits`.
        waits: whether it receives tensors from other devices.
        args: which of the step's fed values it takes, in order.
        rets: which of the step's fetches it returns, in order.
    """

    __slots__ = (
        "_code",
        "_lines",
        "_traced",
        "_writer",
        "args",
        "device",
        "function",
        "rets",
        "waits",
    )

    def __init__(
        self,
        device: str,
        nodes: list[Node],
        resources: Resources,
        xp: ModuleType,
        send: SendTable,
        stateful: StatefulKernels | None = None,
        library: Library | None = None,
    ) -> None:
        """Compiles nodes for one device.

        Args:
            resources: variables and other state of the task.
            send: where the tensors of `_Send` nodes go.
            stateful: the kernels of stateful ops that the session has already; gets those that are made.
            library: the functions that nodes may call.
        """
        writer = _Writer(device, nodes, resources, xp, send, {} if stateful is None else stateful, library)
        super().__init__(nodes)
        self.device = device
        self.args = writer.args
        self.rets = writer.rets
        self.waits = writer.waits
        self.function, self._code, self._lines = writer.compile(traced=False)
        self._writer = writer
        self._traced: tuple[Callable[..., Any], CodeType, list[Line]] | None = None

    @property
    def source(self) -> str:
        """The generated code, for people: written anew each time."""
        return self._writer.write(traced=False)[0]

    def traced(self) -> tuple[Callable[..., Any], Callable[[BaseException], errors.OpError]]:
        """The function that also calls `t.trace(node, start_ns, end_ns, value)`, and its `explain`."""
        # A second compilation, with clocks, is made only when somebody asks for a trace.
        found = self._traced
        if found is None:
            found = self._traced = self._writer.compile(traced=True)
        function, code, lines = found
        return function, lambda e: explain(e, code, lines)

    def node_at(self, frame: FrameType) -> Node | None:
        """The node whose line a frame is at; None if it is not one of this plan's function."""
        traced = self._traced
        for code, lines in ((self._code, self._lines), traced[1:] if traced else (None, [])):
            if frame.f_code is code and 0 < frame.f_lineno < len(lines):
                return lines[frame.f_lineno][0]
        return None

    def explain(self, error: BaseException) -> errors.OpError:
        """The error to report for an exception that left the function, with the node's name in it."""
        return explain(error, self._code, self._lines)


SendTable = dict[int, str]
"""From an edge to the task that its tensor goes to, "" for this task."""

StatefulKernels = dict[tuple[str, str], Any]
"""From a device and the name of a node to its kernel: a random op goes on where another signature's step left
it.
"""

_WITHOUT_KERNEL = frozenset(("_Arg", "_Retval", "_Send", "_Recv", "Const", "NoOp"))


class _Writer:
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
    ) -> None:
        self.device = device
        self.nodes = nodes
        self.send = send
        self.globals: dict[str, Any] = {"xp": xp, "S": as_string, "W": Future, "clock": time.time_ns}
        self.moves = movers(xp)
        if self.moves is not None:
            self.globals["D"], self.globals["H"] = self.moves
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
        """A group of elementwise nodes by its last position; None for its others."""
        if xp is np:
            for group in find_groups(nodes, self._may_wait, dereferences):
                self.groups.update(dict.fromkeys(group.positions))
                self.groups[group.positions[-1]] = group

    def _may_wait(self, position: int) -> bool:
        return self.nodes[position].op == "_Recv" or isinstance(self.kernels.get(position), AsyncKernel)

    def compile(self, traced: bool) -> tuple[Callable[..., Any], CodeType, list[Line]]:
        """The function, its code, and what each of its lines is made of."""
        source, names, lines = self.write(traced)
        exec(compile(source, f"<partition of {self.device}>", "exec"), names)
        function = names["run"]
        return function, function.__code__, lines

    def write(self, traced: bool) -> tuple[str, dict[str, Any], list[Line]]:
        """The source, its globals, and what each of its lines is made of; traced ops are not put together."""
        groups: dict[int, Group | None] = {} if traced else self.groups
        last_use = last_uses(self.nodes, groups)
        body: list[str] = []
        lines: list[Line] = [
            (None, [], None),
            (None, [], None),
        ]  # line numbers start at 1; line 1 is the def
        slots: dict[tuple[int, int], str] = {}
        free: list[str] = []
        used = 0
        names = dict(self.globals)
        arg = 0
        rets: list[str] = []

        def slot() -> str:
            nonlocal used
            if free:
                return free.pop()
            used += 1
            return f"v{used - 1}"

        def add(statement: str, node: Node, inputs: list[str], expression: Expression | None = None) -> None:
            body.append(statement)
            lines.append((node, inputs, expression))

        def timed(statement: str, position: int, value: str) -> str:
            if not traced:
                return statement
            names[f"n{position}"] = self.nodes[position]
            return f" q = clock();{statement}; t.trace(n{position}, q, clock(), {value})"

        def kernel_text(position: int, inputs: list[str]) -> tuple[str, Expression | None]:
            return call_text(self.kernels[position], position, inputs, names)

        for position, node in enumerate(self.nodes):
            if node.op == "NoOp":
                continue
            if position in groups:
                group = groups[position]
                if group is not None:
                    names[f"f{position}"] = group.function
                    free += write_group(group, self.nodes, slots, slot, add, kernel_text)
                    ending = dict.fromkeys(
                        slots[id(source), index]
                        for source, index in group.inputs
                        if last_use[id(source), index] == position and slots[id(source), index][0] == "v"
                    )
                    dead = [name for name in ending if name not in rets]
                    dead += [slots[id(n), 0] for n in group.outputs if (id(n), 0) not in last_use]
                    if dead:
                        add(f" del {', '.join(dead)}", node, [])
                    free += dead
                continue
            if node.op == "Const":
                name = f"c{position}"
                value = constant_value(node)
                names[name] = value if self.moves is None else self.moves[0](value)
                slots[id(node), 0] = name
                continue
            inputs = [
                slots[id(source), index] + (".read()" if dereferences(node, i) else "")
                for i, (source, index) in enumerate(node.inputs)
            ]
            ending = dict.fromkeys(
                slots[id(source), index]
                for source, index in node.inputs
                if last_use[id(source), index] == position and slots[id(source), index][0] == "v"
            )
            if node.op == "_Retval":
                # A slot that is returned is not given to others; a reference is read when its node's turn
                # comes.
                if inputs[0].endswith(")") or self.moves is not None:
                    kept = slot()
                    add(f" {kept} = {self._to_host(inputs[0])}", node, inputs)
                    rets.append(kept)
                else:
                    rets.append(inputs[0])
                continue
            if node.op == "_Send":
                edge = int(node.attrs["_edge"])
                task = self.send[edge]
                value = self._to_host(inputs[0])
                call = f"t.push({task!r}, {edge}, {value})" if task else f"t.deliver(({edge},), ({value},))"
                free_now = [s for s in ending if s not in rets]
                add(timed(f" {call}", position, "None") + delete(free_now), node, inputs)
                free += free_now
                continue
            if node.op == "_Arg":
                text, expression = self._to_device(f"a[{arg}]"), None
                arg += 1
            elif node.op == "_Recv":
                text, expression = self._to_device(f"(yield {int(node.attrs['_edge'])})"), None
            elif isinstance(self.kernels[position], AsyncKernel):
                names[f"k{position}"] = self.kernels[position].function
                add(f" w = k{position}({', '.join(inputs)})", node, inputs)
                # Nothing is suspended where the value is there already.
                text, expression = "w if type(w) is not W else (yield w)", None
            else:
                text, expression = call_text(self.kernels[position], position, inputs, names)
            # The inputs that end here hand their slots on to the outputs.
            released = [s for s in ending if s not in rets]
            outputs = []
            for index in range(len(node.output_types)):
                name = released.pop() if released else slot()
                outputs.append(name)
                slots[id(node), index] = name
            value = outputs[0] if outputs else "None"
            statement = timed(assign(node, outputs, text), position, value)
            unused = [name for index, name in enumerate(outputs) if (id(node), index) not in last_use]
            dead = released + unused
            add(statement + delete(dead), node, inputs, expression)
            free += dead
        returns = ", ".join(rets)
        body.append(f" return ({returns}{',' if rets else ''})")
        return "def run(t, a):\n" + "\n".join(body) + "\n", names, lines

    def _to_device(self, text: str) -> str:
        return text if self.moves is None else f"D({text})"

    def _to_host(self, text: str) -> str:
        return text if self.moves is None else f"H({text})"


def make_kernels(
    device: str,
    nodes: list[Node],
    resources: Resources,
    xp: ModuleType,
    stateful: StatefulKernels,
    library: Library | None = None,
) -> dict[int, Any]:
    """The kernels of a partition, by the identities of their nodes; `stateful` keeps those of stateful ops.

    Raises:
        OpError: an op type has no kernel, or it refuses its node.
    """
    kernels = {}
    # What takes an output matters only where a node has several.
    used = {
        (id(source), index) for node in nodes for source, index in node.inputs if len(source.output_types) > 1
    }
    for node in nodes:
        if node.op in _WITHOUT_KERNEL:
            continue
        kernel = stateful.get((device, node.name)) if node.opdef.is_stateful else None
        if kernel is None:
            kernel = registry.make_kernel(
                KernelNode(
                    name=node.name,
                    op=node.op,
                    attrs=node.attrs,
                    input_types=node.input_types,
                    output_types=node.output_types,
                    device=device,
                    xp=xp,
                    resources=resources,
                    library=library,
                    # A stateful kernel serves other partitions, too.
                    used_outputs=ALL
                    if node.opdef.is_stateful or len(node.output_types) < 2
                    else [i for i in range(len(node.output_types)) if (id(node), i) in used],
                )
            )
            if node.opdef.is_stateful:
                stateful[device, node.name] = kernel
        kernels[id(node)] = kernel
    return kernels
