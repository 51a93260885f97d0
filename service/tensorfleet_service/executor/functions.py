"""The functions of a session on one task, whose bodies are compiled like partitions and called by ops.

A function runs on the device of the op that calls it, whatever devices its body names.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.core.attr_value import NameAttrList
from tensorfleet.graph.op_def import lookup
from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.executor.dataflow import DataflowPlan, needs_dataflow
from tensorfleet_service.executor.plan import Plan
from tensorfleet_service.executor.step import Sender, Step
from tensorfleet_service.graph.function_graph import body, check_call
from tensorfleet_service.graph.graph import GRADIENT, needed_functions
from tensorfleet_service.kernels.registry import is_lasting
from tensorfleet_service.state.session_tensors import SessionTensors
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.running import RUNNING, check as check_step

if TYPE_CHECKING:
    from tensorfleet.core.dtypes import DType
    from tensorfleet.proto.function_pb2 import FunctionDef
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.resources import Resources
    from tensorfleet_service.threads.pool import Pool

Closer = Callable[[], None]

MAX_NESTED = 50
"""Limit on the depth of nested calls, as compiling them recurses: Python's stack allows not many more."""

MAX_COMPILED_NODES = 250_000
"""Limit on the nodes of a session's compiled functions on a task. Those with state are compiled for each
call, so that with each function that calls the next one twice they become twice as many."""

_MANY_CALLS = 20
"""So many calls in functions may stand for thousands: with each function that calls the next one twice, twice
as many."""

_instantiating = threading.local()
_STATELESS = ("Assert", "CheckNumerics", "CheckNumericsV2", "_Arg", "_Retval")
"""Ops that are declared to have a state, so that they are not merged or left out."""

_LOOPS = ("Enter", "RefEnter")


class Function:
    """A compiled function, with its own state for random and similar ops in its body.

    Attributes:
        waits: whether a call may have to wait for other steps.
        lasts: whether it may compute for long, or for ever.
        is_stateful: whether two compilations of it may give different results.
    """

    __slots__ = (
        "__weakref__",
        "_arity",
        "_pool",
        "_restore",
        "is_stateful",
        "lasts",
        "name",
        "plan",
        "waits",
    )

    def __init__(self, name: str, plan: Plan | DataflowPlan, pool: Pool, xp: ModuleType) -> None:
        self.name = name
        self.plan = plan
        self.waits = plan.waits
        self.lasts = plan.lasts
        self.is_stateful = any(
            node.opdef.is_stateful and node.op not in ("_Arg", "_Retval") for node in plan.nodes
        )
        self._arity = sum(node.op == "_Arg" for node in plan.nodes)
        self._pool = pool
        # A plan moves its results to the host; those of a call go back to the device.
        moves = movers(xp)
        self._restore = None if moves is None else moves[0]

    def __call__(self, *arguments: Any) -> tuple[Any, ...] | Future:
        """The results, or a Future for them.

        Raises:
            OpError: an op of the body failed; the message names it. Or the step has ended: calls in calls may
                be more than ever come to an end.
        """
        if len(arguments) != self._arity:
            text = f"Function {self.name} has {self._arity} arguments, and is called with {len(arguments)}"
            raise errors.InvalidArgumentError(None, None, text)
        check_step()
        if self.waits:
            return self._start(arguments)
        try:
            return self._finish(self.plan.function(_CALL, arguments))
        except Exception as e:
            raise self.plan.explain(e) from None

    def _finish(self, results: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(results) if self._restore is None else tuple(map(self._restore, results))

    def check(self, given: Sequence[DType], results: Sequence[DType] | None) -> None:
        """Raises InvalidArgumentError if calls with such inputs, and outputs where known, are wrong."""
        own = [node.attrs["T"] for node in self.plan.nodes if node.op == "_Retval"]
        check_call(self.plan.nodes, self.name, given, own if results is None else results)

    def _start(self, arguments: Sequence[Any]) -> Future:
        """Runs the body as a step of its own, which only the caller knows."""
        step = Step(0, self._pool, _push)
        cancelled = errors.CancelledError(None, None, f"{self.name} was cancelled")
        future = Future(lambda _: step.fail(cancelled), _Call(self.name, step))

        def done(error: errors.OpError | None, results: Sequence[Any]) -> None:
            future.complete(self._finish(results), error)

        # What lasts is told by the future that it is cancelled, for which the caller has to have it.
        step.start([self.plan], [arguments], done, may_block=not self.lasts)
        return future


class _Call:
    """A waiting call, which describes what it waits for."""

    __slots__ = ("_name", "_step")

    def __init__(self, name: str, step: Step) -> None:
        self._name = name
        self._step = step

    def waits_for(self, _: Future) -> str:
        sources = (source for source, _ in self._step.waiting())
        what = ", ".join(s.what if isinstance(s, Future) else f"edge {s}" for s in sources)
        return f"function {self._name}, which waits for {what}" if what else f"function {self._name}"


def _push(task: str, step: int, edge: int, value: Any) -> None:
    raise errors.InternalError(None, None, "A function has nothing to send")


class _CallSender(Sender):
    """A call that is a part of its caller's step, and fails with it."""

    __slots__ = ()

    @property
    def error(self) -> errors.OpError | None:  # type: ignore[override]
        step = RUNNING.step
        return None if step is None else step.error


_CALL = _CallSender(0, _push)


class Library:
    """The functions of a session on a task, and the session's work in the background."""

    def __init__(self, resources: Resources, pool: Pool) -> None:
        self.resources = resources
        self.pool = pool
        self.tensors = SessionTensors()
        self._lock = threading.Lock()
        self._definitions: dict[str, FunctionDef] = {}
        self._shared: dict[tuple[bytes, str, bool], Function] = {}
        self._closers: dict[int, Closer] | None = {}
        self._compiled = 0
        # The sizes of functions that are gone. They may go at any time, also while the lock is held.
        self._dropped: deque[int] = deque()

    def add(self, functions: Iterable[FunctionDef]) -> None:
        """Adds new functions; within a session a name stands for one function."""
        with self._lock:
            for function in functions:
                self._definitions.setdefault(function.signature.name, function)

    def instantiate(
        self, func: NameAttrList, device: str, xp: ModuleType, gradient: bool = False
    ) -> Function:
        """The function, or its gradient, compiled for a device; one without state is compiled once.

        Raises:
            OpError: the function is unknown, calls itself, or has a node that cannot run.
        """
        key = (func.SerializeToString(deterministic=True), device, gradient)
        found = self._shared.get(key)
        if found is not None:
            return found
        definition = self._definitions.get(func.name)
        if definition is None:
            raise errors.NotFoundError(None, None, f"Function {func.name} is not defined.")
        callers: list[str] = _instantiating.__dict__.setdefault("names", [])
        if gradient and GRADIENT in definition.attr:
            named = NameAttrList()
            named.CopyFrom(func)
            named.name = definition.attr[GRADIENT].s.decode()
            return self.instantiate(named, device, xp)
        called = f"gradient of {func.name}" if gradient else func.name
        if called in callers:
            text = f"Function {func.name} calls itself ({' -> '.join([*callers, called])})"
            raise errors.UnimplementedError(None, None, text)
        if len(callers) >= MAX_NESTED:
            text = f"Functions call each other more than {MAX_NESTED} deep: {' -> '.join(callers[:5])} -> …"
            raise errors.InvalidArgumentError(None, None, text)
        callers.append(called)
        size = 0
        try:
            nodes = body(definition, dict(func.attr))
            size = self._count(len(nodes))
            if gradient:
                from tensorfleet_service.executor.function_gradient import gradient_body

                nodes = gradient_body(nodes, func.name)
            for node in nodes:
                node.assigned = device
            function = Function(called, self._plan(device, nodes, xp), self.pool, xp)
        except BaseException:
            self._dropped.append(size)
            raise
        finally:
            callers.pop()
        weakref.finalize(function, self._dropped.append, size).atexit = False
        if not function.is_stateful:
            self._shared[key] = function
        return function

    def _count(self, size: int) -> int:
        """Counts the nodes of a function that is compiled now; `size`.

        Raises:
            ResourceExhaustedError: they would be too many.
        """
        with self._lock:
            if self._compiled + size > MAX_COMPILED_NODES:
                self._shared = {}  # those that nobody uses now are compiled anew
            while self._dropped:
                self._compiled -= self._dropped.popleft()
            if self._compiled and self._compiled + size > MAX_COMPILED_NODES:
                text = (
                    f"The calls of functions in this session stand for more than {MAX_COMPILED_NODES} nodes"
                )
                raise errors.ResourceExhaustedError(None, None, text)
            self._compiled += size
        return size

    def stateful_op(self, func: NameAttrList) -> str | None:
        """An op type with state in a function or in those that it calls, other than datasets and checks."""
        definition = self._definitions[func.name]
        nodes = body(definition, dict(func.attr))
        found = [node.op for node in nodes]
        for function in needed_functions(nodes, self._definitions):
            found += [node.op for node in function.node_def]
        for op in found:
            if op in _STATELESS or "Dataset" in op or op in self._definitions:
                continue
            opdef = lookup(op)
            if opdef is not None and opdef.is_stateful:
                return op
        return None

    def lasts(self, nodes: Sequence[Node]) -> bool:
        """Whether functions that nodes call have ops that may compute for long, loops, or many calls."""
        calls = 0
        for function in needed_functions(nodes, self._definitions):
            for node in function.node_def:
                if node.op in _LOOPS or is_lasting(node.op):
                    return True
                calls += sum(attr.HasField("func") or len(attr.list.func) > 0 for attr in node.attr.values())
        return calls >= _MANY_CALLS

    def _plan(self, device: str, nodes: list[Node], xp: ModuleType) -> Plan | DataflowPlan:
        kind = DataflowPlan if needs_dataflow(nodes) else Plan
        return kind(device, nodes, self.resources, xp, {}, {}, self)

    def on_close(self, closer: Closer) -> None:
        """Has `closer` called when the session ends; at once if it has ended."""
        with self._lock:
            if self._closers is not None:
                self._closers[id(closer)] = closer
                return
        closer()

    def close(self) -> None:
        """Ends the session's work in the background."""
        with self._lock:
            closers, self._closers = self._closers or {}, None
        for closer in closers.values():
            closer()
