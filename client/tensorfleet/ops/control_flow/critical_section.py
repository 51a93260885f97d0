"""Parts of graphs that run in one step at a time: `tf.CriticalSection`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorfleet.core import dtypes, structures
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_none, apply_one
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.control_flow.control_flow_contexts import ControlFlowContext, output_context
from tensorfleet.ops.data_flow import mutexes  # noqa: F401 - defines the ops

EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """One call of `execute`: its section, its lock, the resources in it, and whether they are its alone."""

    handle: Tensor
    lock: Tensor
    resources: frozenset[Tensor]
    is_exclusive: bool


class CriticalSection:
    """A part of a graph that only one step at a time runs (`tf.CriticalSection`).

    Args:
        name: the name of the section.
        shared_name: the name of the lock on its task, by which several processes share it; by default the
            section's name in the graph.
        critical_section_def, import_scope: not supported: sections are not part of MetaGraphs here.

    Example:
        >>> v = tf.Variable(0.0, use_resource=True)
        >>> section = tf.CriticalSection()
        >>> def double_and_add():
        ...     with tf.control_dependencies([v.assign(v.read_value() * 2.0 + 1.0)]):
        ...         return v.read_value()
        >>> result = section.execute(double_and_add)
        >>> with tf.Session() as session:
        ...     session.run(v.initializer)
        ...     [session.run(result) for _ in range(3)]
        [np.float32(1.0), np.float32(3.0), np.float32(7.0)]
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            raise ValueError("A CriticalSection cannot be made from a message: build it again.")
        with framework.name_scope(name, "CriticalSection") as scope, framework.control_dependencies(None):
            self._handle = apply_one("MutexV2", shared_name=shared_name or scope.rstrip("/"), name="mutex")

    @property
    def name(self) -> str:
        """The name of the operation that stands for the lock."""
        return self._handle.op.name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Builds what `fn` computes as a part that runs under the lock.

        What the part takes from outside is computed before the lock is taken. If the step fails, the lock is
        released.

        Args:
            fn: a function without arguments, called once.
            exclusive_resource_access: whether no other section may use the same variables and resources.

        Returns:
            The tensors that `fn` returns, computed when the part is over; an Operation if it returns None.

        Raises:
            ValueError: `fn` executes the section itself, or uses a resource of another section that one of
                both wants for itself.
        """
        graph = self._handle.op.graph
        with framework.name_scope(name, "critical_section_execute"):
            with framework.colocate_with(self._handle.op):
                lock = apply_one("MutexLock", self._handle)
            before = len(graph.get_operations())
            with framework.control_dependencies([lock]):
                result = fn()
            inside = graph.get_operations()[before:]
            self._check_nesting(inside)
            _run_before(lock, inside)
            self._claim(graph, lock, inside, exclusive_resource_access)
            flat = [] if result is None else structures.flatten(result)
            tensors = [x if isinstance(x, (Tensor, Operation)) else convert_to_tensor(x) for x in flat]
            # What lies in a branch or a loop inside of the part may not run; what leaves it waits for it.
            context = output_context(lock.op)
            ended = [operation for operation in inside if output_context(operation) is context]
            with (
                framework.control_dependencies([*ended, *tensors]),
                framework.colocate_with(self._handle.op),
            ):
                released = apply_none("ConsumeMutexLock", lock)
            with framework.control_dependencies([released]):
                outputs = [apply_one("Identity", x) if isinstance(x, Tensor) else group(x) for x in tensors]
            return released if result is None else structures.pack(result, outputs)

    def _check_nesting(self, inside: list[Operation]) -> None:
        for operation in inside:
            if operation.type == "MutexLock" and operation.inputs[0] is self._handle:
                raise ValueError(
                    f"The function that {self.name} executes executes {self.name} itself: it would wait for "
                    "its own end."
                )

    def _claim(self, graph: Graph, lock: Tensor, inside: list[Operation], is_exclusive: bool) -> None:
        resources = frozenset(
            tensor
            for operation in inside
            for tensor in operation.inputs
            if (tensor.dtype is dtypes.resource or tensor.dtype.is_ref) and tensor is not self._handle
        )
        executions = graph.get_collection_ref(EXECUTIONS)
        for other in executions:
            shared = resources & other.resources
            if other.handle is self._handle or not shared:
                continue
            if is_exclusive or other.is_exclusive:
                raise ValueError(
                    f"{self.name} and {other.handle.op.name} both use {min(t.name for t in shared)}, and one "
                    "of them has exclusive access: give exclusive_resource_access=False in both if that is "
                    "meant."
                )
        executions.append(_Execution(self._handle, lock, resources, is_exclusive))


def _run_before(lock: Tensor, inside: list[Operation]) -> None:
    """Has the lock wait for what the part takes from outside, but for what is outside of the lock's loop: no
    iteration could see that end, and only the values that Enter brings into the loop arrive in it."""
    own = {lock.op, *inside}
    loop = _loop_of(lock.op)
    sources = {
        source: None
        for operation in inside
        for source in (*(tensor.op for tensor in operation.inputs), *operation.control_inputs)
        if source not in own and _loop_of(source) is loop
    }
    lock.op._add_control_inputs([op for op in sources if op not in lock.op.control_inputs])


def _loop_of(operation: Operation) -> ControlFlowContext | None:
    context = output_context(operation)
    return None if context is None else context.GetWhileContext()
