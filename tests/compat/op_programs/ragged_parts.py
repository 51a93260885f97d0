"""Ragged tensors by their parts, and counts of what is in rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F = np.float32
I = np.int32  # noqa: E741
L = np.int64
SPLITS = L([0, 2, 2, 5])
VALUES = F([1, 2, 3, 4, 5])
OUTER = L([0, 1, 3])

for _dtype in (I, L, F, np.float64):
    _t = np.dtype(_dtype).type
    node("RaggedRange", _dtype([0, 5, 8]), _dtype([3, 5, 2]), _dtype([1, 2, -3]))
    node("RaggedRange", _t(1), _dtype([3, 7]), _t(2))
    node("RaggedRange", _t(1), _t(4), _t(1), Tsplits="int32")
node("RaggedRange", F([0.1, 1]), F([1, -1]), F([0.3, -0.7]))
node("RaggedRange", I([0]), I([3]), I([0]))
node("RaggedRange", I([0, 1]), I([3, 4, 5]), I(1))

for _indices in (I([2, 0, 0]), L([[1, 2], [0, 1]]), np.zeros((0,), I), I([3]), I([-1])):
    _rank = _indices.ndim
    node("RaggedGather", [SPLITS], VALUES, _indices, OUTPUT_RAGGED_RANK=_rank)
    node("RaggedGather", [SPLITS], np.stack([VALUES, -VALUES], 1), _indices, OUTPUT_RAGGED_RANK=_rank)
node("RaggedGather", [OUTER, SPLITS], VALUES, I([1, 0, 1]), OUTPUT_RAGGED_RANK=2)
node("RaggedGather", [SPLITS], np.array([b"a", b"b", b"c", b"d", b"e"], object), I([2]), OUTPUT_RAGGED_RANK=1)
node("RaggedGather", [SPLITS], VALUES, I(2), OUTPUT_RAGGED_RANK=0)
node("RaggedGather", [L([0, 3, 2])], VALUES, I([0]), OUTPUT_RAGGED_RANK=1)
node("RaggedGather", [L([0, 9])], VALUES, I([0]), OUTPUT_RAGGED_RANK=1)

node("RaggedTensorToSparse", [SPLITS], VALUES)
node("RaggedTensorToSparse", [OUTER, SPLITS], VALUES)
node("RaggedTensorToSparse", [SPLITS], np.stack([VALUES, -VALUES], 1))
node("RaggedTensorToSparse", [I([0, 0])], np.zeros(0, F))
node("RaggedTensorToSparse", [L([0, 2])], VALUES)
node("RaggedTensorToSparse", [L([1, 5])], VALUES)

ROWS = {"row_partition_types": ["ROW_SPLITS"]}
for _shape in (I(-1), L([-1, -1]), L([2, 2]), L([5, 4]), L([-1]), L(3), L([3, -1, 1])):
    node("RaggedTensorToTensor", _shape, VALUES, F(9), [SPLITS], **ROWS)
node("RaggedTensorToTensor", I(-1), np.stack([VALUES, -VALUES], 1), F([8, 9]), [SPLITS], **ROWS)
node("RaggedTensorToTensor", I(-1), VALUES, F(9), [OUTER, SPLITS], row_partition_types=["ROW_SPLITS"] * 2)
node(
    *("RaggedTensorToTensor", I(-1), VALUES, F(9), [L(3), L([0, 0, 2, 2, 2])]),
    row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
)
node("RaggedTensorToTensor", I(-1), np.array([b"x", b"y"], object), b"", [I([0, 0, 2])], **ROWS)
node("RaggedTensorToTensor", I(-1), VALUES, F([1, 2]), [SPLITS], **ROWS)
node("RaggedTensorToTensor", I(-1), VALUES, F(9), [L([0, 9])], row_partition_types=["ELSE"])

node("RaggedFillEmptyRows", L([0, 0, 2, 2, 4]), VALUES, L(6), F(-1))
node("RaggedFillEmptyRows", L([2, 0, 2]), VALUES[:3], L(3), F(-1))
node("RaggedFillEmptyRows", L([0, 3]), VALUES[:2], L(3), F(-1))
node("RaggedFillEmptyRowsGrad", L([0, 3]), VALUES)
node("RaggedFillEmptyRowsGrad", L([0, 9]), VALUES)

COUNTED = I([1, 0, 1, 5, 3])
for _binary in (False, True):
    for _weights in (F([]), F([1, 2, 3, 4, 5])):
        node("RaggedBincount", SPLITS, COUNTED, I(4), _weights, binary_output=_binary)
        for _shape in (L([9]), L([3, 9])):
            _places = (
                L([[1], [2], [3], [5], [7]])
                if len(_shape) == 1
                else L([[0, 1], [0, 2], [2, 0], [2, 5], [2, 7]])
            )
            node("SparseBincount", _places, COUNTED, _shape, I(4), _weights, binary_output=_binary)
            node(
                *("SparseCountSparseOutput", _places, COUNTED, _shape, _weights),
                binary_output=_binary,
                maxlength=4,
            )
        node("RaggedCountSparseOutput", SPLITS, COUNTED, _weights, binary_output=_binary, minlength=8)
        node("DenseCountSparseOutput", COUNTED, _weights, binary_output=_binary)
    node(
        "DenseCountSparseOutput", L([[1, 1], [0, 7]]), L([]), binary_output=_binary, maxlength=6, minlength=3
    )
node("DenseCountSparseOutput", I([1, -1]), F([]), binary_output=False)
node("DenseCountSparseOutput", I([1, 1]), F([1]), binary_output=False)
node("RaggedBincount", SPLITS, COUNTED, I(-4), F([]))
node("RaggedBincount", SPLITS, -COUNTED, I(4), F([]))
node("RaggedBincount", L([0, 3]), COUNTED, I(4), F([]))


@program("RaggedGather", rtol=1e-6)
def gradients_of_ragged_tensors(make: Maker) -> Any:
    tf = make.tf
    x, default = tf.constant(VALUES), tf.constant(F(2))
    _, gathered = make("RaggedGather", [SPLITS], x, I([2, 0, 2]), OUTPUT_RAGGED_RANK=1)
    _, sparse, _ = make("RaggedTensorToSparse", [SPLITS], x * x)
    dense = make("RaggedTensorToTensor", L([2, 4]), x, default, [SPLITS], **ROWS)
    _, filled, *_ = make("RaggedFillEmptyRows", L([0, 0, 2, 2, 4]), x, L(6), default)
    grads = tf.gradients([gathered**2, sparse, dense**2, filled**3], [x, default])
    return [tf.convert_to_tensor(grad) for grad in grads]


@program("RaggedTensorToTensor", rtol=1e-6)
def gradients_of_rows_of_vectors(make: Maker) -> Any:
    tf = make.tf
    x, default = tf.constant(np.stack([VALUES, -VALUES], 1)), tf.constant(F([2, 3]))
    dense = make("RaggedTensorToTensor", I(-1), x, default, [SPLITS], **ROWS)
    return tf.gradients(dense**2, [x, default])
