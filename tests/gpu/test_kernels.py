"""Every kernel for GPUs on a strict stand-in for CuPy, beside the same kernel on NumPy."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet.graph.graph import lookup_op
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.kernels.device_memory import ANY, DEVICE, HOST, has_gpu_kernel, listed, memory_of
from tensorfleet_service.kernels.registry import KernelNode, make_kernel
from tests.compat import array_cases, math_cases
from tests.gpu.strict_array import machine
from tests.kernels.harness import call, make_node

Inputs = tuple[list[Any], dict[str, Any]]

QUIET = frozenset(
    (
        "Gather",
        "GatherV2",
        "FloorDiv",
        "FloorMod",
        "Mod",
        "TruncateDiv",
        "TruncateMod",
        "Div",
        "UnsortedSegmentSum",
    )
)
"""Ops that refuse values only where the host need not wait for a GPU to look at them."""

GRADIENTS = {
    f"{name}Grad": name
    for name in (
        *("Tanh", "Sigmoid", "Sqrt", "Rsqrt", "Reciprocal", "Inv"),
        *("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu"),
    )
}

MOST = 24
"""Limit on the cases of one op: those of different dtypes, ranks and attributes come first."""

ELSEWHERE = {
    "tests/gpu/test_collectives.py": "CollectiveReduce CollectiveGather CollectiveBcastSend "
    "CollectiveBcastRecv CollectiveReduceV2 CollectiveGatherV2 CollectiveBcastSendV2 CollectiveBcastRecvV2",
    "of the executor, without kernels: test_sessions, test_training": (
        "Enter Exit NextIteration RefEnter RefExit RefNextIteration Switch RefSwitch Merge RefMerge LoopCond "
        "NoOp ControlTrigger Const Placeholder PlaceholderV2 _ToHost _ToDevice"
    ),
    "layers and their gradients: test_functions": (
        "Conv2D Conv3D Conv2DBackpropInput Conv3DBackpropInputV2 Conv2DBackpropFilter "
        "Conv3DBackpropFilterV2 MaxPool MaxPoolGrad AvgPool AvgPoolGrad FusedBatchNorm FusedBatchNormV2 "
        "FusedBatchNormV3 FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 BiasAddGrad "
        "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits"
    ),
    "cells of recurrent networks: test_recurrent": (
        "LSTMBlockCell LSTMBlockCellGrad GRUBlockCell GRUBlockCellGrad BlockLSTM BlockLSTMV2 BlockLSTMGrad "
        "BlockLSTMGradV2"
    ),
    "arrays of tensors: test_training": (
        "TensorArrayV3 TensorArrayReadV3 TensorArrayWriteV3 TensorArrayGatherV3 TensorArrayScatterV3 "
        "TensorArrayConcatV3 TensorArraySplitV3 TensorArraySizeV3 TensorArrayGradV3 TensorArrayCloseV3 "
        "StackV2 StackPushV2 StackPopV2 StackCloseV2"
    ),
    "random numbers: test_random": (
        "RandomUniform RandomStandardNormal TruncatedNormal StatelessRandomUniform StatelessRandomNormal "
        "StatelessTruncatedNormal StatelessRandomUniformV2 StatelessRandomNormalV2 "
        "StatelessTruncatedNormalV2 StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg "
        "StatelessRandomGetAlg"
    ),
    "variables: test_sessions": (
        "Variable VariableV2 Assign TemporaryVariable DestroyTemporaryVariable VarHandleOp ReadVariableOp "
        "AssignVariableOp DestroyResourceOp DisableCopyOnRead AssignAdd AssignSub AssignAddVariableOp "
        "AssignSubVariableOp IsVariableInitialized VarIsInitializedOp VariableShape ScatterAdd ScatterSub "
        "ScatterUpdate ResourceScatterAdd ResourceScatterSub ResourceScatterUpdate ResourceGather"
    ),
}


def _cases() -> dict[str, list[Inputs]]:
    found: dict[str, list[Inputs]] = {}
    for case in itertools.chain.from_iterable(math_cases.CASES.values()):
        found.setdefault(case.op, []).append((list(case.inputs), case.attrs))
    for op_type, inputs, attrs in array_cases.CASES:
        found.setdefault(op_type, []).append((inputs, attrs))
    return found | {op_type: _gradients(name) for op_type, name in GRADIENTS.items()}


def _gradients(name: str) -> list[Inputs]:
    """Cases of an op of two arrays, the input or output of a function and the gradient of the output."""
    random = np.random.default_rng(3)
    attrs = {"alpha": 0.1} if name == "LeakyRelu" else {}
    return [
        ([random.uniform(0.1, 2, shape).astype(dtype), random.normal(size=shape).astype(dtype)], attrs)
        for dtype in (np.float16, np.float32, np.float64)
        for shape in ((), (2, 3), (0, 2))
    ]


def _chosen(cases: list[Inputs]) -> list[Inputs]:
    """Some of the cases: one of each kind first, then the others."""
    kinds: dict[str, list[Inputs]] = {}
    for inputs, attrs in cases:
        flat = [np.asarray(x) for x in _flat(inputs)]
        if any(x.dtype.kind not in "biufc" for x in flat):
            continue
        kinds.setdefault(f"{[(x.dtype, x.ndim) for x in flat]}{attrs}", []).append((inputs, attrs))
    turns = itertools.zip_longest(*kinds.values())
    return list(itertools.islice((case for turn in turns for case in turn if case is not None), MOST))


def _flat(inputs: list[Any]) -> list[Any]:
    return [x for value in inputs for x in (value if isinstance(value, list) else [value])]


CASES = _cases()
_elsewhere = {op_type for ops in ELSEWHERE.values() for op_type in ops.split()}
OPS = [op_type for op_type in listed() if op_type not in _elsewhere and "Apply" not in op_type]


@pytest.mark.parametrize("op_type", OPS)
def test_a_kernel_computes_the_same(xp: Any, op_type: str) -> None:
    compared = 0
    for inputs, attrs in _chosen(CASES.get(op_type, [])):
        compared += _compare(xp, op_type, inputs, attrs)
    assert compared, f"no case of {op_type} runs on a GPU: give it one, or say where it is tested"


def _compare(xp: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> bool:
    """Runs one case both ways; whether it is one for GPUs."""
    node, values = make_node(op_type, *inputs, **attrs)
    graph_node = Node("n", lookup_op(op_type), node.attrs)
    if not has_gpu_kernel(graph_node):
        return False
    expected, refused = _run(node, values)
    memory = memory_of(graph_node)
    if not memory.on_host:
        node, _ = make_node(op_type, *inputs, xp=xp, **attrs)
    places = zip(values, memory.inputs, strict=True)
    moved = [xp.asarray(value) if place in (DEVICE, ANY) else value for value, place in places]
    before = copy.deepcopy(machine.counters)
    outputs, failed = _run(node, moved)
    if refused is None:
        assert machine.counters.synchronizations == before.synchronizations, f"{op_type} waits for the device"
        assert machine.counters.to_device == before.to_device, f"{op_type} copies to the device unseen"
    if refused is not None and op_type in QUIET:
        assert failed is None or type(failed) is type(refused)
        return True
    shown = f"{op_type}{[f'{np.asarray(x).dtype}{np.shape(x)}' for x in _flat(inputs)]} {attrs}"
    assert type(failed) is type(refused), f"{shown}: {failed!r} in place of {refused!r}"
    for place, dtype, found, wanted in zip(
        memory.outputs, node.output_types, outputs, expected, strict=False
    ):
        if wanted is None:
            continue
        on_device = isinstance(found, xp.ndarray)
        assert on_device == (place != HOST), (
            f"{shown}: the result is on the {'device' if on_device else 'host'}"
        )
        found = found.get() if on_device else np.asarray(found)
        assert found.dtype == np.asarray(wanted).dtype, shown
        _check(found, np.asarray(wanted), dtype, shown)
    return True


def _run(node: KernelNode, values: list[Any]) -> tuple[list[Any], Exception | None]:
    try:
        with np.errstate(all="ignore"):
            found = call(make_kernel(node), values)
    except errors.OpError as e:
        return [], e
    except (ValueError, IndexError) as e:  # of shapes, which the executor makes InvalidArgumentErrors
        return [], ValueError(str(e))
    return (list(found) if isinstance(found, tuple) else [found]), None


def _check(found: Any, wanted: Any, dtype: dtypes.DType, shown: str) -> None:
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted, shown)
    else:
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        rtol = 2e-3 if dtype is dtypes.float16 else 1e-5
        np.testing.assert_allclose(found.astype(wide), wanted.astype(wide), rtol, rtol, err_msg=shown)


def test_every_op_of_the_table_is_tested() -> None:
    assert _elsewhere <= set(listed())
    assert [op_type for op_type in OPS if op_type not in CASES] == []
