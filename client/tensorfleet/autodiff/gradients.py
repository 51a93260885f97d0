"""`tf.gradients`: adds to a graph the operations that compute derivatives, by backpropagation."""

from __future__ import annotations

import contextlib
import enum
import importlib
import pkgutil
from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from tensorfleet import ops
from tensorfleet.core import dtypes, shapes
from tensorfleet.graph import gradient_registry
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones
from tensorfleet.ops.array.indexed_slices import (
    IndexedSlices,
    concatenated,
    convert_to_tensor_or_indexed_slices,
)
from tensorfleet.ops.array.shaping import shape as shape_of
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow import control
from tensorfleet.ops.control_flow.gradient_control_flow import (
    Gradient,
    Received,
    is_trainable,
    make_control_flow,
    zeros_like,
)
from tensorfleet.ops.math.add_n import add_n


class UnconnectedGradients(enum.Enum):
    """The gradient of an x that ys do not depend on (`tf.UnconnectedGradients`)."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """The sum of a tensor's gradients (`tf.AggregationMethod`): by one AddN, or in pairs."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
) -> list[Any]:
    """The derivatives of the sum of ys with respect to each x (`tf.gradients`).

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or variable, or a list of them.
        grad_ys: what the derivative of each y is multiplied by, of y's shape; 1 where it is None.
        colocate_gradients_with_ops: place each gradient op with the operation that it differentiates.
        gate_gradients: make the gradients of an operation's inputs available together.
        aggregation_method: one of `AggregationMethod`.
        stop_gradients: tensors that count as constants.
        unconnected_gradients: what to return for an x that ys do not depend on.

    Returns:
        For each x a tensor of its shape, or an IndexedSlices where x was only gathered from, or None.

    Raises:
        LookupError: an operation between xs and ys has no gradient; the message names it and its line.
        TypeError, ValueError: arguments that do not fit each other.

    Example:
        >>> x = tf.constant(3.0)
        >>> [gradient] = tf.gradients(x * x, [x])
        >>> tf.Session().run(gradient)
        np.float32(6.0)
    """
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: '{unconnected_gradients}'") from None
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(
            f"Invalid `aggregation_method` specified {aggregation_method}. Accepted values are [0, 1, 2]."
        )
    y_list, x_list, stops = _as_list(ys), _as_list(xs), _as_list(stop_gradients)
    seeds = [None] * len(y_list) if grad_ys is None else _as_list(grad_ys)
    if len(seeds) != len(y_list):
        raise ValueError(f"Length mismatch. Passed {len(seeds)} grad_ys for {len(y_list)} ys")
    graph = get_default_graph()
    with name_scope(name, "gradients", [v for v in (*y_list, *x_list, *stops, *seeds) if v is not None]):
        y_tensors = [_source(y, f"y_{i}") for i, y in enumerate(y_list)]
        x_tensors = [_target(x, f"x_{i}") for i, x in enumerate(x_list)]
        stop_ops = [convert_to_tensor(t, as_ref=True).op for t in stops]
        run = _Backpropagation(graph, colocate_gradients_with_ops, gate_gradients, aggregation_method)
        for i, (y, seed) in enumerate(zip(y_tensors, seeds, strict=True)):
            with run.beside(y.op):
                run.received.add(y, _seed(y, seed, i))
        run.run([t.op for t in y_tensors], [t.op for t in x_tensors], stop_ops)
        return [run.result(x, unconnected) for x in x_tensors]


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _source(y: Any, name: str) -> Tensor:
    """The tensor to differentiate."""
    found = convert_to_tensor_or_indexed_slices(y, name=name)
    return found.values if isinstance(found, IndexedSlices) else found


def _target(x: Any, name: str) -> Tensor:
    """The tensor that stands for x: of a variable, its reference or its handle."""
    if isinstance(x, IndexedSlices):
        return x.values
    if not isinstance(x, Tensor) and isinstance(handle := getattr(x, "handle", None), Tensor):
        return handle
    return convert_to_tensor(x, name=name, as_ref=True)


def _seed(y: Tensor, given: Any, index: int) -> Gradient:
    """The gradient that backpropagation starts from at y."""
    dtype = y.dtype.base
    if given is None:
        if dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors ({y}) must set grad_ys (y.dtype = {dtype.name})")
        return ones(shape_of(y), dtype=dtype, name=f"grad_ys_{index}")
    seed = convert_to_tensor_or_indexed_slices(given, name=f"grad_y_{index}")
    got = seed.dtype.base
    if dtype.is_floating or dtype.is_integer:
        if not (got.is_floating or got.is_integer):
            raise TypeError(
                f"Gradient type {got.name} generated for real or integer-valued tensor {y} with type "
                f"{dtype.name} must be real or integer"
            )
    elif dtype.is_complex:
        if not got.is_complex:
            raise TypeError(
                f"Gradient type {got.name} generated for complex-valued tensor {y} with type {dtype.name} "
                "must be complex"
            )
    elif dtype is dtypes.variant:
        if got is not dtypes.variant:
            raise TypeError(
                f"Gradient type {got.name} generated for variant tensor {y} with type {dtype.name} must be "
                "variant"
            )
    elif dtype is not dtypes.resource:
        raise TypeError(f"Tensor {y} with type {dtype.name} must be numeric to obtain a default gradient")
    if isinstance(seed, IndexedSlices):
        shape = seed.dense_shape
        return IndexedSlices(
            apply_one("Identity", seed.values, name=f"grad_ys_{index}_values"),
            apply_one("Identity", seed.indices, name=f"grad_ys_{index}_indices"),
            None if shape is None else apply_one("Identity", shape, name=f"grad_ys_{index}_shape"),
        )
    return apply_one("Identity", seed, name=f"grad_ys_{index}")


class _Backpropagation:
    """One call of `gradients`: from the ys back to the xs, each operation after all that consume it."""

    def __init__(self, graph: Graph, colocate: bool, gate: bool, aggregation: int | None) -> None:
        self.received = Received()
        self._graph = graph
        self._colocate = colocate
        self._gate = gate
        self._in_pairs = bool(aggregation)

    def beside(self, op: Operation) -> AbstractContextManager[Any]:
        """The context in which the gradient ops of an operation are made, to be placed beside it."""
        return self._graph.colocate_with(op) if self._colocate else contextlib.nullcontext()

    def run(self, to_ops: list[Operation], from_ops: list[Operation], stop_ops: list[Operation]) -> None:
        gradient_registry.load()
        between = _between(to_ops, from_ops)
        pending: defaultdict[Operation, int] = defaultdict(int)
        for op in between:
            for tensor in op.inputs:
                if tensor.op in between:
                    pending[tensor.op] += 1
        flow = make_control_flow(list(between), self.received, self._colocate)
        ready = dict.fromkeys(op for op in to_ops if op in between and not pending[op])
        queue = deque(ready)
        queue.extend(flow.start(pending, set(ready)))
        # An x that does not depend on another x ends its path.
        ends = {op for op in from_ops if not any(pending[t.op] for t in op.inputs)}.union(stop_ops)
        while queue:
            op = queue.popleft()
            with self.beside(op):
                with flow.gathering(op):
                    sums = self.received.sums[op] = self._sums(op)
                rule = None
                if op not in ends and any(g is not None for g in sums):
                    rule = _rule(op)
                if rule is not None:
                    with flow.differentiating(op):
                        for i, output in enumerate(op.outputs[: len(op.outputs) - op.added_outputs]):
                            if sums[i] is None and is_trainable(output):
                                sums[i] = flow.zeros_like(op, i)
                        self._pass_on(op, self._differentiate(op, rule, sums))
            for tensor in op.inputs:
                if tensor.op in between:
                    pending[tensor.op] -= 1
                    queue.extend(flow.next(tensor, pending[tensor.op]))
        flow.finish()

    def _sums(self, op: Operation) -> list[Gradient | None]:
        """One gradient per output of those that arrived, None where none did."""
        if op in self.received.sums:
            return self.received.sums[op]
        return [self._sum(op, grads) if grads else None for grads in self.received.lists(op)]

    def _sum(self, op: Operation, grads: list[Gradient]) -> Gradient:
        if len(grads) == 1:
            return grads[0]
        slices = [g for g in grads if isinstance(g, IndexedSlices)]
        if len(slices) == len(grads):
            return concatenated(slices)
        if slices:
            return add_n(grads)
        tensors = [g for g in grads if isinstance(g, Tensor)]
        if self._in_pairs:
            with self._graph.name_scope(f"{op.name}_gradient_sum"):
                total = tensors[0]
                for tensor in tensors[1:]:
                    total = add_n([total, tensor])
                return total
        # Each device adds up what it has, so that one tensor of it travels.
        by_device: defaultdict[str, list[Tensor]] = defaultdict(list)
        for tensor in tensors:
            by_device[tensor.device].append(tensor)
        parts = []
        for device in sorted(by_device):
            with self._graph.colocate_with(by_device[device][0].op, ignore_existing=True):
                parts.append(add_n(by_device[device]))
        return add_n(parts)

    def _differentiate(
        self, op: Operation, rule: gradient_registry.Rule, grads: Sequence[Gradient | None]
    ) -> list[Gradient | None]:
        """The gradient of each input of the operation."""
        with self._graph.name_scope(f"{op.name}_grad"):
            if not gradient_registry.takes_slices(rule):
                grads = [convert_to_tensor(g) if isinstance(g, IndexedSlices) else g for g in grads]
            result = rule(op, *grads)
            in_grads = list(result) if isinstance(result, (list, tuple)) else [result]
            if len(in_grads) != len(op.inputs):
                raise ValueError(
                    f"Num gradients {len(in_grads)} generated for op {op.node_def} do not match num inputs "
                    f"{len(op.inputs)}"
                )
            if self._gate and sum(g is not None for g in in_grads) > 1:
                with self._graph.device(None), self._graph.colocate_with(None, ignore_existing=True):
                    in_grads = control.tuple(in_grads)
            return in_grads

    def _pass_on(self, op: Operation, in_grads: list[Gradient | None]) -> None:
        for index, (tensor, grad) in enumerate(zip(op.inputs, in_grads, strict=True)):
            if grad is None:
                continue
            if isinstance(grad, Tensor) and tensor.dtype.base is not dtypes.resource:
                try:
                    grad.set_shape(tensor.dims)
                except ValueError:
                    raise ValueError(
                        f"Incompatible shapes between op input and calculated input gradient. Forward "
                        f"operation: {op.name}. Input index: {index}. Original input shape: {tensor.shape}. "
                        f"Calculated input gradient shape: {grad.shape}"
                    ) from None
            self.received.add(tensor, grad)

    def result(self, x: Tensor, unconnected: UnconnectedGradients) -> Gradient | None:
        """The gradient of an x."""
        sums = self.received.sums.get(x.op)
        grad = None if sums is None else sums[x.value_index]
        if grad is not None or unconnected is UnconnectedGradients.NONE:
            return grad
        if x.dtype.base is dtypes.resource:
            shape = apply_one("VariableShape", x)
            return apply_one("Fill", shape, convert_to_tensor(0, x.op.attrs["dtype"]), name="zeros")
        return zeros_like(x)


def _between(to_ops: list[Operation], from_ops: list[Operation]) -> dict[Operation, None]:
    """The operations on paths from `from_ops` to `to_ops` along which gradients flow; nearest to ys first."""
    reached = set()
    queue = deque(from_ops)
    while queue:
        op = queue.popleft()
        if op not in reached:
            reached.add(op)
            for output in op.outputs:
                if is_trainable(output):
                    queue.extend(output._consumers)
    between: dict[Operation, None] = {}
    queue = deque(to_ops)
    while queue:
        op = queue.popleft()
        if op in reached:
            reached.remove(op)
            between[op] = None
            queue.extend(tensor.op for tensor in op.inputs)
    return between


def _rule(op: Operation) -> gradient_registry.Rule | None:
    try:
        return gradient_registry.rule_of(op)
    except LookupError:
        where = op.definition
        raise LookupError(
            f"No gradient defined for operation '{op.name}' (op type: {op.type})"
            + (f", made at {where}" if where else "")
            + ". Register one by `@tf.RegisterGradient`, wrap the computation in `tf.custom_gradient`, or "
            "insert `tf.stop_gradient` to have its inputs count as constants."
        ) from None


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """The second derivatives of the sum of ys with respect to each x (`tf.hessians`).

    Each element of x gets a backpropagation of its own, so the number of elements must be known.

    Returns:
        For each x a tensor of shape x.shape + x.shape.

    Raises:
        ValueError: the shape of an x is not known, or ys do not depend on it.

    Example:
        >>> x = tf.constant([1.0, 2.0])
        >>> [hessian] = tf.hessians(tf.reduce_sum(x ** 3), [x])
        >>> tf.Session().run(hessian)
        array([[ 6.,  0.],
               [ 0., 12.]], dtype=float32)
    """
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    x_list = _as_list(xs)
    results = []
    with get_default_graph().name_scope(name):
        for x, grad in zip(x_list, gradients(ys, x_list, **options), strict=True):
            dims = shapes.as_dims(x.shape)
            count = shapes.num_elements(dims)
            if dims is None or count is None:
                raise ValueError(f"Hessians need the shape of x, but that of {x.name} is {x.shape}.")
            if grad is None:
                raise ValueError(f"Hessians need ys that depend on x, but they do not depend on {x.name}.")
            flat = apply_one("Reshape", grad, [-1])
            rows = [
                gradients(flat[i], x, **options, unconnected_gradients=UnconnectedGradients.ZERO)[0]
                for i in range(count)
            ]
            results.append(apply_one("Reshape", apply_one("Pack", rows, axis=0), [*dims, *dims]))
    return results


def _load_rules() -> None:
    for module in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        if module.name.endswith("_grad"):
            importlib.import_module(module.name)


gradient_registry.serve(_load_rules, gradients)
