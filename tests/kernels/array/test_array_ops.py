"""Array kernels against NumPy, and their error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tests.kernels.harness import run_op

A = np.arange(12, dtype=np.float32).reshape(3, 4)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "int32",
    "int64",
    "uint8",
    "complex64",
    "bool",
    "string",
]


def of_type(name: str, *shape: int) -> Any:
    """0, 1, 2, … as a dtype."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    if name == "string":
        return np.array([b"%d" % n for n in numbers.flat], object).reshape(shape)
    return numbers.astype(dtypes.as_dtype(name).np)


# (op type, inputs from an array of shape [2, 3], attributes, what NumPy makes of it)
EACH_TYPE: list[tuple[str, Callable[[Any], list[Any]], dict[str, Any], Callable[[Any], Any]]] = [
    ("Identity", lambda x: [x], {}, lambda x: x),
    ("Reshape", lambda x: [x, [3, -1]], {}, lambda x: x.reshape(3, 2)),
    ("ExpandDims", lambda x: [x, 1], {}, lambda x: x[:, None]),
    ("Squeeze", lambda x: [x[:1]], {}, lambda x: x[0]),
    ("Transpose", lambda x: [x, [1, 0]], {}, lambda x: x.T),
    ("Slice", lambda x: [x, [0, 1], [-1, 2]], {}, lambda x: x[:, 1:3]),
    ("StridedSlice", lambda x: [x, [1, 2], [2, 0], [1, -1]], {"shrink_axis_mask": 1}, lambda x: x[1, 2:0:-1]),
    ("ConcatV2", lambda x: [[x, x], 1], {}, lambda x: np.concatenate([x, x], 1)),
    ("Pack", lambda x: [[x, x, x]], {"axis": 2}, lambda x: np.stack([x, x, x], 2)),
    ("Tile", lambda x: [x, [2, 1]], {}, lambda x: np.tile(x, (2, 1))),
    ("GatherV2", lambda x: [x, [2, 0, 2], 1], {}, lambda x: x[:, [2, 0, 2]]),
    ("GatherNd", lambda x: [x, [[1, 0], [0, 2]]], {}, lambda x: x[[1, 0], [0, 2]]),
    ("ReverseV2", lambda x: [x, [1]], {}, lambda x: x[:, ::-1]),
    ("Roll", lambda x: [x, 1, 1], {}, lambda x: np.roll(x, 1, 1)),
    ("BroadcastTo", lambda x: [x, [4, 2, 3]], {}, lambda x: np.broadcast_to(x, (4, 2, 3))),
    (
        "MirrorPad",
        lambda x: [x, [[0, 0], [1, 2]]],
        {"mode": "REFLECT"},
        lambda x: np.pad(x, ((0, 0), (1, 2)), "reflect"),
    ),
    ("Select", lambda x: [[True, False], x, x[::-1].copy()], {}, lambda x: x[[0, 0]]),
    ("SelectV2", lambda x: [[[True], [False]], x, x[:1]], {}, lambda x: x[[0, 0]]),
    ("TensorScatterUpdate", lambda x: [x, [[1]], x[:1]], {}, lambda x: x[[0, 0]]),
    (
        "ReverseSequence",
        lambda x: [x, [2, 3]],
        {"seq_dim": 1},
        lambda x: np.stack([x[0][[1, 0, 2]], x[1][::-1]]),
    ),
]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs", "expected"), EACH_TYPE, ids=lambda v: v if isinstance(v, str) else ""
)
def test_each_type(op_type: str, inputs: Any, attrs: dict[str, Any], expected: Any, name: str) -> None:
    """Values are moved, and keep their dtype."""
    x = of_type(name, 2, 3)
    before = x.copy()
    result = run_op(op_type, *inputs(x), **attrs)
    np.testing.assert_array_equal(result, expected(x))
    np.testing.assert_array_equal(x, before)


SEVERAL: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
    ("Split", [1, A], {"num_split": 2}, np.split(A, 2, 1)),
    ("SplitV", [A, [1, -1], 0], {"num_split": 2}, [A[:1], A[1:]]),
    ("Unpack", [A], {"num": 4, "axis": 1}, list(A.T)),
    ("ShapeN", [[A, CUBE]], {}, [[3, 4], [2, 3, 4]]),
    ("ConcatOffset", [1, [[2, 3], [2, 5]]], {}, [[0, 0], [0, 3]]),
    ("Unique", [np.array([5, 2, 5, 9])], {}, [[5, 2, 9], [0, 1, 0, 2]]),
    ("UniqueWithCounts", [np.array([5, 2, 5, 9])], {}, [[5, 2, 9], [0, 1, 0, 2], [2, 1, 1]]),
    ("ListDiff", [np.array([1, 2, 3, 1]), np.array([2])], {}, [[1, 3, 1], [0, 2, 3]]),
    ("DynamicPartition", [A, [1, 0, 1]], {"num_partitions": 2}, [A[[1]], A[[0, 2]]]),
    ("BroadcastGradientArgs", [[2, 1, 3], [4, 1]], {}, [[1], [0, 2]]),
    ("IdentityN", [[A, CUBE]], {}, [A, CUBE]),
    ("TopK", [A], {"k": 2}, [A[:, :1:-1], [[3, 2]] * 3]),
]


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "expected"), SEVERAL, ids=[c[0] for c in SEVERAL])
def test_several_outputs(op_type: str, inputs: list[Any], attrs: dict[str, Any], expected: list[Any]) -> None:
    for ours, theirs in zip(run_op(op_type, *inputs, **attrs), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


ONE: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("Const", [], {"value": A, "dtype": "float32"}, A),
    ("GuaranteeConst", [A], {}, A),
    ("Split", [0, A], {"num_split": 1}, A),
    ("Fill", [[2, 2], b"x"], {}, [[b"x", b"x"]] * 2),
    ("Fill", [np.array([], np.int32), 3.0], {}, 3.0),
    ("Range", [3, 0, -1], {}, [3, 2, 1]),
    ("LinSpace", [0.0, 1.0, 5], {}, [0, 0.25, 0.5, 0.75, 1]),
    ("ZerosLike", [np.array([b"a"], object)], {}, [b""]),
    ("Where", [A > 9], {}, [[2, 2], [2, 3]]),
    ("OneHot", [[1, 3, -1], 3, 1.0, 0.0], {}, [[0, 1, 0], [0, 0, 0], [0, 0, 0]]),
    ("OneHot", [[1, 0], 2, 1.0, 0.0], {"axis": 0}, [[0, 1], [1, 0]]),
    ("ScatterNd", [[[1], [1], [0]], [5.0, 6.0, 7.0], [3]], {}, [7, 11, 0]),
    ("DynamicStitch", [[[2, 0], [1]], [[5.0, 6.0], [7.0]]], {}, [6, 7, 5]),
    ("SparseToDense", [[[0, 1], [2, 0]], [3, 2], [5.0, 6.0], -1.0], {}, [[-1, 5], [-1, -1], [6, -1]]),
    ("Bucketize", [[-1.0, 2.0, 9.0]], {"boundaries": [0.0, 5.0]}, [0, 1, 2]),
    ("HistogramFixedWidth", [[-1.0, 0.1, 0.9, 2.0], [0.0, 1.0], 2], {}, [2, 2]),
    ("InvertPermutation", [[2, 0, 1]], {}, [1, 2, 0]),
    ("BroadcastArgs", [[2, 1], [1, 3]], {}, [2, 3]),
    ("Pad", [A[:1, :2], [[1, 0], [0, 1]]], {}, [[0, 0, 0], [0, 1, 0]]),
    ("MirrorPadGrad", [np.arange(5.0), [[1, 1]]], {"mode": "SYMMETRIC"}, [1, 2, 7]),
    ("Bitcast", [np.array([1.0], np.float32)], {"type": "uint8"}, [[0, 0, 128, 63]]),
    (
        "DepthToSpace",
        [np.arange(4.0).reshape(1, 1, 1, 4)],
        {"block_size": 2},
        [[[[0.0], [1.0]], [[2.0], [3.0]]]],
    ),
    ("InTopK", [np.array([[0.1, 0.9]], np.float32), [0]], {"k": 1}, [False]),
    ("StringJoin", [[np.array([b"a", b"b"], object), b"x"]], {"separator": "-"}, [b"a-x", b"b-x"]),
    ("ParallelConcat", [[A[:1], A[1:2]]], {"shape": (2, 4)}, A[:2]),
]


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "expected"), ONE, ids=[c[0] for c in ONE])
def test_one_output(op_type: str, inputs: list[Any], attrs: dict[str, Any], expected: Any) -> None:
    np.testing.assert_array_equal(run_op(op_type, *inputs, **attrs), expected)


ERRORS: list[tuple[str, list[Any], dict[str, Any], str]] = [
    (
        "Reshape",
        [np.zeros(3), [2, 2]],
        {},
        "Input to reshape is a tensor with 3 values, but the requested shape has 4",
    ),
    ("Reshape", [np.zeros(3), [2, -1]], {}, "but the requested shape requires a multiple of 2"),
    ("Reshape", [np.zeros(3), [-1, -1]], {}, "Only one input size may be -1, not both 0 and 1"),
    ("GatherV2", [np.zeros(3), [0, 7], 0], {}, "indices[1] = 7 is not in [0, 3)"),
    ("GatherV2", [np.zeros(3), [[0, -1]], 0], {}, "indices[0,1] = -1 is not in [0, 3)"),
    (
        "StridedSlice",
        [A, [5], [6], [1]],
        {"shrink_axis_mask": 1},
        "slice index 5 of dimension 0 out of bounds.",
    ),
    ("StridedSlice", [A, [0], [1], [0]], {}, "strides[0] must be non-zero"),
    ("Split", [0, A], {"num_split": 2}, "but got split_dim 0 (size = 3) and num_split 2"),
    (
        "ConcatV2",
        [[CUBE[0, :2, :3], CUBE[0, :2]], 0],
        {},
        "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [2,4]",
    ),
    (
        "Pack",
        [[A, A[0]]],
        {},
        "Shapes of all inputs must match: values[0].shape = [3,4] != values[1].shape = [4]",
    ),
    ("Slice", [A, [0, 5], [1, 1]], {}, "Expected begin[1] in [0, 4], but got 5"),
    ("Squeeze", [A], {"squeeze_dims": [0]}, "Can not squeeze dim[0], expected a dimension of 1, got 3"),
    (
        "Placeholder",
        [],
        {"dtype": "float32", "shape": (2, None)},
        "You must feed a value for placeholder tensor 'Placeholder' with dtype float and shape [2,?]",
    ),
    ("CheckNumerics", [np.array([np.nan])], {"message": "loss"}, "loss : Tensor had NaN values"),
    ("Fill", [[-1], 0.0], {}, "must be >= 0"),
    ("TopKV2", [A, 5], {}, "input must have at least k columns. Had 4, needed 5"),
    ("Cast", [np.array([b"1"], object)], {"DstT": "float32"}, "Cast string to float is not supported"),
    ("DynamicPartition", [A, [0, 9, 0]], {"num_partitions": 2}, "partitions[1] = 9 is not in [0, 2)"),
    ("InvertPermutation", [[0, 0]], {}, "0 is duplicated in the input."),
    (
        "StringToNumber",
        [np.array([b"x"], object)],
        {},
        "StringToNumberOp could not correctly convert string: x",
    ),
]


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "text"), ERRORS, ids=[c[0] for c in ERRORS])
def test_errors(op_type: str, inputs: list[Any], attrs: dict[str, Any], text: str) -> None:
    with pytest.raises(errors.OpError) as raised:
        run_op(op_type, *inputs, **attrs)
    assert text in raised.value.message


def test_cast() -> None:
    """C's conversions: fractions are cut off, integers wrap around, what has no integer is the least one."""
    x = np.array([1.9, -1.9, np.nan, np.inf, 3e9], np.float32)
    least = np.iinfo(np.int32).min
    assert run_op("Cast", x, DstT="int32").tolist() == [1, -1, least, least, least]
    assert run_op("Cast", np.array([300, -1], np.int32), DstT="uint8").tolist() == [44, 255]
    assert run_op("Cast", np.array([0.0, 0.1, np.nan]), DstT="bool").tolist() == [False, True, True]
    assert run_op("Cast", np.array([1 + 2j], np.complex64), DstT="float32").tolist() == [1]
    assert run_op("Cast", np.float32(2.5), DstT="bfloat16").dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("size", [10, 5000])
@pytest.mark.parametrize("k", [1, 7])
def test_top_k_of_ties(size: int, k: int) -> None:
    """Descending; of equal elements the first ones, in order. Short and long rows take different ways."""
    x = np.random.default_rng(size).integers(0, 5, (3, size)).astype(np.float32)
    values, places = run_op("TopKV2", x, k)
    expected = np.argsort(-x, axis=-1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))


def test_top_k_of_nans() -> None:
    """A row of NaNs still gives k places, all different."""
    x = np.full((1, 1000), np.nan, np.float32)
    _, places = run_op("TopKV2", x, 5)
    assert len(set(places[0].tolist())) == 5


def test_batched_gather() -> None:
    indices = np.array([[2, 0], [1, 1]])
    expected = np.stack([CUBE[0][[2, 0]], CUBE[1][[1, 1]]])
    np.testing.assert_array_equal(run_op("GatherV2", CUBE, indices, 1, batch_dims=1), expected)
    expected = np.stack([CUBE[0][:, [2, 0]], CUBE[1][:, [1, 1]]])
    np.testing.assert_array_equal(run_op("GatherV2", CUBE, indices, 2, batch_dims=1), expected)


def test_views() -> None:
    """Slices, reshapes and transposes copy nothing, and repetitions only what is small."""
    for op_type, inputs, attrs in (
        ("Reshape", [A, [12]], {}),
        ("Transpose", [A, [1, 0]], {}),
        ("StridedSlice", [A, [1], [3], [1]], {}),
        ("Slice", [A, [1, 0], [1, 2]], {}),
        ("BroadcastTo", [A, [5000, 3, 4]], {}),
    ):
        assert np.shares_memory(run_op(op_type, *inputs, **attrs), A), op_type
    for part in run_op("Split", 1, A, num_split=2):
        assert np.shares_memory(part, A)


@pytest.mark.parametrize("op_type", ["Reshape", "Identity", "Pack", "Shape", "Fill"])
def test_a_string_of_rank_0_may_be_plain_bytes(op_type: str) -> None:
    """Kernels may hand on `bytes` for a string of rank 0; those that move values must take it."""
    from tests.kernels.harness import call, make_kernel, make_node

    inputs: dict[str, list[Any]] = {"Reshape": ["", [1]], "Pack": [[""]], "Fill": [[1], ""]}
    node, values = make_node(op_type, *inputs.get(op_type, [""]))
    values = [b"text" if v.dtype == object else v for v in values]
    result = call(make_kernel(node), values)
    assert np.asarray(result, object).reshape(-1).tolist() == ([] if op_type == "Shape" else [b"text"])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
@pytest.mark.parametrize("rows", [(0,), (2,), (2, 0)])
@pytest.mark.parametrize("depth", [0, 1])
def test_scattering_into_an_empty_tensor(shape: tuple[int, ...], rows: tuple[int, ...], depth: int) -> None:
    """Nothing changes where there are neither coordinates nor updates; what is there does not fit."""
    indices = np.zeros((*rows, depth), np.int32)
    updates = np.zeros((*rows, *shape[depth:]), np.float32)
    target = np.zeros(shape, np.float32)
    calls: dict[str, Callable[[], Any]] = {
        "ScatterNd": lambda: run_op("ScatterNd", indices, updates, np.array(shape, np.int32)),
        **{
            name: lambda name=name: run_op(name, target, indices, updates)
            for name in ("TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate", "TensorScatterMax")
        },
    }
    for name, call in calls.items():
        if indices.size or updates.size:
            with pytest.raises(errors.InvalidArgumentError, match="Indices and updates specified for empty"):
                call()
        else:
            assert call().shape == shape, name
    if np.prod(rows):
        with pytest.raises(errors.InvalidArgumentError, match="params is empty"):
            run_op("GatherNd", target, indices)
    else:
        assert run_op("GatherNd", target, indices).shape == (*rows, *shape[depth:])
