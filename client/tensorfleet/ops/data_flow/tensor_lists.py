"""Signatures of the ops on lists of tensors: values on variant edges, which each op gives anew.

Functional loops keep in them what an iteration leaves for the loop that differentiates it.
"""

from __future__ import annotations

from tensorfleet.core.dims import Dims, concatenate, merge
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import static_dims
from tensorfleet.ops.shape_rules import scalar, with_rank, with_rank_at_least

_SHAPE = "shape_type: {int32, int64}"


def _element(op: RuleNode, index: int) -> Dims:
    """The shape of an element, as far as the input with this number says it; -1 is any rank."""
    tensor = op.inputs[index]
    return None if tensor.dims == () else static_dims(tensor)


def _list_element(handle: RuleTensor) -> Dims:
    """The shape of the elements of a list, by the op that made it."""
    for _ in range(MAX_TRACED):
        op = handle.op
        place = _SAYS_SHAPE.get(op.type)
        if place is not None:
            return _element(op, place)
        if op.type not in _SAME_LIST:
            return None
        handle = op.inputs[0]
    return None


MAX_TRACED = 100
_SAYS_SHAPE = {
    **dict.fromkeys(("EmptyTensorList", "TensorListReserve"), 0),
    **dict.fromkeys(("TensorListFromTensor", "TensorListSplit"), 1),
    **dict.fromkeys(("TensorListScatter", "TensorListScatterV2"), 2),
}
_SAME_LIST = frozenset(
    {
        *("TensorListPushBack", "TensorListPopBack", "TensorListSetItem", "TensorListResize"),
        *("TensorListScatterIntoExistingList", "Identity"),
    }
)


def _both(op: RuleNode, index: int) -> Dims:
    """An element's shape by the input with this number, and by the list itself."""
    return merge(_element(op, index), _list_element(op.inputs[0]))


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


def _popped(op: RuleNode) -> list[Dims]:
    return [(), _both(op, 1)]


def _got(op: RuleNode) -> list[Dims]:
    return [_both(op, 2)]


def _stacked(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    count = op.attrs["num_elements"]
    return [concatenate((None if count < 0 else count,), _both(op, 1))]


def _gathered(op: RuleNode) -> list[Dims]:
    return [concatenate(with_rank(op.inputs[1].dims, 1), _both(op, 2))]


def _from_tensor(op: RuleNode) -> list[Dims]:
    tensor, element = with_rank_at_least(op.inputs[0].dims, 1), _element(op, 1)
    if tensor is not None:
        merge(tensor[1:], element)
    return [()]


def _concatenated(op: RuleNode) -> list[Dims]:
    element = op.attrs["element_shape"] if op.type == "TensorListConcat" else _element(op, 1)
    return [None if element is None else concatenate((None,), element[1:]), (None,)]


def _pushed_batch(op: RuleNode) -> list[Dims]:
    return [op.inputs[0].dims]


def _of_first(op: RuleNode) -> list[Dims]:
    return [op.inputs[0].dims]


for _name, _size in (("EmptyTensorList", "max_num_elements"), ("TensorListReserve", "num_elements")):
    op(
        f"{_name}(element_shape: shape_type, {_size}: int32) -> (handle: variant)",
        "element_dtype: type",
        _SHAPE,
        shape=scalar,
    )
op(
    "TensorListPushBack(input_handle: variant, tensor: element_dtype) -> (output_handle: variant)",
    "element_dtype: type",
    shape=scalar,
)
op(
    "TensorListPushBackBatch(input_handles: variant, tensor: element_dtype) -> (output_handles: variant)",
    "element_dtype: type",
    shape=_pushed_batch,
)
op(
    "TensorListPopBack(input_handle: variant, element_shape: int32) -> "
    "(output_handle: variant, tensor: element_dtype)",
    "element_dtype: type",
    shape=_popped,
)
op(
    "TensorListSetItem(input_handle: variant, index: int32, item: element_dtype) -> (output_handle: variant)",
    "element_dtype: type",
    "resize_if_index_out_of_bounds: bool = false",
    shape=scalar,
)
op(
    "TensorListGetItem(input_handle: variant, index: int32, element_shape: Tshape) -> (item: element_dtype)",
    "element_dtype: type",
    "Tshape: {int32, int64} = int32",
    shape=_got,
)
op(
    "TensorListStack(input_handle: variant, element_shape: int32) -> (tensor: element_dtype)",
    "element_dtype: type",
    "num_elements: int = -1",
    shape=_stacked,
)
op(
    "TensorListFromTensor(tensor: element_dtype, element_shape: shape_type) -> (output_handle: variant)",
    "element_dtype: type",
    _SHAPE,
    shape=_from_tensor,
)
op(
    "TensorListGather(input_handle: variant, indices: int32, element_shape: int32) -> "
    "(values: element_dtype)",
    "element_dtype: type",
    shape=_gathered,
)
op(
    "TensorListScatter(tensor: element_dtype, indices: int32, element_shape: shape_type) -> "
    "(output_handle: variant)",
    "element_dtype: type",
    _SHAPE,
    shape=scalar,
)
op(
    "TensorListScatterV2(tensor: element_dtype, indices: int32, element_shape: shape_type, "
    "num_elements: int32) -> (output_handle: variant)",
    "element_dtype: type",
    _SHAPE,
    shape=scalar,
)
op(
    "TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: int32) -> "
    "(output_handle: variant)",
    "element_dtype: type",
    shape=scalar,
)
op(
    "TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> "
    "(output_handle: variant)",
    "element_dtype: type",
    _SHAPE,
    shape=scalar,
)
op(
    "TensorListConcat(input_handle: variant) -> (tensor: element_dtype, lengths: int64)",
    "element_dtype: type",
    "element_shape: shape = ?",
    shape=_concatenated,
)
op(
    "TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: int64) -> "
    "(tensor: element_dtype, lengths: int64)",
    "element_dtype: type",
    _SHAPE,
    shape=_concatenated,
)
op(
    "TensorListConcatLists(input_a: variant, input_b: variant) -> (output: variant)",
    "element_dtype: type",
    shape=_of_first,
)
op("TensorListLength(input_handle: variant) -> (length: int32)", shape=scalar)
op("TensorListResize(input_handle: variant, size: int32) -> (output_handle: variant)", shape=scalar)
op(
    "TensorListElementShape(input_handle: variant) -> (element_shape: shape_type)",
    _SHAPE,
    shape=lambda op: [None],
)
