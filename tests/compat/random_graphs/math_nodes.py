"""Generators: arithmetic, functions of elements, comparisons, reductions, matrix products, random ops."""

from __future__ import annotations

import numpy as np

from tensorfleet.core import dtypes
from tests.compat.random_graphs.draws import Call, Draw, Leaf
from tests.compat.random_graphs.table import generator

INDEX_TYPES = (dtypes.int32, dtypes.int64)


@generator(
    "Abs", "Atan", "Ceil", "Conj", "Elu", "Floor", "Identity", "Invert", "IsFinite", "IsInf", "IsNan",
    "LeakyRelu", "Neg", "OnesLike", "PopulationCount", "Relu", "Relu6", "Rint", "Round",
    "Selu", "Snapshot", "Softplus", "Softsign", "Square", "StopGradient", "ZerosLike",
    "PreventGradient", "L2Loss",
)  # fmt: skip
def unary(d: Draw) -> Call:
    return d.node(d.tensor(d.shape()))


# Of NaNs, TensorFlow 1.15 and TensorFleet have other signs and extrema than today's package, so that they
# take no computed values.
@generator("Sign")
def sign(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(), values="small", kind="fixed"))


@generator("Maximum", "Minimum")
def extremum_of_two(d: Draw) -> Call:
    shape = d.shape()
    shapes = [shape, d.broadcastable(shape)]
    own = [d.tensor(s, values="small", kind="fixed") for s in shapes]
    return d.node(*(own if d.flag() else own[::-1]))


@generator("Max", "Min", loose=1e-5)
def extremum(d: Draw) -> Call:
    shape = d.shape(least=1)
    return d.node(d.tensor(shape, values="small", kind="fixed"), _axes(d, len(shape)), keep_dims=d.flag())


@generator("Angle", "ComplexAbs", "Imag", "Real")
def of_complex(d: Draw) -> Call:
    double = d.type() is dtypes.complex128
    return d.node(d.tensor(d.shape()), Tout=dtypes.float64 if double else dtypes.float32)


@generator("LogicalNot")
def logical_not(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(), dtypes.bool))


@generator("StringLower", "StringUpper", "StringLength", "StringStrip")
def unary_string(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(), dtypes.string))


@generator("LogicalAnd", "LogicalOr")
def logical(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape, dtypes.bool), d.tensor(d.broadcastable(shape), dtypes.bool))


@generator(
    "Cos", "Sin", "Sigmoid", "Tanh", "Exp", "Expm1", "Cosh", "Sinh", "Asinh", "Erf", "Erfc", "Tan", loose=1e-5
)
def smooth(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(), values="small"))


@generator("Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Lgamma", "Digamma", loose=2e-5)
def of_positive(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(), values=d.choice(["positive", "positive", "any"])))


@generator("Acos", "Asin", "Atanh", "Erfinv", loose=1e-5)
def of_unit(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(), values="unit"))


@generator("Acosh", "Ndtri", loose=1e-5)
def of_part(d: Draw) -> Call:
    array = d.rng.uniform(0.05, 0.95, d.shape()) + (1 if d.op == "Acosh" else 0)
    return d.node(d.like(array, d.type()))


@generator(
    "Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Greater", "GreaterEqual",
    "Less", "LessEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "MulNoNan", "DivNoNan", "NextAfter",
    "Atan2",
)  # fmt: skip
def binary(d: Draw) -> Call:
    shape = d.shape()
    pair = [d.tensor(shape), d.tensor(d.broadcastable(shape))]
    return d.node(*(pair if d.flag() else pair[::-1]))


@generator("Xdivy", "Xlog1py", "Xlogy", loose=1e-5)
def with_logarithm(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape), d.tensor(d.broadcastable(shape), values="positive"))


@generator("LeftShift", "RightShift")
def shift(d: Draw) -> Call:
    shape = d.shape()
    amount = d.rng.integers(0, d.type().size * 8 - 1, d.broadcastable(shape))
    return d.node(d.tensor(shape), d.like(amount, d.type()))


@generator("Equal", "NotEqual")
def equal(d: Draw) -> Call:
    shape = d.shape()
    return d.node(
        d.tensor(shape, values="small"),
        d.tensor(d.broadcastable(shape), values="small"),
        incompatible_shape_error=d.choice([True, True, False]),
    )


@generator("ApproximateEqual")
def approximate(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape, values="small"), d.tensor(shape, values="small"), tolerance=0.5)


@generator("Div", "RealDiv", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod")
def divide(d: Draw) -> Call:
    shape = d.shape()
    values = "any" if d.type().is_floating and not d.op.endswith("Mod") else "nonzero"
    divisor = d.tensor(d.broadcastable(shape), values=values)
    if d.type().is_integer and divisor.value.size and d.int(0, 7) == 0:
        divisor.value.flat[0] = 0
    return d.node(d.tensor(shape), divisor)


@generator("Pow", loose=1e-5)
def power(d: Draw) -> Call:
    shape = d.shape()
    exponent = d.tensor(d.broadcastable(shape), values="positive" if d.type().is_integer else "small")
    if d.type().is_integer:
        exponent = d.like(exponent.value % 4, d.type())
    return d.node(d.tensor(shape, values="positive" if d.type().is_floating else "small"), exponent)


@generator("Igamma", "Igammac", loose=1e-4)
def incomplete_gamma(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape, values="positive"), d.tensor(d.broadcastable(shape), values="positive"))


@generator("Complex")
def complex_number(d: Draw) -> Call:
    shape, dtype = d.shape(), d.type("T")
    tout = dtypes.complex64 if dtype is dtypes.float32 else dtypes.complex128
    return d.node(d.tensor(shape), d.tensor(d.broadcastable(shape)), Tout=tout)


@generator("Cast")
def cast(d: Draw) -> Call:
    numbers = [t for t in (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int32,
               dtypes.int64, dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.uint32,
               dtypes.uint64, dtypes.bool, dtypes.complex64, dtypes.complex128)]  # fmt: skip
    source, target = d.type("SrcT", numbers), d.type("DstT", numbers)
    # What does not fit into the target is undefined in TensorFlow as well.
    values = "positive" if target.is_unsigned and (source.is_floating or source.is_complex) else "small"
    if source.is_complex and target.is_unsigned:
        return d.node(d.like(d.rng.uniform(0, 5, d.shape()), source))
    return d.node(d.tensor(d.shape(), source, values, kind="fixed"), Truncate=False)


@generator("AddN", "AccumulateNV2")
def add_many(d: Draw) -> Call:
    shape = d.shape()
    attrs = {"shape": shape} if d.op == "AccumulateNV2" else {}
    return d.node([d.tensor(shape) for _ in range(d.int(1, 4))], **attrs)


def _axes(d: Draw, rank: int, attr: str = "Tidx") -> Leaf:
    dtype = d.type(attr, INDEX_TYPES)
    if rank and d.int(0, 3) == 0:
        return d.like(d.axis(rank), dtype)
    chosen = [axis - (rank if d.flag() else 0) for axis in range(rank) if d.flag()]
    return d.like(d.rng.permutation(chosen), dtype)


@generator("Sum", "Prod", "Mean", "EuclideanNorm", loose=1e-5)
def reduce(d: Draw) -> Call:
    shape = d.shape(least=1 if d.op == "Mean" else 0)
    return d.node(d.tensor(shape, values="small"), _axes(d, len(shape)), keep_dims=d.flag())


@generator("All", "Any")
def reduce_bool(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape, dtypes.bool), _axes(d, len(shape)), keep_dims=d.flag())


@generator("ArgMax", "ArgMin")
def arg_extremum(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    return d.node(d.tensor(shape), d.like(d.axis(len(shape)), d.type("Tidx")))


@generator("Cumsum", "Cumprod", loose=1e-5)
def cumulative(d: Draw) -> Call:
    shape = d.shape(low=1)
    axis = d.like(d.axis(len(shape)), d.type("Tidx"))
    return d.node(d.tensor(shape, values="small"), axis, exclusive=d.flag(), reverse=d.flag())


@generator("MatMul", loose=1e-5)
def matmul(d: Draw) -> Call:
    a = d.shape(rank=2)
    transpose_a, transpose_b = d.flag(), d.flag()
    inner, other = a[0 if transpose_a else 1], d.int(0, 4)
    b = (other, inner) if transpose_b else (inner, other)
    return d.node(
        d.tensor(a, values="small"),
        d.tensor(b, values="small"),
        transpose_a=transpose_a,
        transpose_b=transpose_b,
    )


@generator("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", loose=1e-5)
def batch_matmul(d: Draw) -> Call:
    batch = d.shape(low=0, high=2)
    other = batch if d.op == "BatchMatMul" else d.broadcastable(batch)
    rows, inner, columns = d.int(1, 3), d.int(1, 3), d.int(1, 3)
    adj_x, adj_y = d.flag(), d.flag()
    x = (*batch, *((inner, rows) if adj_x else (rows, inner)))
    y = (*other, *((columns, inner) if adj_y else (inner, columns)))
    if d.op == "BatchMatMulV3":
        pair = d.tensor(x, d.type("Ta"), "small"), d.tensor(y, d.type("Tb"), "small")
    else:
        pair = d.tensor(x, values="small"), d.tensor(y, values="small")
    return d.node(*pair, adj_x=adj_x, adj_y=adj_y)


@generator("BiasAdd", "BiasAddV1")
def bias_add(d: Draw) -> Call:
    shape = d.shape(low=2, high=4, least=1)
    if d.op == "BiasAddV1":
        return d.node(d.tensor(shape), d.tensor(shape[-1:]))
    layout = d.choice(["NHWC", "NCHW"])
    return d.node(d.tensor(shape), d.tensor((shape[-1 if layout == "NHWC" else 1],)), data_format=layout)


@generator("Softmax", "LogSoftmax", loose=1e-5)
def softmax(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(low=1, least=1), values="small"))


@generator("CheckNumerics")
def check_numerics(d: Draw) -> Call:
    return d.node(d.tensor(d.shape()), message="not finite")


@generator("Bucketize")
def bucketize(d: Draw) -> Call:
    return d.node(d.tensor(d.shape()), boundaries=[-1.5, 0.0, 2.0])


@generator("HistogramFixedWidth")
def histogram(d: Draw) -> Call:
    bounds = d.like([-2, 3], d.type("T"))
    return d.node(d.tensor(d.shape(low=1), values="small"), bounds, d.like(d.int(1, 6), dtypes.int32))


@generator("InTopK", "InTopKV2")
def in_top_k(d: Draw) -> Call:
    rows, classes = d.int(1, 4), d.int(1, 4)
    predictions = d.tensor((rows, classes), dtypes.float32)
    targets = d.indices((rows,), classes, d.type("T"))
    k = d.int(1, 3)
    return (
        d.node(predictions, targets, k=k)
        if d.op == "InTopK"
        else d.node(predictions, targets, d.like(k, d.type("T")))
    )


@generator("LinSpace")
def lin_space(d: Draw) -> Call:
    return d.node(
        d.tensor((), values="small"), d.tensor((), values="small"), d.like(d.int(1, 6), d.type("Tidx"))
    )


@generator("Range")
def range_(d: Draw) -> Call:
    dtype = d.type("Tidx")
    start, count, delta = d.int(0, 3), d.int(0, 5), d.int(1, 3)
    if not dtype.is_unsigned and d.flag():
        delta = -delta
    limit = start + count * delta
    if dtype.is_unsigned:
        limit = max(limit, start)
    return d.node(d.like(start, dtype), d.like(limit, dtype), d.like(delta, dtype))


@generator("Multinomial", shapes_only=True)
def multinomial(d: Draw) -> Call:
    logits = d.tensor((d.int(1, 3), d.int(1, 4)), d.type("T"), "small")
    return d.node(logits, d.like(d.int(0, 4), dtypes.int32), seed=3, seed2=4)


@generator("RandomUniform", "RandomStandardNormal", "TruncatedNormal", loose=1e-4)
def random_floats(d: Draw) -> Call:
    return d.node(d.like(d.shape(low=1), d.type("T")), seed=d.int(1, 99), seed2=d.int(1, 99))


@generator("RandomUniformInt")
def random_ints(d: Draw) -> Call:
    dtype = d.type("Tout")
    limits = d.like(d.int(-5, 0), dtype), d.like(d.int(1, 20), dtype)
    return d.node(d.like(d.shape(low=1), d.type("T")), *limits, seed=d.int(1, 99), seed2=d.int(1, 99))


@generator("RandomGamma", shapes_only=True)
def random_gamma(d: Draw) -> Call:
    return d.node(d.like(d.shape(low=1), d.type("S")), d.tensor(d.shape(high=1), values="positive"), seed=1)


@generator("RandomPoissonV2", shapes_only=True)
def random_poisson(d: Draw) -> Call:
    rate = d.tensor(d.shape(high=1), d.type("R"), "positive")
    return d.node(d.like(d.shape(low=1), d.type("S")), rate, seed=1)


@generator("RandomShuffle", shapes_only=True)
def random_shuffle(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(low=1), kind="fixed"), seed=5, seed2=6)


@generator("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal", loose=1e-4)
def stateless_floats(d: Draw) -> Call:
    seed = d.like([d.int(0, 2**31 - 1), d.int(0, 99)], d.type("Tseed"))
    return d.node(d.like(d.shape(low=1), d.type("T")), seed)


@generator("StatelessRandomUniformInt")
def stateless_ints(d: Draw) -> Call:
    seed, dtype = d.like([d.int(0, 2**31 - 1), d.int(0, 99)], d.type("Tseed")), d.type("dtype")
    return d.node(
        d.like(d.shape(low=1), d.type("T")), seed, d.like(d.int(-5, 0), dtype), d.like(d.int(1, 20), dtype)
    )


def _key_counter(d: Draw) -> list[Leaf]:
    counter = np.array([d.int(0, 99), d.int(0, 2**31)], np.uint64)
    return [
        d.like([d.int(0, 2**31)], dtypes.uint64),
        d.like(counter, dtypes.uint64),
        d.like(1, dtypes.int32),
    ]


@generator("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2", loose=1e-4)
def stateless_floats_v2(d: Draw) -> Call:
    return d.node(d.like(d.shape(low=1), d.type("Tshape")), *_key_counter(d))


@generator("StatelessRandomUniformIntV2")
def stateless_ints_v2(d: Draw) -> Call:
    dtype = d.type("dtype")
    low = 0 if dtype.is_unsigned else d.int(-5, 0)
    limits = d.like(low, dtype), d.like(d.int(1, 20), dtype)
    return d.node(d.like(d.shape(low=1), d.type("Tshape")), *_key_counter(d), *limits)


@generator("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")
def get_key_counter(d: Draw) -> Call:
    return d.node(d.like([d.int(0, 2**31 - 1), d.int(0, 99)], d.type("Tseed")))


@generator("StatelessRandomGetAlg")
def get_algorithm(d: Draw) -> Call:
    return d.node()


@generator("StatelessMultinomial", shapes_only=True)
def stateless_multinomial(d: Draw) -> Call:
    logits = d.tensor((d.int(1, 3), d.int(1, 4)), d.type("T"), "small")
    return d.node(logits, d.like(d.int(0, 4), dtypes.int32), d.like([7, 8], d.type("Tseed")))
