"""Execution: one step of a partition with control flow, op by op; `dataflow` describes the ops."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dims import format_dims
from tensorfleet_service.devices.scope import Shared, gpu_number
from tensorfleet_service.executor.dead import DEAD
from tensorfleet_service.executor.frames import Iteration, LoopFrame
from tensorfleet_service.executor.statements import as_string, node_error
from tensorfleet_service.threads.future import Future

if TYPE_CHECKING:
    from tensorfleet_service.executor.dataflow import DataflowPlan, LoopOp, Op, OpGraph
    from tensorfleet_service.graph.graph import Node

Source = int | Future
"""The source of a value for which an op waits: an edge, in loops with its iteration, or a resource."""

_CONTROL = -1  # the slot of a control input


Wait = Callable[[Source], None]
"""Asks for the value for which an op waits."""


class Execution:
    """One step of a partition. Only one thread at a time may call it.

    Args:
        step: sends tensors.
        wait: asks for tensors of other devices and for futures; None if there are none.
        trace: told of each op that ran.
    """

    __slots__ = (
        "_args",
        "_fetched",
        "_graph",
        "_left",
        "_plan",
        "_ready",
        "_results",
        "_step",
        "_trace",
        "_wait",
        "outstanding",
    )

    def __init__(
        self,
        plan: DataflowPlan,
        step: Any,
        args: Sequence[Any],
        wait: Wait | None,
        trace: Callable[[Node, int, int, Any], None] | None,
    ) -> None:
        self._plan = plan
        # A trace has the ops of loops, so no loop is one op.
        self._graph: OpGraph = plan.graph if trace is None else plan.whole()
        self._step = step
        self._args = args
        self._wait = wait
        self._trace = trace
        self._results: list[Any] = [DEAD] * len(plan.rets)
        self._left = len(plan.rets)
        self._fetched: list[Op] = []  # fetches that are references, which are read at the end
        self.outstanding: dict[Source, tuple[Op, Iteration]] = {}
        root = LoopFrame("", "", None, 0)
        first = root.iterations[0] = Iteration(root, 0)
        self._ready: deque[tuple[Op, Iteration, list[Any], bool]] = deque(
            (op, first, [], False) for op in self._graph.ops if not op.needs
        )
        first.busy = len(self._ready) + 1  # the outermost iteration is never over before the step

    def results(self) -> Sequence[Any]:
        """The fetches, when nothing is left to do."""
        if self._left:
            raise errors.InternalError(None, None, "a partition ended without all of its fetches")
        for op in self._fetched:
            place = int(op.name)
            self._results[place] = self._to_host(self._read(op, self._results[place]))
        self._fetched = []
        return self._results

    def run(self) -> None:
        """Runs all ops that can run. Raises an OpError that names the op that failed."""
        ready, trace = self._ready, self._trace
        while ready:
            op, iteration, values, dead = ready.popleft()
            if not dead:
                op.runs += 1
            if trace is not None:
                start = time.time_ns()
                self._run_op(op, iteration, values, dead)
                if not dead:
                    trace(op.node, start, time.time_ns(), values[0] if values else None)
            else:
                self._run_op(op, iteration, values, dead)

    def arrive(self, source: Source, value: Any) -> None:
        """Goes on with the op that waits for a tensor or a future."""
        op, iteration = self.outstanding.pop(source)
        if op.kind == "_Recv":
            self._received(op, iteration, value)
            return
        try:
            value = value.result()
        except Exception as e:
            raise node_error(op.node, e, None, list) from e
        self._give_outputs(op, iteration, value)
        self._end_op(iteration)

    # Ops

    def _run_op(self, op: Op, iteration: Iteration, values: list[Any], dead: bool) -> None:
        kind = op.kind
        if op.reads and not dead and kind != "_Retval":
            for i in op.reads if kind != "Merge" else [0] * (values[1] in op.reads):
                values[i] = self._read(op, values[i])
        if kind == "Kernel":
            if dead:
                self._give_dead(op, iteration)
            else:
                try:
                    result = op.function(*values)
                except Exception as e:
                    raise node_error(op.node, e, op.expression, lambda: values) from e
                self._give_outputs(op, iteration, result)
        elif kind == "Const":
            if dead:
                self._give_dead(op, iteration)
            else:
                self._give(op, 0, iteration, op.function)
                self._give_controls(op, iteration, None)
        elif kind == "Switch":
            self._switch(op, iteration, values, dead)
        elif kind == "Merge":
            value, index = values
            self._give(op, 0, iteration, value)
            self._give(op, 1, iteration, DEAD if dead else np.int32(index))
            self._give_controls(op, iteration, DEAD if dead else None)
        elif kind == "NextIteration":
            if not dead:
                frame, number = iteration.frame, iteration.number + 1
                if number - frame.oldest < frame.parallel:
                    self._give_all(op, self._iteration(frame, number), values[0])
                else:
                    frame.deferred.setdefault(number, []).append((op, values[0]))
        elif kind == "Enter":
            self._enter(op, iteration, DEAD if dead else values[0])
        elif kind == "Exit":
            frame = iteration.frame
            if not dead and frame.parent is not None:
                frame.live_exits.add(op.number)
                self._give_all(op, frame.parent, values[0])
        elif kind == "Loop":
            if dead:
                self._give_dead(op, iteration)
            else:
                self._run_loop(op, iteration, values)
        elif kind == "Async":
            if dead:
                self._give_dead(op, iteration)
            elif self._run_async(op, iteration, values):
                return
        else:
            self._run_end(op, iteration, values, dead)
            if kind == "_Recv":
                return
        self._end_op(iteration)

    def _run_end(self, op: Op, iteration: Iteration, values: list[Any], dead: bool) -> None:
        """Runs an op that connects the partition to others, or only orders ops."""
        match op.kind:
            case "_Arg":
                self._give_all(op, iteration, self._args[int(op.name)])
            case "_Retval":
                if dead:
                    text = f"Retval[{op.node.attrs['index']}] does not have value"
                    raise errors.InvalidArgumentError(None, None, text)
                if op.reads:
                    self._results[int(op.name)] = values[0]
                    self._fetched.append(op)
                else:
                    self._results[int(op.name)] = self._to_host(values[0])
                self._left -= 1
            case "_Send":
                edge = int(op.node.attrs["_edge"])
                task = self._plan.send[edge]
                edge |= iteration.tag
                value = DEAD if dead else self._sent(op.node, task, values[0])
                if task:
                    self._step.push(task, edge, value)
                else:
                    self._step.deliver((edge,), (value,))
            case "_Recv":
                self._ask(op, iteration, int(op.node.attrs["_edge"]) | iteration.tag)
            case "LoopCond":
                self._give_all(op, iteration, DEAD if dead else values[0])
            case _:  # NoOp
                self._give_controls(op, iteration, DEAD if dead else None)

    def _read(self, op: Op, reference: Any) -> Any:
        """The value of a variable that an op takes."""
        try:
            return reference.read()
        except Exception as e:
            raise node_error(op.node, e, None, list) from e

    def _to_host(self, value: Any) -> Any:
        moves = self._plan.moves
        return value if moves is None else moves[1](value)

    def _sent(self, node: Node, task: str, value: Any) -> Any:
        scope = self._plan.scope
        target = None if scope is None else gpu_number(node.attrs["recv_device"])
        if scope is not None and target is not None:
            return scope.outgoing(value, target) if task else scope.share(value)
        return self._to_host(value)

    def _switch(self, op: Op, iteration: Iteration, values: list[Any], dead: bool) -> None:
        if dead:
            self._give_dead(op, iteration)
            return
        value, choice = values
        if getattr(choice, "ndim", 0):
            text = f"The second input must be a scalar, but it has shape {format_dims(choice.shape)}"
            raise node_error(op.node, errors.InvalidArgumentError(None, None, text), None, list)
        taken = 1 if choice else 0
        self._give(op, 1 - taken, iteration, DEAD)
        self._give(op, taken, iteration, value)
        self._give_controls(op, iteration, None)

    def _run_async(self, op: Op, iteration: Iteration, values: list[Any]) -> bool:
        """Runs an op that may have to wait for another step; returns whether it does."""
        try:
            result = op.function(*values)
        except Exception as e:
            raise node_error(op.node, e, None, lambda: values) from e
        if type(result) is Future:
            self._ask(op, iteration, result)
            return True
        self._give_outputs(op, iteration, result)
        return False

    def _run_loop(self, op: Op, iteration: Iteration, values: list[Any]) -> None:
        """Runs a compiled loop."""
        try:
            result = op.function(self._step, values)
        except Exception as e:
            raise cast("LoopOp", op).compiled.explain(e) from e
        self._give_outputs(op, iteration, result)

    def _ask(self, op: Op, iteration: Iteration, source: Source) -> None:
        assert self._wait is not None
        self.outstanding[source] = (op, iteration)
        self._wait(source)

    def _received(self, op: Op, iteration: Iteration, value: Any) -> None:
        if isinstance(value, Shared):
            value = value.take()
        self._give_all(op, iteration, value)
        self._end_op(iteration)

    # Outputs

    def _give_outputs(self, op: Op, iteration: Iteration, result: Any) -> None:
        outputs = op.outputs
        if len(outputs) == 1:
            self._give(op, 0, iteration, as_string(result) if op.strings else result)
        else:
            for index in range(len(outputs)):
                value = result[index]
                string = op.strings and op.node.output_types[index] is dtypes.string
                self._give(op, index, iteration, as_string(value) if string else value)
        self._give_controls(op, iteration, None)

    def _give_dead(self, op: Op, iteration: Iteration) -> None:
        for index in range(len(op.outputs)):
            self._give(op, index, iteration, DEAD)
        self._give_controls(op, iteration, DEAD)

    def _give_all(self, op: Op, iteration: Iteration, value: Any) -> None:
        """Hands on the only output of an op, and that it has run."""
        self._give(op, 0, iteration, value)
        self._give_controls(op, iteration, DEAD if value is DEAD else None)

    def _give_controls(self, op: Op, iteration: Iteration, value: Any) -> None:
        for target in op.controls:
            self._take_input(target, _CONTROL, iteration, value)

    def _give(self, op: Op, index: int, iteration: Iteration, value: Any) -> None:
        for target, slot in op.outputs[index]:
            self._take_input(target, slot, iteration, value)

    def _take_input(self, op: Op, slot: int, iteration: Iteration, value: Any) -> None:
        """Notes an input of an op; after the last one the op is ready."""
        if op.kind == "Merge":
            self._take_merge_input(op, slot, iteration, value)
            return
        if op.needs == 1:
            values, dead = [] if slot < 0 else [value], value is DEAD
        else:
            waiting = iteration.waiting.get(op.number)
            if waiting is None:
                waiting = iteration.waiting[op.number] = [op.needs, False, [None] * op.arity]
            if value is DEAD:
                waiting[1] = True
            if slot >= 0:
                waiting[2][slot] = value
            waiting[0] -= 1
            if waiting[0]:
                return
            del iteration.waiting[op.number]
            values, dead = waiting[2], waiting[1]
        iteration.busy += 1
        # The inputs of a ControlTrigger may be dead.
        self._ready.append((op, iteration, values, dead and op.node.op != "ControlTrigger"))

    def _take_merge_input(self, op: Op, slot: int, iteration: Iteration, value: Any) -> None:
        """A Merge runs with the first live input, or dead if there is none, after its control inputs."""
        waiting = iteration.waiting.get(op.number)
        if waiting is None:
            # Missing control inputs, dead inputs, the live input and its index, whether it is decided.
            waiting = iteration.waiting[op.number] = [op.needs - op.arity, 0, DEAD, -1, False]
        if slot < 0:
            waiting[0] -= 1
        elif value is DEAD:
            waiting[1] = op.arity if slot in op.enter_slots else waiting[1] + 1
        elif waiting[3] < 0:
            waiting[2], waiting[3] = value, slot
        if waiting[0] or waiting[4] or (waiting[3] < 0 and waiting[1] < op.arity):
            return
        waiting[4] = True
        iteration.busy += 1
        self._ready.append((op, iteration, [waiting[2], waiting[3]], waiting[3] < 0))
        waiting[2] = None  # the value is not needed any more

    # Frames

    def _iteration(self, frame: LoopFrame, number: int) -> Iteration:
        """An iteration of a frame, which begins with the loop's constants."""
        found = frame.iterations.get(number)
        if found is None:
            if self._step.error is not None:
                raise self._step.error  # the step has ended without the loop
            found = frame.iterations[number] = Iteration(frame, number)
            for op, value in frame.constants:
                self._give_all(op, found, value)
        return found

    def _enter(self, op: Op, iteration: Iteration, value: Any) -> None:
        frame = iteration.children.get(op.name)
        if frame is None:
            path = f"{iteration.frame.path}/{op.name}"
            parallel = max(int(op.node.attrs["parallel_iterations"]), 1)
            frame = iteration.children[op.name] = LoopFrame(
                op.name, path, iteration, self._graph.enters[path], parallel, self._plan.frame_ids
            )
            iteration.busy += 1
        first = self._iteration(frame, 0)
        frame.enters_left -= 1
        if op.node.attrs["is_constant"]:
            frame.constants.append((op, value))
            for each in list(frame.iterations.values()):
                self._give_all(op, each, value)
        else:
            self._give_all(op, first, value)
        self._end_iterations(frame)

    def _end_op(self, iteration: Iteration) -> None:
        iteration.busy -= 1
        if not iteration.busy:
            self._end_iterations(iteration.frame)

    def _end_iterations(self, frame: LoopFrame) -> None:
        """Drops iterations that nothing can reach any more, and the frame after the last one."""
        while not frame.enters_left:
            iteration = frame.iterations[frame.oldest]
            if iteration.busy:
                return
            del frame.iterations[frame.oldest]
            frame.oldest += 1
            number = frame.oldest + frame.parallel - 1
            for op, value in frame.deferred.pop(number, ()):
                self._give_all(op, self._iteration(frame, number), value)
            if not frame.iterations:
                break
        else:
            return
        parent = frame.parent
        assert parent is not None
        for op in self._graph.exits.get(frame.path, ()):
            if op.number not in frame.live_exits:
                self._give_all(op, parent, DEAD)
        del parent.children[frame.name]
        self._end_op(parent)
