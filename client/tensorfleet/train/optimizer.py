"""The base class of optimizers (`tf.train.Optimizer`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_none, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group, tuple as with_all
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.variable_collections import trainable_variables
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.ops.state.variables import Variable
from tensorfleet.ops.training import training_ops  # noqa: F401 - defines the optimizers' ops
from tensorfleet.train import slot_creator
from tensorfleet.train.slot_creator import is_resource

GradientAndVariable = tuple[Any, Any]

_are_several: Callable[[], bool] = lambda: False  # noqa: E731
_apply_in_replicas: Callable[..., Any] | None = None
_scaled_in_replica: Callable[[Any], Any] = lambda loss: loss  # noqa: E731


def serve_replicas(
    are_several: Callable[[], bool], apply_gradients: Callable[..., Any], scaled: Callable[[Any], Any]
) -> None:
    """Registers what updates variables where a strategy has several replicas; called by `distribute`.

    Args:
        are_several: whether that is so where code is built now.
        apply_gradients: as the method, with the optimizer before its arguments.
        scaled: from a replica's loss to its part in the sum of all.
    """
    global _are_several, _apply_in_replicas, _scaled_in_replica
    _are_several, _apply_in_replicas, _scaled_in_replica = are_several, apply_gradients, scaled


class Optimizer:
    """The base class of optimizers, which minimize a loss by changing variables (`tf.train.Optimizer`).

    A subclass implements `_apply_dense` and `_apply_sparse` for reference variables, `_resource_apply_dense`
    and `_resource_apply_sparse` for resource variables, and if needed `_create_slots`, `_prepare` (called
    once, before the updates are made) and `_finish` (called with the updates).

    Args:
        use_locking: passed on to the ops. Updates of one variable never overlap in any case.
        name: the name of the operation that `minimize` returns, and of the slots.

    Raises:
        ValueError: an empty name.
    """

    GATE_NONE = 0
    """Gradients of one op may be applied while others of that op are still to be computed from variables."""
    GATE_OP = 1
    """All gradients of an op are computed before any is used."""
    GATE_GRAPH = 2
    """All gradients are computed before any is used."""

    _GATES: ClassVar = {GATE_NONE, GATE_OP, GATE_GRAPH}

    def __init__(
        self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False
    ) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._non_slot_scope = None
        if use_own_namescope_for_non_slot_vars:
            with variable_scope(None, default_name=name) as self._non_slot_scope:
                pass
        self._slots: dict[str, dict[tuple[Graph, str], Any]] = {}
        self._non_slots: dict[tuple[str, Graph], Any] = {}

    def get_name(self) -> str:
        """The name, which operations and slots are named after."""
        return self._name

    # The steps of training

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """`compute_gradients`, then `apply_gradients`.

        Raises:
            ValueError: no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(gradient is None for gradient, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support "
                f"gradients, between variables {[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[GradientAndVariable]:
        """The gradients of `loss` as (gradient, variable) pairs.

        Args:
            loss: a floating-point tensor, or a function that makes one.
            var_list: the variables, or tensors, to differentiate by: one, or any nested collection of them;
                by default the trainable variables.
            gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH.
            grad_loss: the gradient at `loss`, by default ones.

        Raises:
            ValueError: there are no variables, an unknown gate, or a loss that is not floating point.
            NotImplementedError: an item of `var_list` is neither a variable nor a tensor.
        """
        from tensorfleet.autodiff.gradients import gradients

        if callable(loss):
            loss = loss()
        if gate_gradients not in self._GATES:
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if _are_several():
            loss = _scaled_in_replica(loss)
        if var_list is None:
            var_list = trainable_variables() + framework.get_collection("trainable_resource_variables")
        variables = list(_flat(var_list))
        if not variables:
            raise ValueError("No variables to optimize.")
        found = gradients(
            loss,
            [_target(v) for v in variables],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == Optimizer.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == Optimizer.GATE_GRAPH:
            found = with_all(found)
        pairs = list(zip(found, variables, strict=True))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype is not dtypes.resource])
        return pairs

    def apply_gradients(
        self,
        grads_and_vars: Iterable[GradientAndVariable],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """The operation that updates the variables by their gradients and then increases the global step.

        Args:
            grads_and_vars: pairs as from `compute_gradients`; variables without a gradient (None) are not
                changed.
            global_step: a variable to add 1 to after all updates.
            name: the name of the operation, by default the optimizer's.
            skip_gradients_aggregation: ignored, as there is no aggregation.

        Raises:
            TypeError: a gradient is neither a tensor nor an IndexedSlices.
            NotImplementedError: an item to update is not a variable.
            ValueError: there are no pairs, or no gradients.
        """
        pairs = [(_gradient(g), v, _target(v)) for g, v in grads_and_vars]
        if pairs and _apply_in_replicas is not None and _are_several():
            return _apply_in_replicas(self, [(g, v) for g, v, _ in pairs], global_step, name)
        if not pairs:
            raise ValueError("No variables provided.")
        variables = [v for g, v, _ in pairs if g is not None]
        for variable in variables:
            if isinstance(variable, Tensor):
                raise NotImplementedError("Trying to update a Tensor ", variable)
        if not variables:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v, _ in pairs]}.")
        with framework.control_dependencies(None):
            self._create_slots(variables)
        updates = []
        with framework.name_scope(name, self._name) as scope:
            self._prepare()
            for grad, var, _ in pairs:
                if grad is None:
                    continue
                with framework.name_scope(f"update_{var.op.name}"), framework.colocate_with(var.op):
                    updates.append(self._update_op(grad, var))
            if global_step is None:
                applied = self._finish(updates, scope)
            else:
                with (
                    framework.control_dependencies([self._finish(updates, "update")]),
                    framework.colocate_with(global_step.op),
                ):
                    applied = _increment(global_step, scope)
        train_ops = framework.get_collection_ref(GraphKeys.TRAIN_OP)
        if applied not in train_ops:
            train_ops.append(applied)
        return applied

    def _update_op(self, grad: Any, var: Any) -> Any:
        sparse = isinstance(grad, IndexedSlices)
        if sparse and var.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        if sparse:
            if is_resource(var):
                return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
            return self._apply_sparse_duplicate_indices(grad, var)
        update = (self._resource_apply_dense if is_resource(var) else self._apply_dense)(grad, var)
        if var.constraint is None:
            return update
        with framework.control_dependencies([update]):
            # A reference variable's snapshot, shared by its readers, may be from before the update.
            return var.assign(var.constraint(var if is_resource(var) else var.read_value()))

    # Slots

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot `name` of a variable, such as "momentum", or None (`tf.train.Optimizer.get_slot`)."""
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list[str]:
        """The names of the slots that the optimizer has made."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The optimizer's own variables in the default graph: slots and others, by name."""
        graph = framework.get_default_graph()
        found = [v for v in self._non_slots.values() if v.graph is graph]
        found += [slot for slots in self._slots.values() for slot in slots.values() if slot.graph is graph]
        return sorted(found, key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[tuple[Graph, str], Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """The slot `slot_name`; a new one gets this initial value and a name that ends in `op_name`."""
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: TensorShape, dtype: DType, slot_name: str, op_name: str
    ) -> Any:
        return self._slot(
            var,
            slot_name,
            lambda: slot_creator.create_slot_with_initializer(var, initializer, shape, dtype, op_name),
        )

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _slot(self, var: Any, slot_name: str, create: Callable[[], Any]) -> Any:
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            slots[_key(var)] = create()
        return slots[_key(var)]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable that is not a slot, one for each graph, placed with `colocate_with`."""
        key = (name, colocate_with.graph)
        if key not in self._non_slots:
            placed: dict[str, Any] = {"trainable": False, "use_resource": is_resource(colocate_with)}
            with framework.colocate_with(colocate_with.op):
                if self._non_slot_scope is None:
                    self._non_slots[key] = Variable(initial_value, name=name, **placed)
                else:
                    with framework.name_scope(""), variable_scope(self._non_slot_scope):
                        self._non_slots[key] = get_variable(name, initializer=initial_value, **placed)
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph) -> Any:
        return self._non_slots.get((name, graph))

    # Implemented by subclasses

    def _valid_dtypes(self) -> set[DType]:
        """The dtypes that losses, variables and gradients may have."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base
            if dtype not in valid:
                raise ValueError(f"Invalid type {dtype!r} for {tensor.name}, expected: {list(valid)}.")

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots of these variables."""

    def _prepare(self) -> None:
        """Makes tensors of the hyperparameters for the updates."""

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """The operation, of this name, that runs all updates."""
        return group(*update_ops, name=name_scope)

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        raise NotImplementedError

    def _resource_apply_dense(self, grad: Tensor, var: Any) -> Any:
        raise NotImplementedError

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        """`_apply_sparse` for indices that may repeat: rows of the same index are added up first."""
        values, indices = summed_by_index(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        values, distinct = summed_by_index(grad, indices)
        return self._resource_apply_sparse(values, var, distinct)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        raise NotImplementedError

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        raise NotImplementedError


def summed_by_index(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The rows, with those of the same index added up, and the distinct indices."""
    distinct, places = apply_op("Unique", indices)
    count = apply_one("Shape", distinct)[0]
    return apply_one("UnsortedSegmentSum", values, places, count), distinct


def number(value: Any, name: str) -> Any:
    """A hyperparameter as a tensor; if it is a function, its result."""
    return convert_to_tensor(
        value() if callable(value) and not isinstance(value, Variable) else value, name=name
    )


def as_type_of(value: Any, var: Any) -> Any:
    """A number, a tensor or variable, in the dtype of `var`."""
    return value if value.dtype.base is var.dtype.base else cast(value, var.dtype.base)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, Iterable) and not isinstance(value, (Variable, Tensor, str)):
        return list(itertools.chain.from_iterable(_flat(item) for item in value))
    return [value]


def _key(var: Any) -> tuple[Graph, str]:
    var = getattr(var, "primary", var)  # of a variable with copies, the one that it is named after
    return var.op.graph, var.op.name


def _target(var: Any) -> Tensor:
    """The tensor with respect to which the gradient is taken.

    Raises:
        NotImplementedError: `var` is neither a variable nor a tensor.
    """
    if isinstance(var, Tensor):
        return var
    if not isinstance(var, Variable):
        raise NotImplementedError("Trying to optimize unsupported type ", var)
    target: Tensor = var.handle if is_resource(var) else var._ref()  # type: ignore[attr-defined]
    return target


def _gradient(value: Any) -> Any:
    if value is None:
        return None
    try:
        return convert_to_tensor_or_indexed_slices(value)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {value}"
        ) from None


def _increment(global_step: Any, name: str) -> Operation:
    if is_resource(global_step):
        one = convert_to_tensor(1, dtype=global_step.dtype)
        return apply_none("AssignAddVariableOp", global_step.handle, one, name=name)
    operation: Operation = variable_ops.assign_add(global_step, 1, name=name).op
    return operation
