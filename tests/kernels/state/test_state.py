"""Kernels of variables, against what NumPy says of the same updates."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.devices.native import native
from tensorfleet_service.kernels.state import adding
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.state.variables import RESOURCE, Variable
from tests.kernels.harness import run_op


def variable(value: Any, dtype: Any = np.float32, kind: str = "variable") -> Variable:
    array = np.asarray(value, dtype)[()]
    made = Variable("v", dtypes.from_numpy(array.dtype), array.shape, kind=kind)
    made.assign(array)
    return made


def run(op_type: str, ref: Variable, *inputs: Any, **attrs: Any) -> Any:
    type_attr = (
        "dtype" if op_type.startswith(("Resource", "Read", "Is", "Assign")) and ref.kind == RESOURCE else "T"
    )
    if op_type == "IsVariableInitialized":
        type_attr = "dtype"
    if op_type.startswith("ResourceScatterNd"):
        type_attr = "T"
    return run_op(op_type, ref, *inputs, **{type_attr: ref.dtype}, **attrs)


def test_a_variable_is_one_object_in_all_steps() -> None:
    resources = Resources()
    made = run_op("VariableV2", resources=resources, dtype="float32", shape=[2], shared_name="w")
    again = run_op("VariableV2", resources=resources, dtype="float32", shape=[2], shared_name="w")
    assert made is again
    assert (made.name, made.dims, made.container) == ("w", (2,), "localhost")
    handle = run_op("VarHandleOp", resources=resources, dtype="float32", shape=[2], container="c")
    assert (handle.name, handle.container, handle.kind) == ("VarHandleOp", "c", RESOURCE)
    for dtype, shape in (("int32", [2]), ("float32", [3])):
        wanted = rf"w of .* is float32 \[2\], but this graph asks for {dtype} \{shape}"
        with pytest.raises(errors.InvalidArgumentError, match=wanted):
            run_op("VariableV2", resources=resources, dtype=dtype, shape=shape, shared_name="w")
    assert run_op("VariableV2", resources=resources, dtype="float32", shape=None, shared_name="w") is made


def test_assignments_return_the_variable() -> None:
    ref = variable([1, 2])
    assert run("Assign", ref, np.float32([3, 4])) is ref
    assert run("AssignAdd", ref, np.float32([1, 1])) is ref
    assert run("AssignSub", ref, np.float32([0, 5])) is ref
    np.testing.assert_array_equal(ref.read(), [4, 0])
    assert run("Assign", ref, np.float32([1, 2, 3]), validate_shape=False).read().shape == (3,)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("op", ["AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"])
def test_large_arrays_are_added_to_bit_by_bit(op: str, held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "DIVIDED_FROM", 0)
    some = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, 1.5, -1e-6])
    before = np.concatenate([np.repeat(some, 10), np.random.default_rng(0).standard_normal(99_999)])
    change = np.concatenate([np.tile(some, 10), np.random.default_rng(1).standard_normal(99_999)])
    before, change = before.astype(np.float32), change.astype(np.float32)
    ref = variable(before, kind=RESOURCE if "Variable" in op else "variable")
    reader = ref.read() if held else None
    run(op, ref, change)
    with np.errstate(all="ignore"):
        expected = before + change if "Add" in op else before - change
    np.testing.assert_array_equal(ref.read().view(np.uint32), expected.view(np.uint32))
    if held:
        np.testing.assert_array_equal(reader, before)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("op", ["ScatterAdd", "ScatterSub"])
def test_many_rows_are_added_in_their_order(
    op: str, index_type: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    before, updates = rng.standard_normal((50, 16)), rng.standard_normal((30, 100, 16))
    before, updates = before.astype(np.float32), updates.astype(np.float32)
    indices = rng.integers(0, 50, (30, 100)).astype(index_type)
    expected = before.copy()
    (np.add if op == "ScatterAdd" else np.subtract).at(expected, indices, updates)
    sorting = MagicMock(wraps=np.argsort)
    monkeypatch.setattr(np, "argsort", sorting)
    assert (
        run(op, variable(before), indices, updates, Tindices=index_type).read().tobytes()
        == expected.tobytes()
    )
    assert sorting.called == (native is None)


def test_resource_assignments() -> None:
    ref = variable([1, 2], kind=RESOURCE)
    run("AssignVariableOp", ref, np.float32([3, 4]))
    run("AssignAddVariableOp", ref, np.float32([1, 1]))
    run("AssignSubVariableOp", ref, np.float32([0, 5]))
    np.testing.assert_array_equal(run("ReadVariableOp", ref), [4, 0])
    np.testing.assert_array_equal(run_op("VariableShape", ref, out_type="int64"), [2])
    with pytest.raises(errors.InvalidArgumentError, match=r"wrong shape\. Expected \[2\] got \[1\]"):
        run("AssignVariableOp", ref, np.float32([1]), validate_shape=True)
    run("AssignVariableOp", ref, np.float32([1]))
    assert run("ReadVariableOp", ref).shape == (1,)
    with pytest.raises(errors.InvalidArgumentError, match=r"wrong dtype\. Expected int32 got float32"):
        run_op("ReadVariableOp", ref, dtype="int32")


def test_initialized_until_destroyed() -> None:
    resources = Resources()
    ref = resources.variable("", "v", dtypes.float32, (), RESOURCE)
    assert not run_op("VarIsInitializedOp", ref)
    ref.assign(np.float32(1))
    assert run_op("VarIsInitializedOp", ref)
    run_op("DestroyResourceOp", ref, resources=resources)
    assert not run_op("VarIsInitializedOp", ref)
    run_op("DestroyResourceOp", ref, resources=resources)
    with pytest.raises(errors.NotFoundError, match="Resource localhost/v does not exist"):
        run_op("DestroyResourceOp", ref, resources=resources, ignore_lookup_error=False)


def test_counting() -> None:
    ref = variable(0, np.int64)
    assert [int(run("CountUpTo", ref, limit=2)) for _ in range(2)] == [0, 1]
    with pytest.raises(errors.OutOfRangeError, match="Reached limit of 2"):
        run("CountUpTo", ref, limit=2)
    assert ref.read() == 2


UFUNCS = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Min": np.minimum,
    "Max": np.maximum,
}


@pytest.mark.parametrize("kind", ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("prefix", ["Scatter", "ResourceScatter"])
@pytest.mark.parametrize("scalar", [False, True])
def test_scatter(kind: str, dtype: type, prefix: str, scalar: bool) -> None:
    start = np.array([[7, -8], [9, 10], [-11, 12]], dtype)
    indices = np.array([[2, 0], [2, 2]], np.int32)
    updates = np.asarray(3 if scalar else [[[2, 3], [4, -5]], [[2, 2], [1, 2]]], dtype)
    ref = variable(start, dtype, "variable" if prefix == "Scatter" else RESOURCE)
    result = run(f"{prefix}{kind}", ref, indices, updates[()])
    assert result is (ref if prefix == "Scatter" else None)
    expected = start.copy()
    for where in np.ndindex(indices.shape):
        row = expected[indices[where]]
        update = updates if scalar else updates[where]
        if kind == "Update":
            row[...] = update
        elif kind == "Div":
            row[...] = row / update if dtype is np.float32 else np.trunc(row / update)
        else:
            row[...] = UFUNCS[kind](row, update)
    np.testing.assert_array_equal(ref.read(), expected)


@pytest.mark.parametrize("kind", ["Update", "Add", "Sub", "Min", "Max"])
@pytest.mark.parametrize("prefix", ["ScatterNd", "ResourceScatterNd"])
def test_scatter_nd(kind: str, prefix: str) -> None:
    start = np.arange(12, dtype=np.float32).reshape(3, 4)
    ref = variable(start, kind="variable" if prefix == "ScatterNd" else RESOURCE)
    run(f"{prefix}{kind}", ref, np.int32([[0, 1], [2, 3], [0, 1]]), np.float32([5, 6, 7]))
    expected = start.copy()
    for (i, j), update in zip([(0, 1), (2, 3), (0, 1)], [5, 6, 7], strict=True):
        expected[i, j] = update if kind == "Update" else UFUNCS[kind](expected[i, j], update)
    np.testing.assert_array_equal(ref.read(), expected)
    run(f"{prefix}{kind}", ref, np.int32([[1]]), np.float32([[1, 2, 3, 4]]))
    row = expected[1]
    row[...] = [1, 2, 3, 4] if kind == "Update" else UFUNCS[kind](row, [1, 2, 3, 4])
    np.testing.assert_array_equal(ref.read(), expected)


@pytest.mark.parametrize(
    ("op_type", "indices", "updates", "message"),
    [
        ("ScatterAdd", [5], [1], r"indices\[0\] = 5 is not in \[0, 2\)"),
        ("ScatterAdd", [[0, -1]], [[1, 1]], r"indices\[0,1\] = -1 is not in \[0, 2\)"),
        (
            "ScatterAdd",
            [0, 1],
            [1],
            r"Must have updates.shape = indices.shape \+ params.shape\[1:\] or updates.shape = \[\], got "
            r"updates.shape \[1\], indices.shape \[2\], params.shape \[2\]",
        ),
        (
            "ResourceScatterAdd",
            [0, 1],
            [1, 2, 3],
            r"The shape of indices \(\[2\]\) must be a prefix of the shape of updates \(\[3\]\)",
        ),
        ("ScatterNdAdd", [[5]], [1], r"indices\[0\] = \[5\] does not index into shape \[2\]"),
        (
            "ScatterNdAdd",
            [[0, 0]],
            [1],
            r"Dimensions \[2,1\) of input\[shape=\[2\]\] must match dimensions \[1,1\) of "
            r"updates\[shape=\[1\]\]",
        ),
        (
            "ScatterNdAdd",
            [[0]],
            [1, 2],
            r"Dimensions \[0,1\) of indices\[shape=\[1,1\]\] = 1 must match dimensions \[0,1\) of "
            r"updates\[shape=\[2\]\] = 2",
        ),
    ],
)
def test_scatter_errors_leave_the_variable_alone(
    op_type: str, indices: Any, updates: Any, message: str
) -> None:
    ref = variable([1, 2], kind=RESOURCE if op_type.startswith("Resource") else "variable")
    with pytest.raises(errors.InvalidArgumentError, match=message):
        run(op_type, ref, np.int32(indices), np.float32(updates))
    np.testing.assert_array_equal(ref.read(), [1, 2])


def test_gathers() -> None:
    ref = variable(np.arange(6).reshape(3, 2), kind=RESOURCE)
    np.testing.assert_array_equal(run("ResourceGather", ref, np.int64([2, 0])), [[4, 5], [0, 1]])
    np.testing.assert_array_equal(
        run("ResourceGather", ref, np.int64([[1], [0], [1]]), batch_dims=1), [[1], [2], [5]]
    )
    np.testing.assert_array_equal(run("ResourceGatherNd", ref, np.int32([[2, 1], [0, 0]])), [5, 0])
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\[1\] = 3 is not in \[0, 3\)"):
        run("ResourceGather", ref, np.int32([0, 3]))
    with pytest.raises(
        errors.InvalidArgumentError, match=r"indices\[0\] = \[5\] does not index into param shape \[3,2\]"
    ):
        run("ResourceGatherNd", ref, np.int32([[5]]))
