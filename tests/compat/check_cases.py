"""Nodes with inputs that their kernels refuse, with shapes that are not known before the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import list_ops

Case = Callable[[], Any]
R = tf.raw_ops


def given(value: Any) -> Any:
    """A tensor with this value, whose shape no shape rule knows."""
    return tf.placeholder_with_default(tf.constant(value), None)


def f(*shape: int) -> Any:
    return given(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def i(value: Any) -> Any:
    return given(np.array(value, np.int32))


def j(value: Any) -> Any:
    return given(np.array(value, np.int64))


ARRAYS: dict[str, Case] = {
    "axis of ConcatV2": lambda: R.ConcatV2(values=[f(2, 3), f(2, 3)], axis=i([0, 1])),
    "ConcatOffset of numbers": lambda: R.ConcatOffset(concat_dim=i(1), shape=[i(2), i(2)]),
    "axis of SplitV": lambda: R.SplitV(value=f(2, 3), size_splits=i([1, 2]), axis=i([0, 1]), num_split=2),
    "254 dimensions": lambda: tf.reshape(f(1), j(np.ones(254))),
    "multiples in a matrix": lambda: tf.tile(f(2, 3), i([[2, 1]])),
    "slice of a number": lambda: R.StridedSlice(input=f(), begin=i([0]), end=i([2]), strides=i([1])),
    "shape in a matrix": lambda: R.StridedSliceGrad(
        shape=i([[3, 3]]), begin=i([1]), end=i([3]), strides=i([1]), dy=f(1, 3)
    ),
    "row of a number": lambda: R.GatherV2(params=f(), indices=i([0]), axis=i(0)),
    "entry of nothing": lambda: tf.gather_nd(f(0, 2), i([[0]])),
    "paddings of one dimension": lambda: tf.pad(f(2, 3), i([[1, 1]])),
    "long mirror": lambda: tf.pad(f(2, 3), i([[3, 0], [0, 0]]), "SYMMETRIC"),
    "negative mirror": lambda: tf.pad(f(2, 3), i([[-3, 0], [0, 0]]), "SYMMETRIC"),
    "mirror of more than all": lambda: R.MirrorPadGrad(input=f(1), paddings=i([[7, 9]]), mode="REFLECT"),
    "mirror of negative paddings": lambda: R.MirrorPadGrad(input=f(3), paddings=i([[-1, 2]]), mode="REFLECT"),
    "Select by other vector": lambda: tf.where(given([True, False]), f(3), f(3)),
    "Select of two shapes": lambda: tf.where(given([True, False]), f(2, 3), f(2, 2)),
    "Select of numbers by a vector": lambda: tf.where(given([True, False]), f(), f()),
    "Select by a number": lambda: tf.where(given(True), f(2, 3), f(2)),
    "two axes of unique": lambda: R.UniqueV2(x=i([[1, 2]]), axis=j([0, 1]))[0],
    "axes in a matrix": lambda: R.UniqueV2(x=i([[1, 2]]), axis=j(np.zeros((1, 1))))[0],
    "unique of a matrix": lambda: R.UniqueV2(x=i([[1, 2]]), axis=j([]))[0],
    "other number of lengths": lambda: tf.reverse_sequence(f(2, 3), i([1, 2, 3]), 1, batch_axis=0),
    "lengths in a matrix": lambda: R.ReverseSequence(
        input=f(2, 3), seq_lengths=i([[1, 1]]), seq_dim=1, batch_dim=0
    ),
    "axis alone": lambda: tf.reverse(f(2, 3), i(0)),
    "shape in a matrix of BroadcastTo": lambda: tf.broadcast_to(f(2, 3), i([[2, 3]])),
    "negative size": lambda: tf.broadcast_to(f(2, 3), i([-2, 3])),
    "negative size of Empty": lambda: R.Empty(shape=i([-2, 2]), dtype=tf.float32),
    "start in a vector": lambda: R.LinSpace(start=f(1), stop=f(), num=i(2)),
    "num in a vector": lambda: R.LinSpace(start=f(), stop=f(), num=i([2])),
    "large dims": lambda: tf.unravel_index(i(5), i([0x10000000, 0x10000000])),
    "indices in a matrix": lambda: R.UnravelIndex(indices=i([[1]]), dims=i([3, 4])),
    "dims in a matrix": lambda: R.UnravelIndex(indices=i([1]), dims=i([[3, 4]])),
    "three diagonals": lambda: R.MatrixDiagPartV3(input=f(3, 3), k=i([1, 0, 3]), padding_value=f()),
    "diagonals in a matrix": lambda: R.MatrixDiagPartV3(input=f(3, 3), k=i([[1, 0]]), padding_value=f()),
    "padding in a vector": lambda: R.MatrixDiagPartV3(input=f(3, 3), k=i([0, 1]), padding_value=f(2)),
    "no diagonals": lambda: R.MatrixDiagV3(
        diagonal=f(2, 3), k=i([]), num_rows=i(1), num_cols=i(4), padding_value=f()
    ),
    "other number of diagonals": lambda: R.MatrixSetDiagV3(input=f(3, 3), diagonal=f(3, 3), k=i([0, 1])),
    "three columns of crops": lambda: R.BatchToSpace(
        input=f(4, 1, 1, 1), crops=i([[0, 0, 0], [0, 0, 0]]), block_size=2
    ),
    "image of three dimensions": lambda: R.SpaceToDepth(input=f(1, 2, 2), block_size=2),
    "rows that begin otherwise": lambda: tf.dynamic_stitch([i([0])], [f()]),
    "three kinds of numbers": lambda: R.CheckNumericsV2(
        tensor=given(np.array([np.inf, -np.inf, np.nan], np.float32)), message="m"
    ),
    "update of nothing": lambda: tf.scatter_nd(i([[0]]), f(1, 2), i([0, 2])),
    "other outer sizes": lambda: tf.scatter_nd(i([[0]]), f(2, 2), i([3, 2])),
    "other inner sizes": lambda: tf.scatter_nd(i([[0]]), f(1, 3), i([3, 2])),
    "index without dimensions": lambda: tf.scatter_nd(i(0), f(), i([3])),
    "update without dimensions": lambda: tf.scatter_nd(i([0]), f(), i([3])),
    "tensor's outer sizes": lambda: tf.tensor_scatter_nd_add(f(3, 2), i([[0]]), f(2, 2)),
    "tensor's inner sizes": lambda: tf.tensor_scatter_nd_sub(f(3, 2), i([[0]]), f(1, 3)),
    "update of an empty tensor": lambda: tf.tensor_scatter_nd_update(f(0, 2), i([[0]]), f(1, 2)),
    "row in place": lambda: R.InplaceAdd(x=f(3), i=i([0, 1]), v=f(1)),
    "rows in a matrix": lambda: R.InplaceUpdate(x=f(3, 2), i=i([[0]]), v=f(1, 2)),
    "row of other rank": lambda: R.InplaceAdd(x=f(3, 2), i=i([0]), v=f(1)),
}

MATHS: dict[str, Case] = {
    "few segments": lambda: R.SparseSegmentMeanGrad(
        grad=f(2, 2), indices=i([0, 1]), segment_ids=i([0, 3]), output_dim0=i(3)
    ),
    "size in a vector": lambda: R.SparseSegmentSqrtNGrad(
        grad=f(2, 2), indices=i([0, 1]), segment_ids=i([0, 1]), output_dim0=i([3, 3])
    ),
    "large n": lambda: R.NthElement(input=f(3), n=i(7)),
    "k in a vector": lambda: R.InTopKV2(predictions=f(2, 3), targets=i([0, 1]), k=i([1, 1])),
    "other size of one": lambda: R.AccumulateNV2(inputs=[f(2), f(3)], shape=[2]),
    "other weights": lambda: R.Bincount(arr=i([1, 2]), size=i(4), weights=f(1)),
    "other weights of DenseBincount": lambda: R.DenseBincount(
        input=i([1, 2]), size=i(4), weights=f(3), binary_output=False
    ),
    "rank of a sparse tensor": lambda: sparse_counts([[0, 0]], [1], [1]),
    "index outside of it": lambda: sparse_counts([[5, 0]], [1], [1, 1]),
    "more values": lambda: sparse_counts([[0, 0]], [1, 2], [1, 1]),
    "splits that end early": lambda: ragged_counts([0, 2]),
    "splits that begin late": lambda: ragged_counts([1, 3]),
    "no splits": lambda: ragged_counts([]),
    "nbins in a vector": lambda: R.HistogramFixedWidth(values=f(3), value_range=f(2), nbins=i([2, 2])),
    "three ends of a range": lambda: R.HistogramFixedWidth(values=f(3), value_range=f(3), nbins=i(2)),
    "histogram of NaN": lambda: R.HistogramFixedWidth(
        values=given(np.array([np.nan], np.float32)), value_range=f(2), nbins=i(5)
    ),
    "Betainc of two shapes": lambda: tf.betainc(f(2), f(3), f(2)),
    "Betainc of a number": lambda: tf.betainc(f(), f(3), f(2)),
    "Cross of numbers": lambda: tf.cross(f(), f()),
    "sets of other groups": lambda: dense_sets([[1, 2]], [[1, 2], [1, 2]]),
    "sets without groups": lambda: dense_sets([1, 2], [1, 2]),
    "sets in disorder": lambda: R.SetSize(
        set_indices=j([[0, 1], [0, 0]]), set_values=i([1, 2]), set_shape=j([1, 2])
    ),
}


def sparse_counts(indices: Any, values: Any, shape: Any) -> Any:
    return R.SparseBincount(
        indices=j(indices),
        values=i(values),
        dense_shape=j(shape),
        size=i(4),
        weights=f(0),
        binary_output=False,
    )


def ragged_counts(splits: Any) -> Any:
    return R.RaggedBincount(
        splits=j(splits), values=i([1, 2, 3]), size=i(4), weights=f(0), binary_output=False
    )


def dense_sets(a: Any, b: Any) -> Any:
    return R.DenseToDenseSetOperation(set1=i(a), set2=i(b), set_operation="union")[0]


def array(size: int = 3, **settings: Any) -> Any:
    return tf.TensorArray(tf.float32, size, infer_shape=False, **settings)


def two(first: Any, second: Any) -> Any:
    return array(2).write(0, first).write(1, second)


TENSOR_ARRAYS: dict[str, Case] = {
    "write of another dtype": lambda: R.TensorArrayWriteV3(
        handle=array().handle, index=i(0), value=i(1), flow_in=0.0
    ),
    "read of another dtype": lambda: R.TensorArrayReadV3(
        handle=array().handle, index=i(0), dtype=tf.int32, flow_in=0.0
    ),
    "index in a vector": lambda: R.TensorArrayWriteV3(
        handle=array().handle, index=i([0, 1]), value=f(1), flow_in=0.0
    ),
    "read behind the end": lambda: array().read(i(5)),
    "read of what nobody wrote": lambda: array().read(i(1)),
    "stack of nothing": lambda: array(0).stack(),
    "concat of other rows": lambda: two(f(2, 2), f(3, 1)).concat(),
    "concat of numbers": lambda: two(f(), f()).concat(),
    "concat of two ranks": lambda: two(f(2, 2), f(3)).concat(),
    "scatter of a number": lambda: scattered(i([0]), f()),
    "scatter of more rows": lambda: scattered(i([0]), f(2, 2)),
    "scatter behind the end": lambda: scattered(i([0, 5]), f(2, 2)),
    "scatter by a matrix": lambda: scattered(i([[0]]), f(2, 2)),
    "scatter of another dtype": lambda: scattered(i([0]), i([1])),
    "split by a matrix": lambda: split(f(1, 1), j([[1]])),
    "split of a number": lambda: split(f(), j([1])),
    "split into more": lambda: split(f(3, 2), j([1, 1, 1])),
    "negative number of elements": lambda: R.TensorArrayV3(size=i(-1), dtype=tf.float32)[1],
    "number of elements in a vector": lambda: R.TensorArrayV3(size=i([1, 2]), dtype=tf.float32)[1],
    "size of a stack in a vector": lambda: R.StackV2(max_size=i([2, 3]), elem_type=tf.float32).op,
}


def scattered(indices: Any, value: Any) -> Any:
    return R.TensorArrayScatterV3(handle=array(2).handle, indices=indices, value=value, flow_in=0.0)


def split(value: Any, lengths: Any) -> Any:
    return R.TensorArraySplitV3(handle=array(2).handle, lengths=lengths, value=value, flow_in=0.0)


def empty_list(dims: Any, **settings: Any) -> Any:
    return list_ops.empty_tensor_list(dims, tf.float32, **settings)


def reserved(dims: Any) -> Any:
    return list_ops.tensor_list_reserve(dims, 3, tf.float32)


def pushed(made: Any, *values: Any) -> Any:
    for value in values:
        made = list_ops.tensor_list_push_back(made, value)
    return made


LISTS: dict[str, Case] = {
    "push to a full list": lambda: pushed(empty_list([2], max_num_elements=1), f(2), f(2)),
    "element that was not set": lambda: R.TensorListGetItem(
        input_handle=reserved(None), index=i(1), element_shape=-1, element_dtype=tf.float32
    ),
    "stack of elements not set": lambda: list_ops.tensor_list_stack(reserved(None), tf.float32),
    "stack of no elements": lambda: list_ops.tensor_list_stack(empty_list(None), tf.float32),
    "stack of two shapes": lambda: list_ops.tensor_list_stack(
        pushed(empty_list(None), f(2), f(3)), tf.float32
    ),
    "gather of elements not set": lambda: list_ops.tensor_list_gather(reserved(None), i([0]), tf.float32),
    "list from a number": lambda: R.TensorListFromTensor(tensor=f(), element_shape=-1),
    "concat of elements not set": lambda: R.TensorListConcatV2(
        input_handle=reserved([None, 2]),
        element_shape=i([-1, 2]),
        leading_dims=j([]),
        element_dtype=tf.float32,
    )[0],
    "concat of no elements": lambda: list_ops.tensor_list_concat(empty_list(None), tf.float32),
    "lengths behind the end": lambda: R.TensorListSplit(tensor=f(4, 2), element_shape=-1, lengths=j([2, 3])),
    "list from parts of a number": lambda: R.TensorListSplit(tensor=f(), element_shape=-1, lengths=j([2])),
    "number to reserve in a vector": lambda: R.TensorListReserve(
        element_shape=-1, num_elements=i([1, 2]), element_dtype=tf.float32
    ),
    "limit in a vector": lambda: R.EmptyTensorList(
        element_shape=-1, max_num_elements=i([1, 2]), element_dtype=tf.float32
    ),
    "shape that is a number": lambda: empty_list(i(3)),
    "push of more rows": lambda: R.TensorListPushBackBatch(
        input_handles=tf.stack([empty_list([2])] * 2), tensor=f(3, 2)
    )[0],
}

CASES: dict[str, Case] = {**ARRAYS, **MATHS, **TENSOR_ARRAYS, **LISTS}
