"""The executor for partitions with conditionals and loops: an op runs once its inputs have come.

A conditional is Switch and Merge: Switch gives its value to one of its outputs, and DEAD to the other one. An
op with a dead input does not run, and what it would make is dead too, until a Merge takes its live input.

A loop is a *frame*. Enter brings a value into it, NextIteration into the next iteration, Exit out of it. Each
iteration has its own values. A frame is over when all its Enters have come and nothing of it is left to do;
then the Exits that gave nothing give DEAD, as do those of a loop on a branch that was not taken.

Partitions that have several ops that may wait for other steps run here, too: each waits for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorfleet import dtypes, errors
from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.kernels import registry
from tensorfleet_service.kernels.registry import AsyncKernel, Expression
from tensorfleet_service.worker.execution import Execution
from tensorfleet_service.worker.plan import (
    SendTable,
    StatefulKernels,
    make_kernels,
)
from tensorfleet_service.worker.statements import constant_value, dereferences
from tensorfleet_service.worker.timed import Timed, is_run

if TYPE_CHECKING:
    from tensorfleet_service.graph import Node
    from tensorfleet_service.worker.functions import Library
    from tensorfleet_service.worker.resources import Resources

_NATIVE = frozenset(
    prefix + op for op in ("Switch", "Merge", "Enter", "Exit", "NextIteration") for prefix in ("", "Ref")
) | {"LoopCond"}


def needs_dataflow(nodes: Sequence[Node]) -> bool:
    """Whether straight-line code cannot run a partition."""
    return (
        any(node.op in _NATIVE or (node.op == "_Recv" and node.attrs.get("_may_be_dead")) for node in nodes)
        or sum(registry.is_blocking(node.op) for node in nodes) > 1
    )


class Op:
    """A node as it is run: what it needs, what computes it, and where its outputs go."""

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
        self.runs = 0  # also in steps that fail
        self.function: Any = None
        self.expression: Expression | None = None
        self.outputs: list[list[tuple[Op, int]]] = [[] for _ in node.output_types]
        self.controls: list[Op] = []
        self.reads = [i for i in range(self.arity) if dereferences(node, i)]
        self.strings = any(dtype is dtypes.string for dtype in node.output_types)
        # The inputs of a Merge that come into a loop: if such a one is dead, there is nothing to come.
        self.enter_slots = {i for i, (s, _) in enumerate(node.inputs) if s.op in ("Enter", "RefEnter")}
        self.name = node.attrs["frame_name"].decode() if self.kind == "Enter" else ""


class DataflowPlan(Timed):
    """A partition with control flow; see `Plan` for what its attributes mean."""

    __slots__ = (
        "args",
        "device",
        "enters",
        "exits",
        "function",
        "moves",
        "ops",
        "rets",
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
    ) -> None:
        super().__init__(nodes)
        self.device = device
        self.send = send
        self.moves = movers(xp)
        self.args: list[int] = []
        self.rets: list[int] = []
        self.waits = False
        self.ops = [Op(i, node) for i, node in enumerate(nodes)]
        own = [node for node in nodes if node.op not in _NATIVE]
        kernels = make_kernels(device, own, resources, xp, {} if stateful is None else stateful, library)
        by_node = {id(op.node): op for op in self.ops}
        for op in self.ops:
            node = op.node
            for slot, (source, index) in enumerate(node.inputs):
                by_node[id(source)].outputs[index].append((op, slot))
            for control in node.controls:
                by_node[id(control)].controls.append(op)
            self._set_function(op, kernels.get(id(node)))
        self.enters, self.exits = _frames(self.ops, by_node)
        self.function: Callable[..., Any] = self.run

    def _set_function(self, op: Op, kernel: Any) -> None:
        node = op.node
        match op.kind:
            case "_Arg":
                op.name = str(len(self.args))
                self.args.append(int(node.attrs["index"]))
            case "_Retval":
                op.name = str(len(self.rets))
                self.rets.append(int(node.attrs["index"]))
            case "_Recv":
                self.waits = True
            case "Const":
                value = constant_value(node)
                op.function = value if self.moves is None else self.moves[0](value)
        if isinstance(kernel, AsyncKernel):
            self.waits = True
            op.kind, op.function = "Async", kernel.function
        elif isinstance(kernel, Expression):
            names = [f"x{i}" for i in range(op.arity)]
            text = f"lambda {', '.join(names)}: {kernel.template.format(*names)}"
            op.kind, op.function, op.expression = "Kernel", eval(text, dict(kernel.names)), kernel
        elif kernel is not None:
            op.kind, op.function = "Kernel", kernel

    def ops_run(self) -> dict[str, int]:
        """As that of `Timed`, but counted one by one: branches and loops differ from step to step."""
        counts: dict[str, int] = {}
        for op in self.ops:
            if op.runs and is_run(op.node):
                counts[op.node.op] = counts.get(op.node.op, 0) + op.runs
        return counts

    def run(self, step: Any, args: Sequence[Any]) -> Sequence[Any]:
        """Runs a partition that waits for nothing; its fetches."""
        execution = Execution(self, step, args, None, None)
        execution.run()
        return execution.results()

    def traced(self) -> tuple[Callable[..., Any], Callable[[BaseException], errors.OpError]]:
        """A function that also calls `step.trace`, and `explain`."""

        def run(step: Any, args: Sequence[Any]) -> Sequence[Any]:
            execution = Execution(self, step, args, None, step.trace)
            execution.run()
            return execution.results()

        return run, self.explain

    def explain(self, error: BaseException) -> errors.OpError:
        """The error to report for an exception; those of ops have their names already."""
        if isinstance(error, errors.OpError):
            return error
        return errors.InternalError(None, None, f"{type(error).__name__}: {error}")


def _frames(ops: list[Op], by_node: dict[int, Op]) -> tuple[dict[str, int], dict[str, list[Op]]]:
    """For each loop, by its path: how many Enters lead into it, and its Exits."""
    paths: dict[int, str] = {}
    enters: dict[str, int] = {}
    exits: dict[str, list[Op]] = {}
    outer: dict[str, str] = {}
    for op in ops:
        node = op.node
        sources = [*(source for source, _ in node.inputs), *node.controls]
        path = max((paths.get(id(source), "") for source in sources), key=len, default="")
        if op.kind == "Enter":
            outer[f"{path}/{op.name}"] = path
            path = f"{path}/{op.name}"
            enters[path] = enters.get(path, 0) + 1
        elif op.kind == "Exit":
            exits.setdefault(path, []).append(op)
            path = outer.get(path, "")
        paths[id(node)] = path
    return enters, exits
