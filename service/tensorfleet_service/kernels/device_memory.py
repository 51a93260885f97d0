"""Which ops have kernels on GPUs, and which of their inputs and outputs stay in the host's memory there.

As in TensorFlow's registrations: what an op needs to know before it can start (shapes, axes, sizes, seeds,
conditions) is read by the host, and so are results that are shapes. Integers of int32 are mostly parts of
shapes, so the ops that compute with them do so on the host, too. What runs on a GPU by this table is what
its kernel computes with nothing but CuPy's functions.

An op that is not listed runs on the CPU. If another master, such as TensorFlow's, puts it on a GPU all the
same, it computes on the host, with copies around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.op_def import Arg, arg_types

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

HOST, DEVICE, ANY = "host", "device", "any"
"""Where an input has to be. ANY: where it is, as the kernel looks at its shape, or at a single number."""

_FLOATS = frozenset((dtypes.float16, dtypes.float32, dtypes.float64))
_COMPLEX = frozenset((dtypes.complex64, dtypes.complex128))
_SIGNED = frozenset((dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64))
_UNSIGNED = frozenset((dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64))
_NUMBERS = _FLOATS | _SIGNED | _UNSIGNED | _COMPLEX
_REALS = _FLOATS | _SIGNED | _UNSIGNED
_EVERY = _NUMBERS | {dtypes.bool}
_WIDE = frozenset((dtypes.float32, dtypes.float64))
_ATOMIC = _WIDE | {dtypes.int32, dtypes.uint32, dtypes.uint64}
"""The dtypes that GPUs add up in memory, whatever the order."""
_HELD = _EVERY - {dtypes.int32}
"""The dtypes of variables: one of int32 stays on the CPU."""
_STEP = frozenset((dtypes.string, dtypes.resource, dtypes.variant))
"""Dtypes whose values are objects of the host, wherever they are used."""


_INDEX_TYPES = frozenset((dtypes.int32, dtypes.int64))
_INDICES = frozenset(("indices", "segment_ids", "labels", "targets"))
"""Inputs that may be indices, of either dtype of these."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """What the table says of an op type: the dtypes of what is on the device, and which arguments are not."""

    types: frozenset[DType]
    host: frozenset[str]
    any: frozenset[str]
    int32_on_host: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a node's inputs have to be, and where its outputs are: HOST, DEVICE or, for inputs, ANY.

    Attributes:
        on_host: whether its kernel computes with the host's arrays alone.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    on_host: bool


FOLLOWING = frozenset(("LogicalAnd", "LogicalOr", "LogicalNot", "Cast"))
"""Ops that run on the host where that computes all of their inputs, such as parts of a loop's condition."""

ON_HOST = "_on_host"
"""The attribute of a node of FOLLOWING that runs on the host."""

_table: dict[str, _Entry] = {}


def _add(
    ops: str, types: Iterable[DType], host: str = "", any: str = "", int32_on_host: bool = False
) -> None:
    for op_type in ops.split():
        assert op_type not in _table, op_type
        _table[op_type] = _Entry(
            frozenset(types), frozenset(host.split()), frozenset(any.split()), int32_on_host
        )


# Values as they are, and control flow. A value keeps its place.
_add("Identity StopGradient PreventGradient Snapshot", _EVERY, int32_on_host=True)
_add("EnsureShape PlaceholderWithDefault", _EVERY, int32_on_host=True)
_add("Enter Exit NextIteration RefEnter RefExit RefNextIteration", _EVERY, int32_on_host=True)
_add("Switch RefSwitch", _EVERY, host="pred", int32_on_host=True)
_add("Merge RefMerge", _EVERY, host="value_index", int32_on_host=True)
_add("LoopCond", (), host="input output")
_add("NoOp ControlTrigger", ())
_add("Placeholder PlaceholderV2", _EVERY)
_add("CollectiveReduce CollectiveGather CollectiveBcastSend CollectiveBcastRecv", _EVERY)
_add(
    "CollectiveReduceV2 CollectiveGatherV2 CollectiveBcastSendV2 CollectiveBcastRecvV2",
    _EVERY,
    host="group_size group_key instance_key shape",
)
_add("_ToHost", _EVERY, host="output")
_add("_ToDevice", _EVERY, host="input")
_add("Const", _EVERY, host="output")

# Shapes, and what is made of them
_add("Shape ShapeN Size Rank", _EVERY, host="output", any="input")
_add("BroadcastGradientArgs", (), host="s0 s1 r0 r1")
_add("BroadcastArgs", (), host="s0 s1 r0")
_add("ConcatOffset", (), host="concat_dim shape offset")
_add("InvertPermutation", (), host="x y")
_add("Range", (), host="start limit delta output")
_add("LinSpace", (), host="start stop num output")

# Forms of arrays
_add("Reshape", _EVERY, host="shape", int32_on_host=True)
_add("ExpandDims", _EVERY, host="dim", int32_on_host=True)
_add("Squeeze", _EVERY, int32_on_host=True)
_add("Concat", _EVERY, host="concat_dim", int32_on_host=True)
_add("ConcatV2", _EVERY, host="axis", int32_on_host=True)
_add("Pack Unpack", _EVERY, int32_on_host=True)
_add("Slice", _EVERY, host="begin size", int32_on_host=True)
_add("StridedSlice", _EVERY, host="begin end strides", int32_on_host=True)
_add("StridedSliceGrad", _EVERY, host="shape begin end strides", int32_on_host=True)
_add("Split", _EVERY, host="split_dim")
_add("SplitV", _EVERY, host="size_splits split_dim")
_add("Transpose ConjugateTranspose", _EVERY, host="perm")
_add("Tile", _EVERY, host="multiples")
_add("BroadcastTo", _EVERY, host="shape")
_add("Pad MirrorPad MirrorPadGrad", _EVERY, host="paddings")
_add("PadV2", _EVERY, host="paddings constant_values")
_add("Reverse", _EVERY, host="dims")
_add("ReverseV2", _EVERY, host="axis")
_add("Roll", _EVERY, host="shift axis")
_add("Fill", _EVERY, host="dims value", int32_on_host=True)
_add("ZerosLike OnesLike", _EVERY, any="x", int32_on_host=True)
_add("SpaceToBatchND", _EVERY, host="block_shape paddings")
_add("BatchToSpaceND", _EVERY, host="block_shape crops")
_add("SpaceToDepth DepthToSpace", _EVERY)
_add("Cast Bitcast", _EVERY)
_add("Select SelectV2", _EVERY)
_add("MatrixBandPart", _EVERY, host="num_lower num_upper")
_add("DiagPart MatrixDiagPart", _EVERY)

# Indices
_add("Gather", _EVERY)
_add("GatherV2", _EVERY, host="axis")
_add("OneHot", _EVERY, host="depth on_value off_value")
_add("ArgMax ArgMin", _FLOATS | _SIGNED, host="dimension")
_add("TopKV2", _FLOATS | _SIGNED, host="k")

# Numbers, element by element
_add("Add AddV2 Sub Mul", _NUMBERS, int32_on_host=True)
_add("Div RealDiv FloorDiv TruncateDiv", _NUMBERS, int32_on_host=True)
_add("FloorMod Mod TruncateMod", _FLOATS | _SIGNED, int32_on_host=True)
_add("Maximum Minimum", _REALS, int32_on_host=True)
_add("Neg Abs Sign Square SquaredDifference", _FLOATS | _SIGNED | _COMPLEX, int32_on_host=True)
_add("Equal NotEqual", _EVERY, int32_on_host=True)
_add("Less LessEqual Greater GreaterEqual", _REALS | {dtypes.bool}, int32_on_host=True)
_add("LogicalAnd LogicalOr LogicalNot", _EVERY)
_add("DivNoNan MulNoNan Xdivy Xlogy Xlog1py", _FLOATS | _COMPLEX)
_add("Pow", _FLOATS)
_add("Exp Expm1 Log Log1p Sqrt Rsqrt Reciprocal Inv", _FLOATS)
_add("Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Atan2 Tanh Sigmoid", _FLOATS)
_add("TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad", _FLOATS)
_add("Floor Ceil Round Rint", _FLOATS)
_add("IsNan IsInf IsFinite", _FLOATS | {dtypes.bool})
_add("ClipByValue", _FLOATS)
_add("AddN AccumulateNV2", _NUMBERS, int32_on_host=True)
_add("Relu Relu6 Elu Selu Softplus Softsign LeakyRelu", _FLOATS)
_add("ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad SoftsignGrad LeakyReluGrad", _FLOATS)
_add("BiasAdd BiasAddV1 BiasAddGrad", _FLOATS)
_add("Real Imag Conj ComplexAbs", _WIDE | _COMPLEX)
_add("BitwiseAnd BitwiseOr BitwiseXor Invert", _SIGNED | _UNSIGNED)

# Reductions, products, scans
_add("Sum Prod Max Min", _FLOATS | {dtypes.int32, dtypes.int64}, "reduction_indices", int32_on_host=True)
_add("Mean EuclideanNorm", _FLOATS, host="reduction_indices")
_add("All Any", _EVERY, host="reduction_indices")
_add("Cumsum Cumprod", _FLOATS, host="axis")
_add("L2Loss", _FLOATS)
_add("MatMul BatchMatMul BatchMatMulV2", _FLOATS | _COMPLEX)
_add("Einsum", _WIDE | _COMPLEX)
_add("UnsortedSegmentSum", _ATOMIC, host="num_segments")

# Layers
_add("Conv2D Conv3D", _FLOATS)
_add("Conv2DBackpropInput Conv3DBackpropInputV2", _FLOATS, host="input_sizes")
_add("Conv2DBackpropFilter Conv3DBackpropFilterV2", _FLOATS, host="filter_sizes")
_add("MaxPool MaxPoolGrad AvgPool", _FLOATS)
_add("AvgPoolGrad", _FLOATS, host="orig_input_shape")
_add("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", _FLOATS)
_add("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3", _FLOATS)
_add("LSTMBlockCell LSTMBlockCellGrad GRUBlockCell GRUBlockCellGrad", _FLOATS)
_add("BlockLSTM BlockLSTMV2 BlockLSTMGrad BlockLSTMGradV2", _FLOATS, host="seq_len_max")
_add("Softmax LogSoftmax SoftmaxCrossEntropyWithLogits", _FLOATS)
_add("SparseSoftmaxCrossEntropyWithLogits", _FLOATS)
_add("InTopK", _FLOATS | {dtypes.bool})
_add("InTopKV2", _FLOATS | {dtypes.bool}, host="k")

# Arrays of tensors, and stacks: their elements are on the device, and the host keeps the list of them
_add("TensorArrayV3", _EVERY, host="size", int32_on_host=True)
_add(
    "TensorArrayReadV3 TensorArrayWriteV3 TensorArrayGatherV3 TensorArrayScatterV3 TensorArrayConcatV3 "
    "TensorArraySplitV3 TensorArraySizeV3 TensorArrayGradV3 TensorArrayCloseV3",
    _EVERY,
    host="index indices lengths size",
    int32_on_host=True,
)
_add("StackV2", _EVERY, host="max_size", int32_on_host=True)
_add("StackPushV2 StackPopV2 StackCloseV2", _EVERY, int32_on_host=True)

# Random numbers
_add("RandomUniform RandomStandardNormal TruncatedNormal", _FLOATS, host="shape")
_add("StatelessRandomGetKeyCounter", (), host="seed key counter")
_add("StatelessRandomGetKeyCounterAlg", (), host="seed key counter alg")
_add("StatelessRandomGetAlg", (), host="alg")
_add("StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal", _FLOATS, host="shape seed")
_add(
    "StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2",
    _FLOATS,
    host="shape key counter alg",
)

# Variables
_add("Variable VariableV2 Assign TemporaryVariable DestroyTemporaryVariable", _HELD)
_add("VarHandleOp ReadVariableOp AssignVariableOp DestroyResourceOp DisableCopyOnRead", _EVERY)
_add("AssignAdd AssignSub", _HELD)
_add("AssignAddVariableOp AssignSubVariableOp", _EVERY)
_add("IsVariableInitialized VarIsInitializedOp", _EVERY, host="is_initialized")
_add("VariableShape", _EVERY, host="output")
_add("ScatterAdd ScatterSub ScatterUpdate", _ATOMIC - {dtypes.int32})
_add("ResourceScatterAdd ResourceScatterSub ResourceScatterUpdate ResourceGather", _ATOMIC)
_NUMBERS_OF_OPTIMIZERS = (
    "alpha lr momentum rho epsilon beta1 beta2 beta1_power beta2_power l1 l2 l2_shrinkage lr_power "
    "global_step logbase sign_decay beta"
)
DENSE_OPTIMIZERS = (
    *("GradientDescent", "Momentum", "KerasMomentum", "Adagrad", "AdagradV2", "Adadelta", "Adam"),
    *("AdamWithAmsgrad", "AdaMax", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2", "AddSign", "PowerSign"),
)
"""The rules that update whole variables on GPUs."""
_RESOURCE_ONLY = frozenset(("KerasMomentum", "AdamWithAmsgrad"))
for _name in DENSE_OPTIMIZERS:
    _forms = ("Resource",) if _name in _RESOURCE_ONLY else ("", "Resource")
    _add(" ".join(f"{form}Apply{_name}" for form in _forms), _FLOATS, any=_NUMBERS_OF_OPTIMIZERS)
for _name in ("Momentum", "Adagrad", "AdagradV2", "RMSProp"):
    _add(
        f"SparseApply{_name} ResourceSparseApply{_name}",
        _FLOATS,
        any=_NUMBERS_OF_OPTIMIZERS,
    )

_EDGES = frozenset(("_Arg", "_Recv", "_HostRecv", "_Retval", "_Send", "_HostSend"))


def has_gpu_kernel(node: Node) -> bool:
    """Whether a node can run on a GPU: by its op type, and by the dtypes of what would be there."""
    entry = _table.get(node.op)
    if entry is None:
        return node.op in _EDGES
    memory = memory_of(node)
    indices = [arg.name in _INDICES for arg in node.opdef.inputs for _ in arg_types(arg, node.attrs)]
    kinds = [*zip(node.input_types, memory.inputs, indices, strict=True)]
    kinds += [(dtype, place, False) for dtype, place in zip(node.output_types, memory.outputs, strict=True)]
    return all(
        place == HOST or dtype.base in entry.types or (is_index and dtype.base in _INDEX_TYPES)
        for dtype, place, is_index in kinds
    ) and ("dtype" not in node.attrs or node.attrs["dtype"] in entry.types or not entry.types)


def memory_of(node: Node) -> Memory:
    """Where a node on a GPU has its inputs and outputs."""
    if node.op in _EDGES:  # what comes from elsewhere, and goes there, is on the host
        return Memory((ANY,) * len(node.input_types), (HOST,) * len(node.output_types), False)
    entry = _table.get(node.op)
    if entry is None or ON_HOST in node.attrs:
        return Memory((HOST,) * len(node.input_types), (HOST,) * len(node.output_types), True)
    inputs = _places(node.opdef.inputs, node, entry)
    outputs = _places(node.opdef.outputs, node, entry)
    on_host = DEVICE not in inputs and DEVICE not in outputs
    return Memory(inputs, tuple(HOST if place == ANY else place for place in outputs), on_host)


def _places(args: Sequence[Arg], node: Node, entry: _Entry) -> tuple[str, ...]:
    places: list[str] = []
    integers = entry.int32_on_host and _is_int32(node)
    for arg in args:
        for dtype in arg_types(arg, node.attrs):
            if arg.name in entry.host or dtype.base in _STEP:
                places.append(HOST)
            elif arg.name in entry.any:
                places.append(ANY)
            else:
                places.append(HOST if integers and not dtype.is_ref else DEVICE)
    return tuple(places)


def _is_int32(node: Node) -> bool:
    """Whether a node computes with int32, so that all of its values stay on the host."""
    for key in ("T", "dtype", "Tidx", "elem_type"):
        if key in node.attrs:
            return bool(node.attrs[key] is dtypes.int32)
    return False


def listed() -> list[str]:
    """The op types with kernels on GPUs, sorted."""
    return sorted(_table)
