"""A function of one row as operations over all rows: what `tf.vectorized_map` does in place of a loop.

Each operation of the function, traced for one row, becomes one that takes those of all rows, stacked along a
new first dimension. What no row goes into is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core.dims import Dims
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.graph import get_default_graph, lookup_op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one


class CannotVectorize(Exception):
    """An operation has no form for all rows at once; the message says which."""


class Value(NamedTuple):
    """What stands for a tensor of the function.

    Attributes:
        tensor: in the graph of the caller.
        stacked: whether it has the values of all rows, along its first dimension.
    """

    tensor: Tensor
    stacked: bool


Rule = Callable[["_Vectorizer", Operation, list[Value]], Sequence[Tensor]]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALONG = _names(
    "Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil CheckNumerics Cos Cosh Digamma Elu Erf Erfc Exp Expm1 "
    "Floor Identity Inv Invert IsFinite IsInf IsNan LeakyRelu Lgamma Log Log1p LogicalNot Neg OnesLike "
    "PreventGradient Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh Snapshot Softplus "
    "Softsign Sqrt Square StopGradient Tan Tanh ZerosLike EluGrad ReluGrad Relu6Grad SigmoidGrad TanhGrad "
    "SoftplusGrad SqrtGrad RsqrtGrad MatrixInverse MatrixDeterminant Cholesky "
    "BatchMatMul BatchMatMulV2 MatrixTriangularSolve MatrixSolve AsString StringLower StringUpper"
)
"""Ops that take further dimensions in front as they are; operands of several have to have them all."""

_BROADCAST = _names(
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Div DivNoNan Equal FloorDiv FloorMod Greater "
    "GreaterEqual LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan NotEqual "
    "Pow RealDiv RightShift SelectV2 SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlogy Zeta"
)
_REDUCTIONS = _names("All Any Max Mean Min Prod Sum ArgMax ArgMin Cumsum Cumprod")
_PURE = frozenset(("ReadVariableOp", "Assert", "CheckNumerics", "Placeholder", "Const"))


def vectorize(
    graph: FuncGraph, rows: dict[Tensor, Tensor], outputs: Sequence[Tensor], count: Tensor
) -> list[Tensor]:
    """The values of `outputs`, tensors of a function's graph, for all rows, stacked.

    Args:
        rows: the placeholders of the function's arguments, each with the tensor of all its rows.
        count: the number of rows, int32.

    Raises:
        CannotVectorize: an operation that the outputs need has no form for all rows.
    """
    known = {inner: Value(stacked, True) for inner, stacked in rows.items()}
    known.update({inner: Value(outer, False) for outer, inner in graph._placeholders.items()})
    return _Vectorizer(graph, known, count).stacked(outputs)


class _Vectorizer:
    def __init__(self, graph: FuncGraph, known: dict[Tensor, Value], count: Tensor) -> None:
        self._graph, self._known, self.count = graph, known, count

    def stacked(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs of all rows. Operations are converted in the order in which they were made."""
        needed = _needed(outputs)
        for op in self._graph.get_operations():
            if op.type not in _PURE and lookup_op(op.type).is_stateful:
                raise CannotVectorize(f"{op.type} has a state")
            if op in needed and not all(output in self._known for output in op.outputs):
                self._convert(op)
        return [self._all_rows(self._known[output]) for output in outputs]

    def _convert(self, op: Operation) -> None:
        if op.control_inputs:
            raise CannotVectorize(f"{op.type} runs after other operations")
        inputs = [self._known[tensor] for tensor in op.inputs]
        if not any(value.stacked for value in inputs):
            made = emitted(op, [value.tensor for value in inputs])
            stacked = False
        else:
            rule = _RULES.get(op.type)
            if rule is None:
                raise CannotVectorize(f"{op.type} has no form for all rows at once")
            made, stacked = rule(self, op, inputs), True
        for output, tensor in zip(op.outputs, made, strict=True):
            if output.dims is not None:
                tensor.set_shape([None, *output.dims] if stacked else output.dims)
            self._known[output] = Value(tensor, stacked)

    def _all_rows(self, value: Value) -> Tensor:
        """The value of each row, also where it is the same for all."""
        if value.stacked:
            return value.tensor
        whole = apply_one("ExpandDims", value.tensor, 0)
        rank = dims_of(value.tensor)
        multiples = apply_one("ConcatV2", [apply_one("ExpandDims", self.count, 0), [1] * len(rank)], 0)
        return apply_one("Tile", whole, multiples)

    def all_rows(self, values: Sequence[Value]) -> list[Tensor]:
        """Values of which each has all rows."""
        return [self._all_rows(value) for value in values]


def _needed(outputs: Sequence[Tensor]) -> set[Operation]:
    found: set[Operation] = set()
    left = [output.op for output in outputs]
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            left += [tensor.op for tensor in op.inputs]
    return found


def emitted(op: Operation, inputs: Sequence[Tensor], **changed: Any) -> Sequence[Tensor]:
    """The outputs of an operation like `op` in the default graph, with other inputs and attributes."""
    graph = get_default_graph()
    attrs = {**op.attrs, **changed}
    types = [output.dtype for output in op.outputs]
    name = graph.unique_name(op.name.rpartition("/")[2])
    outputs: Sequence[Tensor] = graph.add_operation(
        lookup_op(op.type), name, tuple(inputs), attrs, types
    ).outputs
    return outputs


def dims_of(tensor: Tensor) -> tuple[int | None, ...]:
    """The static sizes. Raises CannotVectorize: the rank is not known."""
    dims: Dims = tensor.dims
    if dims is None:
        raise CannotVectorize(f"the rank of {tensor.op.name} is not known")
    return dims


def _numbers(value: Value, tensor: Tensor) -> Any:
    """The values of an input that says where: the same for all rows, and known now."""
    found = None if value.stacked else static_value(tensor)
    if found is None:
        raise CannotVectorize(f"{tensor.op.name} is not known before the step")
    return np.asarray(found)


def _behind(axes: Any) -> Any:
    """Axes of a row as those of all rows."""
    return np.where(axes < 0, axes, axes + 1).astype(axes.dtype)


def _same(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    if len(inputs) > 1 and len({len(dims_of(tensor)) for tensor in op.inputs}) > 1:
        _refuse(f"{op.type} of operands of several ranks")
    return emitted(op, state.all_rows(inputs))


def _broadcast(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    ranks = [len(dims_of(tensor)) for tensor in op.inputs]
    found = []
    for value, rank in zip(inputs, ranks, strict=True):
        tensor = value.tensor
        if value.stacked:
            for _ in range(max(ranks) - rank):
                tensor = apply_one("ExpandDims", tensor, 1)
        found.append(tensor)
    return emitted(op, found)


def _reduced(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    axes = _numbers(inputs[1], op.inputs[1])
    return emitted(op, [inputs[0].tensor, convert_to_tensor(_behind(axes))])


def _product(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    a, b = (value.tensor for value in inputs)
    if a.dtype.base.is_complex:
        _refuse("MatMul of complex numbers")
    return [apply_one("BatchMatMulV2", a, b, adj_x=op.attrs["transpose_a"], adj_y=op.attrs["transpose_b"])]


def _refuse(what: str) -> Any:
    raise CannotVectorize(f"{what} has no form for all rows at once")


def _reshaped(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    if inputs[1].stacked:
        _refuse("Reshape to a shape of each row")
    shape = inputs[1].tensor
    count = apply_one("Cast", apply_one("ExpandDims", state.count, 0), DstT=shape.dtype.base)
    return emitted(op, [inputs[0].tensor, apply_one("ConcatV2", [count, shape], 0)])


def _expanded(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    axis = _numbers(inputs[1], op.inputs[1])
    return emitted(op, [inputs[0].tensor, convert_to_tensor(_behind(axis))])


def _squeezed(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    dims = op.attrs["squeeze_dims"] or [i for i, size in enumerate(dims_of(op.inputs[0])) if size == 1]
    if not dims:
        return [apply_one("Identity", inputs[0].tensor)]
    return emitted(op, [inputs[0].tensor], squeeze_dims=[d if d < 0 else d + 1 for d in dims])


def _transposed(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    order = _numbers(inputs[1], op.inputs[1])
    rank = len(order)
    moved = np.concatenate([[0], order % rank + 1]).astype(order.dtype)
    return emitted(op, [inputs[0].tensor, convert_to_tensor(moved)])


def _joined(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    axis = _numbers(inputs[-1], op.inputs[-1])
    return emitted(op, [*state.all_rows(inputs[:-1]), convert_to_tensor(_behind(axis))])


def _packed(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    axis = op.attrs["axis"]
    return emitted(op, state.all_rows(inputs), axis=axis if axis < 0 else axis + 1)


def _sliced(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    begin, end, strides = (
        _numbers(value, tensor) for value, tensor in zip(inputs[1:], op.inputs[1:], strict=True)
    )
    parts = (0, begin), (0, end), (1, strides)
    ends = [np.concatenate([[first], part]).astype(part.dtype) for first, part in parts]
    masks = {
        name: op.attrs[name] << 1 | (1 if name in ("begin_mask", "end_mask") else 0)
        for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    }
    return emitted(op, [inputs[0].tensor, *map(convert_to_tensor, ends)], **masks)


def _gathered(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    axis = int(_numbers(inputs[2], op.inputs[2]))
    params, indices = inputs[:2]
    batch = op.attrs.get("batch_dims", 0)
    if batch:
        _refuse("GatherV2 of batches")
    if not params.stacked:
        if axis:
            _refuse("GatherV2 along another axis than the first")
        return emitted(op, [params.tensor, indices.tensor, convert_to_tensor(np.int32(0))])
    if not indices.stacked:
        moved = convert_to_tensor(np.int32(axis if axis < 0 else axis + 1))
        return emitted(op, [params.tensor, indices.tensor, moved])
    if axis:
        _refuse("GatherV2 along another axis than the first")
    return emitted(op, [params.tensor, indices.tensor, convert_to_tensor(np.int32(1))], batch_dims=1)


def _selected(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    ranks = {len(dims_of(tensor)) for tensor in op.inputs}
    if len(ranks) > 1 and len(dims_of(op.inputs[0])):
        _refuse("Select by rows")
    condition, *values = state.all_rows(inputs)
    for _ in range(max(ranks) - len(dims_of(op.inputs[0]))):
        condition = apply_one("ExpandDims", condition, -1)
    return [apply_one("SelectV2", condition, *values)]


def _softmax(state: _Vectorizer, op: Operation, inputs: list[Value]) -> Sequence[Tensor]:
    if len(dims_of(op.inputs[0])) < 1:
        _refuse("Softmax of scalars")
    return _same(state, op, inputs)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ALONG, _same),
    **dict.fromkeys(_BROADCAST, _broadcast),
    **dict.fromkeys(_REDUCTIONS, _reduced),
    "MatMul": _product,
    "Reshape": _reshaped,
    "ExpandDims": _expanded,
    "Squeeze": _squeezed,
    "Transpose": _transposed,
    "ConcatV2": _joined,
    "Pack": _packed,
    "StridedSlice": _sliced,
    "GatherV2": _gathered,
    "Select": _selected,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
}
