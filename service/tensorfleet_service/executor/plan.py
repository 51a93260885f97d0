"""Compilation of a partition into a function: one Python statement per node, a local variable per live
tensor.

The generated code of `y = (x + 300) + (x - 66)`, with x fed and the last part on another task, is

    def run(t, a):
        v0 = a[0]
        t.push('/job:worker/replica:0/task:1', 0, v0)
        v0 = v0 + c1
        v1 = yield 1
        v0 = v0 + v1
        return (v0,)

`t` is the step on this task, `a` the fed values, `c1` and kernels are globals of the code. A variable is
overwritten or deleted at its last use, so a tensor lives no longer than it must. A partition that waits for
nothing becomes a plain function. One that receives tensors, or has an op that may have to wait for other
steps,
becomes a generator: it yields an edge's number if the tensor has to come from another device, or a Future if
a queue has no element yet, and the step resumes it with the value, on the thread that brings it.

Each line of the code belongs to one node, so an exception is traced to its node at no cost to the code
itself.

Elementwise ops that follow each other are written twice: as one call for large arrays (see `fusing`), and op
by op for the other inputs:

        if v0.size < 200000 or (q := f2(v0, c1)) is None:
         v1 = v0 * c1
         v1 = v1 + c1
        else:
         v1, = q; del q

The code of many nodes is cut into several functions; see `compiled_text`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors, gc_pause
from tensorfleet_service.executor.captured_steps import captures, replayed
from tensorfleet_service.executor.compiled_text import CompiledText
from tensorfleet_service.executor.node_kernels import StatefulKernels
from tensorfleet_service.executor.plan_writer import PlanWriter, SendTable
from tensorfleet_service.executor.statements import explain, lasting
from tensorfleet_service.graph import large
from tensorfleet_service.tracing.timed import Timed

if TYPE_CHECKING:
    from tensorfleet_service.devices.scope import Scope
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.library import Library
    from tensorfleet_service.state.resources import Resources


class Plan(Timed):
    """A compiled partition.

    Attributes:
        device: the device that it runs on.
        function: the generated function of (step, fed values), or generator function where `waits`.
        waits: whether it receives tensors from other devices.
        args: the indices of the step's fed values that it takes, in order.
        rets: the indices of the step's fetches that it returns, in order.
    """

    __slots__ = (
        "_compiled",
        "_scope",
        "_traced",
        "_writer",
        "args",
        "device",
        "function",
        "lasts",
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
        scope: Scope | None = None,
    ) -> None:
        """Compiles nodes for one device.

        Args:
            resources: variables and other state of the task.
            send: the destinations of the tensors of `_Send` nodes.
            stateful: the session's kernels of stateful ops; new ones are added.
            library: the functions that nodes may call.
            scope: what makes the device current, where that is a GPU.
        """
        writer = PlanWriter(
            device, nodes, resources, xp, send, {} if stateful is None else stateful, library, scope
        )
        super().__init__(nodes)
        self.device = device
        self.args = writer.args
        self.rets = writer.rets
        self.waits = writer.waits
        self.lasts = lasting(nodes, library)
        self._compiled = writer.compile(traced=False)
        self._scope = scope
        self.function = self._scoped(self._compiled.function)
        if scope is not None and not self.waits and captures():
            self.function = replayed(self.function, writer, scope) or self.function
        self._writer = writer
        self._traced: CompiledText | None = None
        large.keep(self, len(nodes))

    def __del__(self, discard: Callable[..., None] = large.discard) -> None:
        writer = getattr(self, "_writer", None)
        if writer is not None:
            discard(self, (self.nodes,), writer.containers())

    @property
    def source(self) -> str:
        """The generated code, for people; written anew at each call."""
        return "\n".join(source for source, _ in self._writer.write(traced=False)[0])

    def traced(self) -> tuple[Callable[..., Any], Callable[[BaseException], errors.OpError]]:
        """The function that also calls `t.trace(node, start_ns, end_ns, value)`, and its `explain`."""
        # The code with clocks is compiled only when it is asked for.
        found = self._traced
        if found is None:
            with gc_pause.paused():
                found = self._traced = self._writer.compile(traced=True)
        origins = found.origins
        return self._scoped(found.function), lambda e: explain(e, origins)

    def _scoped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function if self._scope is None else self._scope.around(function, self.waits)

    def node_at(self, frame: FrameType) -> Node | None:
        """The node whose line a Python frame is at; None if it does not run this plan."""
        for compiled in (self._compiled, self._traced):
            node = None if compiled is None else compiled.origins.of(frame.f_code, frame.f_lineno)[0]
            if node is not None:
                return node
        return None

    def explain(self, error: BaseException) -> errors.OpError:
        """The error to report for an exception that left the function, with the node's name in it."""
        return explain(error, self._compiled.origins)
