"""The ops of barriers, which gather the components of an element by its key until all have come."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.core import dims as dims_module, dtypes, shapes as shapes_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_none, apply_one, apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import nothing, scalar, with_rank, with_rank_at_least


def _pair(op: RuleNode) -> list[Dims]:
    return [(2,)]


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


def _inserted(op: RuleNode) -> list[Dims]:
    keys = with_rank(op.inputs[1].dims, 1)
    values = with_rank_at_least(op.inputs[2].dims, 1)
    if values is not None:
        dims_module.merge(keys, values[:1])
    return []


_HANDLE = "handle: Ref(string)"
op(
    "Barrier() -> (handle: Ref(string))",
    "component_types: list(type) >= 1",
    "shapes: list(shape) >= 0 = []",
    "capacity: int = -1",
    'container: string = ""',
    'shared_name: string = ""',
    shape=_pair,
    stateful=True,
)
op(
    f"BarrierInsertMany({_HANDLE}, keys: string, values: T) -> ()",
    "T: type",
    "component_index: int",
    shape=_inserted,
)
op(
    f"BarrierTakeMany({_HANDLE}, num_elements: int32) -> "
    "(indices: int64, keys: string, values: list(component_types))",
    "component_types: list(type) >= 1",
    "allow_small_batch: bool = false",
    "wait_for_incomplete: bool = false",
    "timeout_ms: int = -1",
    shape=_unknown,
)
op(f"BarrierClose({_HANDLE}) -> ()", "cancel_pending_enqueues: bool = false", shape=nothing)
op(f"BarrierReadySize({_HANDLE}) -> (size: int32)", shape=scalar)
op(f"BarrierIncompleteSize({_HANDLE}) -> (size: int32)", shape=scalar)


class Barrier:
    """Elements of several components, which come one by one under a key (`data_flow_ops.Barrier`).

    An element is complete, and can be taken, when all of its components have come.
    """

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier"
    ) -> None:
        """A barrier for components of these dtypes, and of these shapes if they are given.

        Raises:
            ValueError: a shape has no elements.
        """
        listed = types if isinstance(types, (list, tuple)) else [types]
        self._types = [dtypes.as_dtype(each) for each in listed]
        self._shapes: list[Dims] = [None] * len(self._types)
        if shapes is not None:
            several = isinstance(shapes, list) and len(shapes) == len(self._types) and len(self._types) > 1
            one_each = shapes if several or (shapes and isinstance(shapes[0], (list, tuple))) else [shapes]
            self._shapes = [shapes_module.as_dims(shape) for shape in one_each]
            for i, dims in enumerate(self._shapes):
                if dims is not None and None not in dims and not math.prod(size or 0 for size in dims):
                    raise ValueError(
                        f"Empty tensors are not supported, but received shape '{dims}' at index {i}"
                    )
        given = [] if shapes is None else self._shapes
        self._barrier_ref = apply_one(
            "Barrier", component_types=self._types, shapes=given, shared_name=shared_name or "", name=name
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The barrier's handle."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the barrier's operation."""
        return self._barrier_ref.op.name

    def insert_many(self, component_index: int, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Sets one component of the elements with these keys.

        Args:
            component_index: which component.
            keys: strings, [n].
            values: [n, ...].
        """
        return apply_none(
            "BarrierInsertMany",
            self._barrier_ref,
            keys,
            values,
            component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )

    def take_many(
        self,
        num_elements: Any,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Indices, keys and components of elements that are complete, which leave the barrier.

        Args:
            num_elements: how many.
            allow_small_batch: take fewer, if the barrier is closed.
            timeout: in milliseconds; not supported.
        """
        taken = apply_op(
            "BarrierTakeMany",
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=timeout,
            name=name or f"{self._name}_BarrierTakeMany",
        )
        op = taken[0].op
        known = None if allow_small_batch else static_value(op.inputs[1])
        size = None if known is None else int(known)
        for output, dims in zip(op.outputs, [(), (), *self._shapes], strict=True):
            output.set_shape(None if dims is None else [size, *dims])
        return taken

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Closes the barrier to new elements; with `cancel_pending_enqueues` to incomplete ones as well."""
        return apply_none(
            "BarrierClose",
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """The number of elements that are complete: int32 []."""
        return apply_one("BarrierReadySize", self._barrier_ref, name=name or f"{self._name}_BarrierReadySize")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of elements that are not complete: int32 []."""
        default = f"{self._name}_BarrierIncompleteSize"
        return apply_one("BarrierIncompleteSize", self._barrier_ref, name=name or default)
