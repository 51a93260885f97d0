"""Inputs for every array op: (op type, inputs in order, attributes). A list is a list argument."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Case = tuple[str, list[Any], dict[str, Any]]

F32, F64, I8, I16, I32, I64 = np.float32, np.float64, np.int8, np.int16, np.int32, np.int64
NUMBERS = [
    F32,
    F64,
    np.float16,
    ml_dtypes.bfloat16,
    I8,
    I16,
    I32,
    I64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
]
COMPLEX = [np.complex64, np.complex128]
EVERY = [*NUMBERS, *COMPLEX, np.bool_, object]

CASES: list[Case] = []


def add(op_type: str, *inputs: Any, **attrs: Any) -> None:
    # A string of rank 0 comes out of an object array as plain bytes.
    arrays = [np.asarray(x, object) if isinstance(x, bytes) else x for x in inputs]
    CASES.append((op_type, arrays, attrs))


def i32(*values: int) -> Any:
    return np.array(values, I32)


def at(value: int) -> Any:
    return np.array(value, I32)


def filled(shape: tuple[int, ...], dtype: Any = F32) -> Any:
    """0, 1, 2, … of a dtype; strings of these numbers."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    if dtype is object:
        return np.array([b"s%d" % n for n in numbers.reshape(-1)], object).reshape(shape)
    return (numbers % 2 == 0) if dtype is np.bool_ else numbers.astype(dtype)


def text(*items: bytes) -> Any:
    return np.array(items, object)


A34, A234, SCALAR, EMPTY = filled((3, 4)), filled((2, 3, 4)), filled(()), filled((0, 3))

# Values as they are
for op_type in ("Identity", "StopGradient", "PreventGradient", "Snapshot", "ZerosLike"):
    for dtype in EVERY:
        add(op_type, filled((2, 3), dtype))
    add(op_type, SCALAR)
    add(op_type, EMPTY)
add("IdentityN", [A34, filled((2,), I32)])
add("PlaceholderWithDefault", A34, shape=[None, 4])
add("CheckNumerics", A34, message="m")
add("CheckNumerics", np.array([1, np.inf], F32), message="m")
add("CheckNumerics", np.array([np.nan, -np.inf], F64), message="m")
add("EnsureShape", A34, shape=[None, 4])
add("EnsureShape", A34, shape=[3, 5])
add("EnsureShape", A34, shape=[12])

# Constants
for dtype in [*NUMBERS, *COMPLEX, np.bool_]:
    add("OnesLike", filled((2, 2), dtype))
for dtype in EVERY:
    add("Fill", i32(2, 3), filled((2,), dtype)[1:].reshape(()))
add("Fill", np.array([2], I64), SCALAR)
add("Fill", i32(), SCALAR)
add("Fill", i32(0, 2), SCALAR)
add("Fill", i32(-1, 2), SCALAR)
add("Fill", i32(2), filled((2,)))
for dtype in (I32, I64, F32, F64, ml_dtypes.bfloat16, I16):
    for start, limit, delta in [
        (0, 5, 1),
        (5, 0, -2),
        (3, 3, 1),
        (0, 10, 3),
        (0, 5, 0),
        (0, 5, -1),
        (5, 0, 1),
    ]:
        add("Range", *(np.array(v, dtype) for v in (start, limit, delta)))
add("Range", *(np.array(v, F32) for v in (0.1, 1.3, 0.3)))
add("Range", *(np.array(v, F64) for v in (0.0, 1.0, 0.1)))
for dtype in (F32, F64):
    for num in (1, 2, 7, 0):
        add("LinSpace", np.array(0.3, dtype), np.array(2.7, dtype), at(num))

# Casts
ODD = {
    "f": np.array([0, -0.0, 1.5, -1.5, 2.5, 300.7, -129.2, 1e6, -7e4], F64),
    "i": np.array([0, 1, -1, 127, 128, 255, -128, 40000, -(2**31)], I64),
}
for source in [*NUMBERS, *COMPLEX, np.bool_]:
    kind = "f" if np.dtype(source).kind in "fcV" else "i"
    # What is beyond the range of the target depends on the instructions used, for the narrow types.
    values = (
        ODD[kind].astype(source)
        if source not in (np.float16, ml_dtypes.bfloat16)
        else np.array([0, 1.5, 99.5], source)
    )
    for target in [*NUMBERS, *COMPLEX, np.bool_]:
        add("Cast", values, DstT=target)
for target in (I32, I64, np.bool_, F64):
    add("Cast", np.array([np.nan, np.inf, -np.inf, 3e9, 1e19], F32), DstT=target)
add("Cast", np.array([np.nan, np.inf, -np.inf, 3e9, 1e19], F64), DstT=I32)
add("Cast", text(b"1"), DstT=F32)
add("Bitcast", A34, type=I32)
add("Bitcast", A34, type=np.uint8)
add("Bitcast", A34, type=F64)
add("Bitcast", filled((3, 2)), type=F64)
add("Bitcast", filled((3, 2), np.complex64), type=F64)
add("Bitcast", SCALAR, type=np.uint16)
add("Bitcast", SCALAR, type=F64)

# Shapes
for out_type in (I32, I64):
    add("Shape", A234, out_type=out_type)
    add("Size", A234, out_type=out_type)
    add("ShapeN", [A34, SCALAR, A234], out_type=out_type)
add("Shape", SCALAR)
add("Shape", text(b"a", b"b"))
add("ShapeN", [A34])
add("Rank", A234)
add("Rank", SCALAR)
for target in ([4, 3], [-1], [2, -1], [3, 4, 1], [5], [-1, 5], [-1, -1], [-2, 6], [], [2, 0, -1]):
    add("Reshape", A34, np.array(target, I32))
    add("Reshape", A34, np.array(target, I64))
add("Reshape", SCALAR, i32())
add("Reshape", SCALAR, i32(1, 1))
add("Reshape", EMPTY, i32(-1))
add("Reshape", EMPTY, i32(0, -1))
add("Reshape", EMPTY, i32(3, -1))
add("Reshape", A34, np.array([[3, 4]], I32))
for axis in (0, 1, 2, 3, -1, -3, -4):
    add("ExpandDims", A34, at(axis))
add("ExpandDims", A34, i32(1))
add("ExpandDims", A34, i32(1, 0))
for axes in ([], [0], [2], [-1], [0, 2], [1], [5]):
    add("Squeeze", filled((1, 3, 1)), squeeze_dims=axes)
for target in ([2, 3, 4], [3, 4], [4, 4], [4], [0, 3, 4]):
    add("BroadcastTo", A34, np.array(target, I32))
add("BroadcastTo", SCALAR, i32(2, 2))
add("BroadcastTo", filled((3, 1), object), i32(3, 2))
for a, b in [
    ([2, 3], [3]),
    ([2, 1], [1, 4]),
    ([2], [3]),
    ([], [2, 2]),
    ([2, 3], [2, 3]),
    ([1, 1], [1, 1]),
    ([0], [1]),
]:
    add("BroadcastArgs", np.array(a, I32), np.array(b, I32))
    add("BroadcastGradientArgs", np.array(a, I64), np.array(b, I64))
add("BroadcastGradientArgs", i32(1, 3), i32(1, 1))

# Slices
for begin, size in [
    ([0, 0], [2, 2]),
    ([1, 1], [-1, 2]),
    ([3, 0], [0, 4]),
    ([0, 0], [4, 1]),
    ([4, 0], [0, 0]),
    ([0], [1]),
]:
    add("Slice", A34, np.array(begin, I32), np.array(size, I32))
    add("Slice", filled((3, 4), object), np.array(begin, I64), np.array(size, I64))
add("Slice", SCALAR, i32(), i32())
for spec in [
    ([0], [2], [1], {}),
    ([-1], [-4], [-1], {}),
    ([0, 1], [3, 4], [2, 2], {}),
    ([1, 0], [2, 4], [1, 1], {"shrink_axis_mask": 1}),
    ([-1, 0], [0, 4], [1, 1], {"shrink_axis_mask": 1}),
    ([5, 0], [6, 4], [1, 1], {"shrink_axis_mask": 1}),
    ([0, 0], [0, 0], [1, 1], {"begin_mask": 3, "end_mask": 3}),
    ([0, 0], [0, 1], [1, 1], {"ellipsis_mask": 1, "end_mask": 0}),
    ([0, 0, 0], [0, 0, 2], [1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}),
    ([0, 0, 0], [0, 0, 1], [1, 1, 1], {"new_axis_mask": 1, "shrink_axis_mask": 2, "end_mask": 4}),
    ([10], [-10], [-3], {}),
    ([0], [2], [0], {}),
    ([0], [1], [-1], {"shrink_axis_mask": 1}),
    ([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], {}),
    ([0, 0], [1, 1], [1, 1], {"ellipsis_mask": 3}),
    ([0], [2, 3], [1], {}),
    ([1], [-1], [1], {"begin_mask": 1}),
    ([], [], [], {}),
]:
    vectors = [np.array(v, I32) for v in spec[:3]]
    for x in (A34, A234):
        add("StridedSlice", x, *vectors, **spec[3])
    add("StridedSliceGrad", i32(3, 4), *vectors, filled((2, 4)), **spec[3])
    add("TensorStridedSliceUpdate", A34, *vectors, filled((2, 4)), **spec[3])
add("StridedSlice", filled((4,), object), i32(1), i32(2), i32(1), shrink_axis_mask=1)
add("StridedSlice", A34, *(np.array(v, I16) for v in ([0], [2], [1])))

# Joins
for dtype in EVERY:
    add("ConcatV2", [filled((2, 2), dtype), filled((2, 3), dtype)], at(1))
    add("Pack", [filled((2, 2), dtype), filled((2, 2), dtype)], axis=1)
    add("Pack", [filled((), dtype), filled((), dtype)], axis=0)
for axis in (0, 1, -1, -2, 2, -3):
    add("ConcatV2", [A34, A34, EMPTY.reshape(0, 3)[:, :0].reshape(0, 0) if axis > 9 else A34], at(axis))
    add("Concat", at(axis), [A34, A34])
    add("Pack", [A34, A34], axis=axis)
    add("Unpack", A34, num=3 if axis in (0, -2) else 4, axis=axis)
    add("Split", at(axis), filled((4, 6)), num_split=2)
    add("SplitV", A34, i32(1, -1, 1), at(axis), num_split=3)
add("ConcatV2", [A34, filled((3, 5))], at(0))
add("ConcatV2", [A34, filled((3,))], at(0))
add("ConcatV2", [SCALAR, SCALAR], at(0))
add("ConcatV2", [EMPTY, filled((2, 3))], at(0))
add("ConcatOffset", at(1), [i32(2, 3), i32(2, 4), i32(2, 1)])
add("ConcatOffset", at(-1), [i32(2, 3), i32(2, 4)])
add("ConcatOffset", at(1), [i32(2, 3), i32(3, 4)])
add("Pack", [A34, filled((2,))], axis=0)
add("ParallelConcat", [filled((1, 3)), filled((1, 3))], shape=[2, 3])
add("Unpack", filled((2,)), num=3)
add("Unpack", EMPTY, num=0)
add("Split", at(0), A34, num_split=2)
add("Split", at(0), A34, num_split=1)
for sizes in ([1, 1, 1], [2, 2], [-1, -1, 1], [4, -1, 0], [3, 0, -1], [2, 1]):
    add("SplitV", A34, np.array(sizes, I64), at(0), num_split=len(sizes))

# Indices
for dtype in EVERY:
    add("GatherV2", filled((3, 2), dtype), i32(2, 0), at(0))
    add("GatherNd", filled((3, 2), dtype), np.array([[1, 1], [0, 1]], I32))
for indices in (
    i32(2, 0, 2),
    np.array([[1, 0], [2, 2]], I64),
    at(1),
    i32(),
    i32(3),
    np.array([[0, -1]], I32),
):
    add("Gather", A34, indices)
    for axis in (0, 1, -1, 2):
        add("GatherV2", A34, indices, at(axis))
for batch_dims, axis in ((1, 1), (1, 2), (-1, 1), (1, 0), (2, 2)):
    add("GatherV2", A234, np.array([[2, 0], [1, 1]], I32), at(axis), batch_dims=batch_dims)
for indices in ([[1]], [[1, 2], [0, 0]], [1], [[]], [[3, 0]], [[0, 0, 0]], [[[1, 1]]]):
    add("GatherNd", A34, np.array(indices, I32))
add("GatherNd", A34, np.array([[3, 0], [0, 1]], I32), bad_indices_policy="IGNORE")
SCATTERS = (
    "TensorScatterUpdate",
    "TensorScatterAdd",
    "TensorScatterSub",
    "TensorScatterMin",
    "TensorScatterMax",
)
for indices, updates in [
    ([[1], [1]], filled((2, 4))),
    ([[0, 1], [2, 3]], filled((2,))),
    ([[[0], [2]]], filled((1, 2, 4))),
    ([[3, 0]], filled((1,))),
    ([[0]], filled((1, 3))),
]:
    for op_type in SCATTERS:
        add(op_type, A34 + 5, np.array(indices, I32), updates)
    add("ScatterNd", np.array(indices, I32), updates, i32(3, 4))
for dtype in (*NUMBERS, *COMPLEX):
    add("ScatterNd", np.array([[1], [1], [3]], I32), filled((3,), dtype), i32(4))
for op_type in SCATTERS:
    add(op_type, filled((4,), I32), np.array([[1], [3]], I64), i32(9, 8))
for axis in (-1, 0, 1, 3, -2):
    add("OneHot", np.array([[0, 2], [3, -1]], I32), at(3), np.array(5, F32), np.array(1, F32), axis=axis)
for dtype in EVERY:
    add("OneHot", np.array([0, 2], I64), at(3), filled((2,), dtype)[1], filled((2,), dtype)[0])
add("OneHot", at(1), at(3), np.array(1, F32), np.array(0, F32))
add("OneHot", at(1), at(3), np.array(b"on", object), np.array(b"", object))
add("OneHot", at(1), at(3), np.array(1, F32), np.array(-0.0, F32))
add("OneHot", i32(1), at(-1), np.array(1, F32), np.array(0, F32))

# Choice
for dtype in [*NUMBERS, *COMPLEX, np.bool_]:
    add("Where", filled((2, 3), dtype))
add("Where", np.array(True))
add("Where", np.zeros((0, 2), np.bool_))
for dtype in EVERY:
    add("Select", np.array([True, False]), filled((2, 3), dtype), filled((2, 3), dtype)[::-1])
    add("SelectV2", np.array([[True], [False]]), filled((2, 3), dtype), filled((3,), dtype))
for condition in (np.array(True), np.array([True, False, True]), A34 > 3, np.array([True, False])):
    add("Select", condition, A34, -A34)
    add("SelectV2", condition, A34, -A34)
add("Select", A34 > 3, A34, filled((3,)))
TIES = np.array([[3, 1, 3, 2, 1, 3], [0, 0, 0, 0, 0, 0]])
for dtype in NUMBERS:
    for k in (0, 1, 3, 6):
        add("TopKV2", TIES.astype(dtype), at(k))
add("TopKV2", np.random.default_rng(0).permutation(3000).astype(F32).reshape(2, 1500) // 7, at(20))
add("TopKV2", TIES.astype(F32), at(7))
add("TopKV2", TIES.astype(F32), at(-1))
add("TopKV2", SCALAR, at(1))
add("TopKV2", TIES.astype(F32), np.array(2, I64), index_type=I64)
PREDICTIONS = np.array([[0.1, 0.5, 0.3], [0.2, 0.2, 0.9], [np.inf, 0, 1]], F32)
for k in (0, 1, 2, 3):
    add("InTopK", PREDICTIONS, i32(1, 0, 2), k=k)
    add("InTopKV2", PREDICTIONS, np.array([2, 5, -1], I64), np.array(k, I64))
add("InTopK", PREDICTIONS, i32(1, 0), k=1)

# Order
for dtype in EVERY:
    add("Transpose", filled((2, 3), dtype), i32(1, 0))
    add("ReverseV2", filled((2, 3), dtype), i32(1))
for perm in ([0, 1, 2], [2, 0, 1], [-1, 0, 1], [0, 0, 1], [0, 1], [0, 1, 3]):
    add("Transpose", A234, np.array(perm, I64))
add("Transpose", SCALAR, i32())
add("ConjugateTranspose", filled((2, 2), np.complex64) * np.complex64(1j), i32(1, 0))
for values in ([2, 0, 1], [], [0, 0, 1], [3, 0, 1]):
    add("InvertPermutation", np.array(values, I32))
for axes in ([0], [0, 1], [-1], [], [2], [0, 0]):
    add("ReverseV2", A34, np.array(axes, I32))
add("Reverse", A34, np.array([True, False]))
add("Reverse", np.array(2, F32), np.array([True]))
add("ReverseV2", np.array(2, F32), i32(3))
add("Reverse", A34, np.array([True]))
for seq, batch in ((1, 0), (0, 1), (2, 0), (1, 1), (3, 0)):
    add("ReverseSequence", A234, i32(2, 1, 2) if batch == 1 else i32(3, 1), seq_dim=seq, batch_dim=batch)
add("ReverseSequence", A234, i32(5, 1), seq_dim=1)
add("ReverseSequence", A234, i32(-1, 1), seq_dim=1)
for shift, axis in ((1, 0), (-5, 1), ([1, 2], [0, 1]), ([1, 1], [0, 0]), (1, 2), ([1], [0, 1])):
    add("Roll", A34, np.array(shift, I32), np.array(axis, I32))
add("SpaceToDepth", filled((1, 4, 6, 2)), block_size=2)
add("SpaceToDepth", filled((1, 4, 5, 2)), block_size=2)
add("DepthToSpace", filled((1, 2, 3, 8)), block_size=2)
add("DepthToSpace", filled((1, 2, 3, 6)), block_size=2)

# Padding
for dtype in EVERY:
    add("Tile", filled((2, 2), dtype), i32(1, 2))
    add("Pad", filled((2,), dtype), np.array([[1, 2]], I32))
    add("PadV2", filled((2,), dtype), np.array([[1, 2]], I32), filled((2,), dtype)[1])
for multiples in ([2, 1], [0, 2], [2], [-1, 1]):
    add("Tile", A34, np.array(multiples, I32))
add("Tile", SCALAR, i32())
for paddings in (
    [[1, 0], [0, 2]],
    [[0, 0], [0, 0]],
    [[2, 1], [3, 3]],
    [[-1, 0], [0, 0]],
    [[1, 1]],
    [[3, 0], [0, 0]],
):
    add("Pad", A34, np.array(paddings, I64))
    for mode in ("REFLECT", "SYMMETRIC"):
        add("MirrorPad", A34, np.array(paddings, I32), mode=mode)
        add("MirrorPadGrad", filled((7, 12)), np.array(paddings, I32), mode=mode)

# Sets and groups
for dtype in EVERY:
    add("Unique", filled((4,), dtype)[[2, 0, 2, 1]])
    add("UniqueWithCounts", filled((4,), dtype)[[2, 0, 2, 1]], out_idx=I64)
for axes in ([], [0]):
    add("UniqueV2", i32(3, 1, 3), np.array(axes, I64))
    add("UniqueWithCountsV2", np.array([[1, 2], [0, 5], [1, 2]], I32)[:, 0], np.array(axes, I64))
add("UniqueV2", np.array([[1, 2], [0, 5], [1, 2]], I32), np.array([0], I64))
add("UniqueV2", np.array([[1, 2, 1], [0, 5, 0]], F32), np.array([1], I32))
add("Unique", np.array([np.nan, 1, np.nan], F32))
add("Unique", A34)
add("Unique", filled((0,)))
for dtype in EVERY:
    add("ListDiff", filled((4,), dtype), filled((4,), dtype)[1:3])
add("ListDiff", A34, A34)
for partitions in ([0, 1, 0], [2, 2, 2], [1, 5, 0], [[0, 1, 2, 0]] * 3, [0, 1]):
    add("DynamicPartition", A34, np.array(partitions, I32), num_partitions=3)
add("DynamicPartition", filled((3,), object), i32(1, 0, 1), num_partitions=2)
for op_type in ("DynamicStitch", "ParallelDynamicStitch"):
    add(op_type, [i32(0, 2), i32(1)], [filled((2, 3)), filled((1, 3)) + 9])
    add(op_type, [at(1), i32(0)], [filled((3,)), filled((1, 3))])
    add(op_type, [i32(0), i32(0)], [filled((1,)), filled((1,)) + 1])
    add(op_type, [i32(0), i32(1)], [filled((1, 2)), filled((1, 3))])
    add(op_type, [i32()], [filled((0, 2))])
for indices, values in [
    (at(2), np.array(5, F32)),
    (i32(0, 2), filled((2,))),
    (i32(2, 0), filled((2,))),
    (i32(1, 1), filled((2,))),
    (i32(0, 4), np.array(5, F32)),
    (np.array([[0], [3]], I32), filled((2,))),
    (i32(0, 2), filled((3,))),
]:
    add("SparseToDense", indices, i32(4), values, np.array(-1, F32))
add("SparseToDense", i32(2, 0), i32(4), filled((2,)), np.array(-1, F32), validate_indices=False)
add("Bucketize", np.array([[-5, 0, 3], [5, 10, 100]], F32), boundaries=[0.0, 3.0, 10.0])
add("Bucketize", i32(1, 3, 50), boundaries=[0.0, 3.0, 10.0])
add("Bucketize", i32(1), boundaries=[3.0, 0.0])
for dtype in (F32, F64, I32, I64):
    add("HistogramFixedWidth", np.array([-1, 0, 2, 2, 5, 9, 10, 11], dtype), np.array([0, 10], dtype), at(5))
add("HistogramFixedWidth", A34, np.array([3, 1], F32), at(5))
add("HistogramFixedWidth", A34, np.array([0, 1], F32), at(0))

# Strings
WORDS = text("Grüße".encode(), b"", b" two words \n", b"aB")
add("StringJoin", [text(b"a", b"b"), np.array(b"-", object), text(b"c", b"d")], separator=".")
add("StringJoin", [text(b"a", b"b"), text(b"c")])
for op_type in ("StringLength", "StringStrip", "StringLower", "StringUpper"):
    add(op_type, WORDS)
for attrs in ({"unit": "UTF8_CHAR"},):
    add("StringLength", WORDS, **attrs)
    add("Substr", WORDS[:1], at(-2), at(5), **attrs)
add("StringUpper", WORDS, encoding="utf-8")
for pos, count in ((0, 2), (1, 1), (-2, 1), (9, 1), (-9, 1)):
    add("Substr", text(b"hello", b"world"), at(pos), at(count))
add("Substr", text(b"hello", b"world"), i32(0, 1), i32(1, 9))
for dtype in (F32, F64, ml_dtypes.bfloat16, np.float16):
    for attrs in ({}, {"precision": 2}, {"scientific": True}, {"shortest": True}, {"width": 12, "fill": "0"}):
        add("AsString", np.array([0.5, -3.25, 6e4, np.inf, np.nan]).astype(dtype), **attrs)
for dtype in (I8, I32, I64, np.uint8, np.uint32, np.bool_):
    add("AsString", filled((3,), dtype))
add("AsString", i32(5, -5), width=6, fill="0")
add("AsString", i32(5, -5), precision=2)
add("AsString", filled((2,), np.complex64))
add("StringToNumber", text(b"1", b"-2.5", b" 3e2 ", b"inf"))
for dtype in (F64, I32, I64):
    add("StringToNumber", text(b"1", b" -25 "), out_type=dtype)
for word in (b"x", b"", b"1.5", b"99999999999"):
    add("StringToNumber", text(word), out_type=I32)
add("StringToNumber", text(b"abc"))
add("DecodeRaw", text(b"\0\1\2\3", b"\4\5\6\7"), out_type=np.uint8)
add("DecodeRaw", text(b"\0\1\2\3", b"\4\5\6\7"), out_type=I16, little_endian=False)
add("DecodeRaw", text(b"\0\1\2\3"), out_type=F32)
add("DecodeRaw", text(b"\0\1\2"), out_type=I16)
add("DecodeRaw", text(b"\0\1", b"\0"), out_type=np.uint8)
add("EncodeBase64", text(b"", b"a", b"ab", b"\xff\xfe\xfd"))
add("EncodeBase64", text(b"", b"a", b"ab", b"abc"), pad=True)
add("DecodeBase64", text(b"", b"YQ", b"YQ==", b"__79"))
add("DecodeBase64", text(b"Y!"))
add("RegexReplace", text(b"abcabc"), np.array(b"(b)(c)", object), np.array(rb"[\2\1\0]", object))
add("RegexReplace", text(b"abcabc"), np.array(b"b", object), np.array(b"", object), replace_global=False)
add("RegexReplace", text(b"a"), np.array(b"(", object), np.array(b"", object))
add("RegexFullMatch", text(b"ab", b"b", b"", b"abb"), np.array(b"a?b", object))
add("RegexFullMatch", text(b"a"), np.array(b"(", object))
add("StaticRegexFullMatch", text(b"ab", b"b", b"", b"abb"), pattern=b"a?b+")
for axes in ([0], [1], [0, 1], [1, 0], [], [-1], [2]):
    add("ReduceJoin", filled((2, 3), object), np.array(axes, I32), separator="-")
    add("ReduceJoin", filled((2, 3), object), np.array(axes, I32), keep_dims=True)

# Blocks of space as batches, places in sorted rows
for dtype in (F32, I64, object):
    for pads in ([[0, 0], [0, 0]], [[1, 1], [0, 2]], [[0, 1], [0, 0]], [[-1, 1], [0, 0]]):
        for index in (I32, I64):
            add("SpaceToBatch", filled((2, 4, 6, 1), dtype), np.array(pads, index), block_size=2)
            add("SpaceToBatchND", filled((2, 4, 6, 1), dtype), i32(2, 3), np.array(pads, index))
            add("BatchToSpace", filled((8, 2, 3, 1), dtype), np.array(pads, index), block_size=2)
            add("BatchToSpaceND", filled((12, 2, 3, 1), dtype), i32(2, 3), np.array(pads, index))
add("SpaceToBatchND", filled((2, 4)), i32(2), i32(1, 1))
add("SpaceToBatchND", filled((2, 4)), i32(0), np.array([[0, 0]], I32))
add("SpaceToBatchND", filled((2, 4)), i32(2, 2), np.array([[0, 0], [0, 0]], I32))
add("BatchToSpaceND", filled((3, 4)), i32(2), np.array([[0, 0]], I32))
add("BatchToSpaceND", filled((4, 2)), i32(2), np.array([[3, 3]], I32))
for op_type in ("LowerBound", "UpperBound"):
    for dtype in (F32, F64, I32, I64, np.uint8):
        for out_type in (I32, I64):
            rows = np.sort(filled((2, 6), dtype) // 2)
            add(op_type, rows, np.array([[0, 3, 9], [3, 4, 1]], dtype), out_type=out_type)
    add(op_type, filled((2, 0)), filled((2, 3)))
    add(op_type, filled((2, 3)), filled((3, 3)))
    add(op_type, filled((3,)), filled((3,)))

# Ops of arithmetic, of which only the shapes are compared here.
SHAPE_CASES: list[Case] = [
    *(
        (op_type, [a, b], {})
        for op_type in ("AddV2", "Mul", "Less", "Maximum")
        for a in (A34, SCALAR)
        for b in (A34, A34[0], A34[:2])
    ),
    *(
        (op_type, [A234, np.array(axes, I32)], {"keep_dims": keep})
        for op_type in ("Sum", "Max", "Prod")
        for axes in ([0], [-1, 0], [], [3])
        for keep in (False, True)
    ),
    *(("ArgMax", [A34, at(axis)], {}) for axis in (0, -1, 2)),
    *(
        ("MatMul", [A34, b], {"transpose_b": turned})
        for b in (A34, A34.T, A34[0])
        for turned in (False, True)
    ),
    *(("BatchMatMulV2", [A234, b], {"adj_y": turned}) for b in (A234, A34) for turned in (False, True)),
    ("AddN", [[A34, A34]], {}),
    ("AddN", [[A34, A34[0]]], {}),
    ("Exp", [A34], {}),
    ("Softmax", [A34], {}),
    ("Cumsum", [A34, at(0)], {}),
    ("BiasAdd", [A34, A34[0]], {}),
    ("BiasAdd", [A34, A34[0, :3]], {}),
    ("L2Loss", [A34], {}),
    ("SegmentSum", [A34, i32(0, 0, 1)], {}),
    ("UnsortedSegmentSum", [A34, i32(0, 0, 1), at(2)], {}),
    ("SparseSoftmaxCrossEntropyWithLogits", [A34, i32(0, 0, 1)], {}),
    ("SoftmaxCrossEntropyWithLogits", [A34, A34], {}),
]
