"""The executor for partitions with conditionals and loops: an op runs when its inputs have come.

A conditional is Switch and Merge: Switch gives its value to one of its outputs, and DEAD to the other one. An
op with a dead input does not run, and its outputs are dead, too, until a Merge takes its live input.

A loop is a *frame*. Enter brings a value into it, NextIteration into the next iteration, Exit out of it. Each
iteration has its own values. A frame ends when all its Enters have come and nothing in it is left to do. Then
the Exits without a value give DEAD, as do those of a loop on a branch that was not taken.

Loops that do not need this are compiled (see `loops`), and are one op here.

Partitions with several ops that may wait for other steps run here, too, as such ops must not delay each
other.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes, errors, gc_pause
from tensorfleet_service.devices.scope import Scope
from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.executor.execution import Execution
from tensorfleet_service.executor.loop_shape import may_not_end
from tensorfleet_service.executor.loops import CompiledLoop, compile_loops, loops_of
from tensorfleet_service.executor.node_kernels import StatefulKernels, make_kernels
from tensorfleet_service.executor.plan_writer import SendTable
from tensorfleet_service.executor.rendezvous import FRAME_IDS
from tensorfleet_service.executor.statements import constant_on, dereferences, lasting, outside_of_ops
from tensorfleet_service.graph import large
from tensorfleet_service.kernels import registry
from tensorfleet_service.kernels.registry import AsyncKernel, Expression
from tensorfleet_service.tracing.timed import Timed, is_run

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.library import Library
    from tensorfleet_service.state.resources import Resources

_NATIVE = frozenset(
    prefix + op for op in ("Switch", "Merge", "Enter", "Exit", "NextIteration") for prefix in ("", "Ref")
) | {"LoopCond"}


def needs_dataflow(nodes: Sequence[Node]) -> bool:
    """Whether a partition needs this executor, as straight-line code cannot run it."""
    return (
        any(node.op in _NATIVE or (node.op == "_Recv" and node.attrs.get("_may_be_dead")) for node in nodes)
        or sum(registry.is_blocking(node.op) for node in nodes) > 1
    )


class Op:
    """A node in executable form: its inputs, its kernel, and the takers of its outputs."""

    __slots__ = (
        "arity",
        "controls",
        "enter_slots",
        "expression",
        "function",
        "kind",
        "name",
        "needs",
        "node",
        "number",
        "outputs",
        "reads",
        "runs",
        "strings",
    )

    def __init__(self, number: int, node: Node) -> None:
        self.number = number
        self.node = node
        self.kind = node.op.removeprefix("Ref") if node.op in _NATIVE else node.op
        self.arity = len(node.inputs)
        self.needs = self.arity + len(node.controls)
        self.runs = 0  # including those in steps that fail
        self.function: Any = None
        self.expression: Expression | None = None
        self.outputs: list[list[tuple[Op, int]]] = [[] for _ in node.output_types]
        self.controls: list[Op] = []
        self.reads = [i for i in range(self.arity) if dereferences(node, i)]
        self.strings = any(dtype is dtypes.string for dtype in node.output_types)
        # The inputs of a Merge that enter a loop: if such an input is dead, no other one will come.
        self.enter_slots = {i for i, (s, _) in enumerate(node.inputs) if s.op in ("Enter", "RefEnter")}
        self.name = node.attrs["frame_name"].decode(errors="replace") if self.kind == "Enter" else ""


class LoopOp(Op):
    """A loop that runs as one op: its inputs are the values that enter, its outputs those that leave."""

    __slots__ = ("compiled",)

    def __init__(self, number: int, compiled: CompiledLoop) -> None:
        enters = compiled.loop.enters
        super().__init__(number, enters[0])
        self.kind = "Loop"
        self.arity = len(enters)
        self.needs = self.arity + sum(len(enter.controls) for enter in enters)
        self.reads = []
        self.strings = False
        self.outputs = [[] for _ in compiled.loop.exits]
        self.function = compiled.function
        self.compiled = compiled


class OpGraph:
    """The ops of a partition, linked to each other.

    Attributes:
        ops: in the partition's order.
        enters, exits: by the path of each loop that is not one op, the number of its Enters, and its Exits.
    """

    __slots__ = ("enters", "exits", "ops")

    def __init__(
        self, nodes: Sequence[Node], kernels: dict[int, Any], moves: Any, loops: Sequence[CompiledLoop]
    ) -> None:
        self.ops: list[Op] = []
        begins = {id(loop.loop.enters[-1]): loop for loop in loops}
        inner = {id(node) for loop in loops for node in loop.loop.all_nodes()}
        made: dict[int, tuple[Op, int]] = {}  # the op of each node, and the index of its output 0 in the op
        for node in nodes:
            loop = begins.get(id(node))
            if loop is not None:
                op: Op = LoopOp(len(self.ops), loop)
                made.update({id(exit_node): (op, i) for i, exit_node in enumerate(loop.loop.exits)})
            elif id(node) in inner:
                continue
            else:
                op = Op(len(self.ops), node)
                made[id(node)] = op, 0
            self.ops.append(op)
        args, rets = itertools.count(), itertools.count()
        for op in self.ops:
            for place, node in enumerate(op.compiled.loop.enters if isinstance(op, LoopOp) else (op.node,)):
                for slot, (source, index) in enumerate(node.inputs, place):
                    giver, first = made[id(source)]
                    giver.outputs[first + index].append((op, slot))
                for control in node.controls:
                    made[id(control)][0].controls.append(op)
            if not isinstance(op, LoopOp):
                _set_function(op, kernels.get(id(op.node)), moves, args, rets)
        self.enters, self.exits = _frames(self.ops)


def _set_function(op: Op, kernel: Any, moves: Any, args: Iterator[int], rets: Iterator[int]) -> None:
    match op.kind:
        case "_Arg":
            op.name = str(next(args))
        case "_Retval":
            op.name = str(next(rets))
        case "Const":
            op.function = constant_on(op.node, moves)
    if isinstance(kernel, AsyncKernel):
        op.kind, op.function = "Async", kernel.function
    elif isinstance(kernel, Expression):
        names = [f"x{i}" for i in range(op.arity)]
        text = f"lambda {', '.join(names)}: {kernel.template.format(*names)}"
        op.kind, op.function, op.expression = "Kernel", eval(text, dict(kernel.names)), kernel
    elif kernel is not None:
        op.kind, op.function = "Kernel", kernel


class DataflowPlan(Timed):
    """A partition with control flow; see `Plan` for what its attributes mean.

    Attributes:
        graph: its ops; loops that can be compiled are one op each.
        frame_ids: whether tensors that are sent in loops carry TensorFlow's numbers of frames.
    """

    __slots__ = (
        "_compiled",
        "_kernels",
        "_whole",
        "args",
        "device",
        "frame_ids",
        "graph",
        "lasts",
        "moves",
        "rets",
        "scope",
        "send",
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
        scope: Scope | None = None,
    ) -> None:
        super().__init__(nodes)
        self.scope = scope
        self.device = device
        self.send = send
        self.moves = movers(xp)
        self.frame_ids = any(FRAME_IDS in node.attrs for node in nodes if node.op in ("_Send", "_Recv"))
        self.args = [int(node.attrs["index"]) for node in nodes if node.op == "_Arg"]
        self.rets = [int(node.attrs["index"]) for node in nodes if node.op == "_Retval"]
        own = [node for node in nodes if node.op not in _NATIVE]
        kernels = make_kernels(device, own, resources, xp, {} if stateful is None else stateful, library)
        self.waits = any(node.op == "_Recv" for node in nodes) or any(
            isinstance(kernel, AsyncKernel) for kernel in kernels.values()
        )
        loops = loops_of(nodes, kernels)
        self.lasts = may_not_end(loops) or lasting(nodes, library)
        self._kernels = kernels
        self._compiled = compile_loops(device, loops, xp, kernels)
        self.graph = OpGraph(nodes, kernels, self.moves, self._compiled)
        self._whole: OpGraph | None = None if self._compiled else self.graph
        large.keep(self, len(nodes))

    def __del__(self, discard: Callable[..., None] = large.discard) -> None:
        graph, whole = getattr(self, "graph", None), getattr(self, "_whole", None)
        ops = [each.ops for each in (graph, whole) if each is not None]
        for own in ops:
            for op in own:
                op.outputs, op.controls = [], []  # which may be a cycle
        discard(self, (self.nodes,), [*ops, getattr(self, "_kernels", {})])

    @property
    def function(self) -> Callable[..., Any]:
        """`run`; kept as an attribute it would be a cycle."""
        return self.run

    def whole(self) -> OpGraph:
        """All ops, including those of compiled loops, for traces."""
        found = self._whole
        if found is None:
            with gc_pause.paused():
                found = self._whole = OpGraph(self.nodes, self._kernels, self.moves, [])
        return found

    def sources(self) -> list[str]:
        """The generated code of the compiled loops, for people."""
        return [loop.source for loop in self._compiled]

    def ops_run(self) -> dict[str, int]:
        """As in `Timed`, but counted op by op, as branches and loops differ from step to step."""
        runs = [run for loop in self._compiled for run in loop.runs()]
        for graph in {id(graph): graph for graph in (self.graph, self._whole) if graph is not None}.values():
            runs += [(op.node, op.runs) for op in graph.ops if op.runs and not isinstance(op, LoopOp)]
        counts: dict[str, int] = {}
        for node, count in runs:
            if is_run(node):
                counts[node.op] = counts.get(node.op, 0) + count
        return counts

    def run(self, step: Any, args: Sequence[Any]) -> Sequence[Any]:
        """Runs a partition that waits for nothing; returns its fetches."""
        if self.scope is None:
            return self._run(step, args)
        with self.scope:
            return self._run(step, args)

    def _run(self, step: Any, args: Sequence[Any]) -> Sequence[Any]:
        execution = Execution(self, step, args, None, None)
        execution.run()
        return execution.results()

    def traced(self) -> tuple[Callable[..., Any], Callable[[BaseException], errors.OpError]]:
        """A function that also calls `step.trace`, and `explain`."""

        def run(step: Any, args: Sequence[Any]) -> Sequence[Any]:
            with self.scope or contextlib.nullcontext():
                execution = Execution(self, step, args, None, step.trace)
                execution.run()
                return execution.results()

        return run, self.explain

    def node_at(self, frame: FrameType) -> Node | None:
        """The node whose line a Python frame is at, if it runs one of the compiled loops."""
        return next((node for loop in self._compiled if (node := loop.node_at(frame)) is not None), None)

    def loop_runs(self) -> int:
        """A number that changes with each iteration of a compiled loop."""
        return sum(count for loop in self._compiled for _, count in loop.runs())

    def explain(self, error: BaseException) -> errors.OpError:
        """The error to report for an exception; those of ops contain their names already."""
        return outside_of_ops(error)


def _frames(ops: list[Op]) -> tuple[dict[str, int], dict[str, list[Op]]]:
    """The number of Enters, and the Exits, of each loop, by its path."""
    paths: dict[int, str] = {}
    enters: dict[str, int] = {}
    exits: dict[str, list[Op]] = {}
    outer: dict[str, str] = {}
    for op in ops:
        nodes = op.compiled.loop.enters if isinstance(op, LoopOp) else [op.node]
        sources = [source for node in nodes for source, _ in node.inputs]
        sources += [control for node in nodes for control in node.controls]
        path = max((paths.get(id(source), "") for source in sources), key=len, default="")
        if isinstance(op, LoopOp):
            paths.update({id(node): path for node in op.compiled.loop.exits})
            continue
        if op.kind == "Enter":
            outer[f"{path}/{op.name}"] = path
            path = f"{path}/{op.name}"
            enters[path] = enters.get(path, 0) + 1
        elif op.kind == "Exit":
            exits.setdefault(path, []).append(op)
            path = outer.get(path, "")
        paths[id(op.node)] = path
    return enters, exits
