"""Progress of steps: the tensors and resources that they wait for, and the ops that they compute.

Nothing is recorded for this while a step runs. When somebody asks, it is read from the step, which knows its
suspended partitions, and from the stacks of computing threads, which contain the op's line.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from tensorfleet.core.frames import current_frames
from tensorfleet_service.executor.dataflow import DataflowPlan
from tensorfleet_service.executor.dataflow_run import DataflowRun
from tensorfleet_service.executor.execution import Execution
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.executor.plan import Plan
from tensorfleet_service.executor.rendezvous import edge_number, iteration_of
from tensorfleet_service.executor.step import Step, _Run
from tensorfleet_service.threads.future import Future

if TYPE_CHECKING:
    from tensorfleet_service.executor.step import AnyPlan, AnyRun
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.worker.worker import Worker

MAX_WAITS = 20  # limit on the waits of one step in a text


@dataclass(frozen=True)
class Activity:
    """Something that a part of a step waits for or does.

    Attributes:
        text: for people.
        mark: stays the same as long as there is no progress.
    """

    text: str
    mark: object


@dataclass
class StepActivity:
    """This task's knowledge of a step.

    Attributes:
        began: monotonic time of the start.
    """

    id: int
    began: float
    activities: list[Activity] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        texts = [activity.text for activity in self.activities[:MAX_WAITS]]
        more = len(self.activities) - len(texts)
        return [*texts, f"and {more} more"] if more else texts

    @property
    def mark(self) -> object:
        """Changes when the step makes progress here."""
        return frozenset(activity.mark for activity in self.activities)


def activities(worker: Worker, only: Container[int] | None = None) -> list[StepActivity]:
    """The activities of the steps that a task's worker runs, or only of those with some numbers."""
    found: dict[int, StepActivity] = {}
    for step in worker.known_steps():
        if only is None or step.id in only:
            made = StepActivity(step.id, step.began, waits(step))
            if not step.started:
                made = StepActivity(step.id, time.monotonic(), [Activity("its master, to start it here", 0)])
            found[step.id] = made
    for step_id, began, activity in _computing(worker):
        if only is None or step_id in only:
            found.setdefault(step_id, StepActivity(step_id, began)).activities.append(activity)
    return list(found.values())


def waits(step: Step) -> list[Activity]:
    """The activities of a step's suspended partitions, each with what it waits for."""
    result = []
    for source, run in step.waiting():
        node = _suspended_at(run, source)
        where = f" [{node.name}]" if node is not None else ""
        if isinstance(source, int):
            text = f"waits for {_tensor(source, run.plan)}"
        else:
            text = f"waits: {source.what}"
        result.append(Activity(text + where, (source, run.resumed)))
    return result


def _tensor(edge: int, plan: AnyPlan) -> str:
    number, iteration = edge_number(edge), iteration_of(edge)
    turn = f", iteration {iteration}" if iteration else ""
    for node in plan.nodes:
        if node.op == "_Recv" and int(node.attrs["_edge"]) == number:
            attrs = node.attrs
            name = attrs["tensor_name"].decode().split("_", 2)[-1]
            source, target = attrs["send_device"].decode(), attrs["recv_device"].decode()
            if task_of(source) != task_of(target):
                source, target = short_name(task_of(source)), short_name(task_of(target))
            return f"tensor {name} (edge {number}{turn}) from {source} to {target}"
    return f"the tensor of edge {number}{turn}"


def short_name(task: str) -> str:
    """`/job:ps/task:0` of a canonical name."""
    return task.replace("/replica:0", "")


def _suspended_at(run: AnyRun, source: int | Future) -> Node | None:
    """The node that waits; None if the run has gone on meanwhile, or the text names it anyway."""
    if isinstance(source, int):
        return None
    if isinstance(run, DataflowRun):
        return run.waiting_node(source)
    generator: Any = run.generator
    while (part := getattr(generator, "gi_yieldfrom", None)) is not None:
        generator = part
    frame = getattr(generator, "gi_frame", None)
    return None if frame is None or not isinstance(run.plan, Plan) else run.plan.node_at(frame)


# ---------------------------------------------------------------------------------------------- computing

_RUNS = frozenset(
    function.__code__
    for function in (_Run.begin, _Run.resume, DataflowRun._turn)  # methods, whose frames have `self`
)


def _computing(worker: Worker) -> Iterator[tuple[int, float, Activity]]:
    """The steps of which a thread computes a part: their number, start time and op."""
    simple = worker.simple_code
    for frame in current_frames().values():
        inner: Node | None = None
        mark: tuple[int, ...] = ()
        chain = list(_chain(frame))
        for position, each in enumerate(chain):
            code = each.f_code
            if code in _RUNS:
                run = each.f_locals.get("self")
                if run is None or run.step.pool is not worker.pool:
                    break
                inner, mark = _op(chain[:position], run.plan)
                yield run.step.id, run.step.began, _computes(inner, mark)
                break
            if code is simple and each.f_locals.get("self") is worker:
                local = each.f_locals
                inner, mark = _op(chain[:position], local["plan"])
                began = local.get("started", time.perf_counter())
                age = time.perf_counter() - began
                yield local["step_id"], time.monotonic() - age, _computes(inner, mark)
                break


def computes(worker: Worker) -> bool:
    """Whether a thread computes a step of a task's worker."""
    return next(_computing(worker), None) is not None


def computing_in(thread: int, plan: AnyPlan) -> Activity:
    """The activity of a thread that runs a plan directly: the node that it computes."""
    frame = current_frames().get(thread)
    node, mark = _op(list(_chain(frame)), plan) if frame is not None else (None, ())
    return _computes(node, mark)


def _computes(node: Node | None, mark: tuple[int, ...]) -> Activity:
    text = f"computes {node.op} [{node.name}]" if node is not None else "computes"
    return Activity(text, (node.name if node is not None else "", mark))


def _chain(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of a stack, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _op(frames: Sequence[FrameType], plan: AnyPlan) -> tuple[Node | None, tuple[int, ...]]:
    """The op of a plan that runs in these frames, and the position in its code."""
    for frame in frames:
        if isinstance(plan, DataflowPlan):
            node = plan.node_at(frame)
            if node is not None:
                return node, (frame.f_lasti, plan.loop_runs())
            if frame.f_code is Execution.run.__code__:
                op = frame.f_locals.get("op")
                return (None, ()) if op is None else (op.node, (op.runs, id(op)))
        else:
            node = plan.node_at(frame)
            if node is not None:
                return node, (frame.f_lasti,)
    return None, ()


# ------------------------------------------------------------------------------------------------- stacks


def stacks() -> str:
    """The stacks of all threads of this process, with their names, the innermost call last."""
    names: dict[int | None, Any] = {thread.ident: thread.name for thread in threading.enumerate()}
    own = threading.get_ident()
    parts = []
    for ident, frame in sorted(current_frames().items(), key=lambda item: str(names.get(item[0], ""))):
        if ident == own:
            continue
        text = "".join(traceback.format_stack(frame))
        parts.append(f"Thread {names.get(ident, 'of another library')!r} ({ident:#x}):\n{text}")
    return "\n".join(parts)
