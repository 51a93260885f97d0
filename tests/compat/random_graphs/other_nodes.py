"""Generators: variables, segments, linear algebra, strings."""

from __future__ import annotations

import numpy as np

from tensorfleet.core import dtypes
from tests.compat.random_graphs.draws import Call, Draw, Leaf, Shape
from tests.compat.random_graphs.table import generator

# Variables. A "ref" or "resource" leaf is a variable that holds the value when the node runs.


def _updates(d: Draw, shape: Shape, count: int, dtype: dtypes.DType) -> Leaf:
    values = "nonzero" if d.op.endswith("Div") else "small"
    return d.tensor((count, *shape[1:]), dtype, values, kind="fixed")


@generator("Assign", "AssignAdd", "AssignSub", alone=True)
def assign(d: Draw) -> Call:
    shape, dtype = d.shape(), d.type("T")
    return d.node(d.tensor(shape, dtype, kind="ref"), d.tensor(shape, dtype))


@generator("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", alone=True)
def assign_resource(d: Draw) -> Call:
    shape, dtype = d.shape(), d.type("dtype")
    return d.node(d.tensor(shape, dtype, kind="resource"), d.tensor(shape, dtype))


@generator("IsVariableInitialized", "CountUpTo", alone=True)
def of_reference(d: Draw) -> Call:
    if d.op == "CountUpTo":
        return d.node(d.like(d.int(0, 6), d.type("T"), "ref"), limit=5)
    return d.node(d.tensor(d.shape(), d.type("dtype"), kind="ref"))


@generator("ReadVariableOp", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp", alone=True)
def of_resource(d: Draw) -> Call:
    attrs = {}
    dtype = d.type("dtype", [dtypes.float32, dtypes.int32, dtypes.string, dtypes.bool, dtypes.bfloat16])
    if d.op == "ReadVariableOp":
        attrs["dtype"] = dtype
    return d.node(d.tensor(d.shape(), dtype, kind="resource"), **attrs)


@generator(
    "ScatterAdd",
    "ScatterSub",
    "ScatterMul",
    "ScatterDiv",
    "ScatterMin",
    "ScatterMax",
    "ScatterUpdate",
    alone=True,
)
def scatter(d: Draw) -> Call:
    shape, dtype = d.shape(low=1, least=1), d.type("T")
    count = d.int(0, 3) if d.op != "ScatterUpdate" else 1
    indices = d.indices((count,), shape[0], d.type("Tindices"))
    return d.node(d.tensor(shape, dtype, "small", kind="ref"), indices, _updates(d, shape, count, dtype))


@generator(
    "ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv",
    "ResourceScatterMin",
    "ResourceScatterMax", "ResourceScatterUpdate", alone=True,
)  # fmt: skip
def resource_scatter(d: Draw) -> Call:
    shape, dtype = d.shape(low=1, least=1), d.type("dtype")
    count = d.int(0, 3) if not d.op.endswith("Update") else 1
    indices = d.indices((count,), shape[0], d.type("Tindices"))
    return d.node(d.tensor(shape, dtype, "small", kind="resource"), indices, _updates(d, shape, count, dtype))


@generator(
    "ScatterNdAdd", "ScatterNdSub", "ScatterNdMin", "ScatterNdMax", "ScatterNdUpdate", "ResourceScatterNdAdd",
    "ResourceScatterNdSub", "ResourceScatterNdMin", "ResourceScatterNdMax", "ResourceScatterNdUpdate",
    alone=True,
)  # fmt: skip
def scatter_nd_variable(d: Draw) -> Call:
    shape, dtype = d.shape(low=1, least=1), d.type("T")
    count = d.int(0, 3) if not d.op.endswith("Update") else 1
    indices = d.indices((count, 1), shape[0], d.type("Tindices"))
    kind = "resource" if d.op.startswith("Resource") else "ref"
    return d.node(d.tensor(shape, dtype, "small", kind=kind), indices, _updates(d, shape, count, dtype))


@generator("StridedSliceAssign", "ResourceStridedSliceAssign", alone=True)
def strided_slice_assign(d: Draw) -> Call:
    shape, dtype = d.shape(low=1, high=2, least=1), d.type("T")
    kind = "resource" if d.op.startswith("Resource") else "ref"
    begin = [d.int(0, size - 1) for size in shape]
    index = d.type("Index")
    vectors = [d.like(v, index) for v in (begin, list(shape), [d.int(1, 2) for _ in shape])]
    value = d.tensor((), dtype)
    return d.node(d.tensor(shape, dtype, kind=kind), *vectors, value, shrink_axis_mask=d.int(0, 1))


@generator("ResourceGather", alone=True)
def resource_gather(d: Draw) -> Call:
    shape, dtype = d.shape(low=1, least=1), d.type("dtype")
    indices = d.indices(d.shape(high=2), shape[0], d.type("Tindices"))
    return d.node(d.tensor(shape, dtype, kind="resource"), indices)


@generator("ResourceGatherNd", alone=True)
def resource_gather_nd(d: Draw) -> Call:
    shape, dtype = d.shape(low=1, least=1), d.type("dtype")
    indices = d.indices((*d.shape(high=1), 1), shape[0], d.type("Tindices"))
    return d.node(d.tensor(shape, dtype, kind="resource"), indices)


# Segments


@generator("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMin", "SegmentMax", loose=1e-5)
def segment(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    ids = np.cumsum(d.rng.integers(0, 2, shape[0]))
    data = d.tensor(shape, values="small", kind="fixed" if d.op.endswith(("Min", "Max")) else "tensor")
    return d.node(data, d.like(ids, d.type("Tindices")))


@generator(
    "UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMin", "UnsortedSegmentMax", loose=1e-5
)
def unsorted_segment(d: Draw) -> Call:
    shape = d.shape(low=1)
    segments = d.int(1, 4)
    ids = d.indices(shape[: d.int(1, len(shape))], segments, d.type("Tindices"))
    # No NaN from elsewhere: the least of it and a number is whichever TensorFlow's loop comes to last.
    data = d.tensor(shape, values="small", kind="fixed" if d.op.endswith(("Min", "Max")) else "tensor")
    return d.node(data, ids, d.like(segments, d.type("Tnumsegments")))


@generator(
    "SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSumWithNumSegments",
    "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments", loose=1e-5,
)  # fmt: skip
def sparse_segment(d: Draw) -> Call:
    shape, count = d.shape(low=1, least=1), d.int(1, 5)
    indices = d.indices((count,), shape[0], d.type("Tidx"))
    ids = d.like(np.cumsum(d.rng.integers(0, 2, count)), d.type("Tsegmentids"))
    inputs = [d.tensor(shape, values="small"), indices, ids]
    if d.op.endswith("NumSegments"):
        inputs.append(d.like(int(ids.value[-1]) + d.int(1, 3), d.type("Tnumsegments")))
    return d.node(*inputs)


# Linear algebra


def _regular(d: Draw, batch: Shape, size: int, dtype: dtypes.DType) -> Leaf:
    """Matrices far from singular."""
    array = d.rng.normal(size=(*batch, size, size)) + 4 * np.eye(size)
    if dtype.is_complex:
        array = array + 1j * d.rng.normal(size=array.shape)
    return d.like(array, dtype)


@generator("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", loose=1e-4)
def of_regular(d: Draw) -> Call:
    attrs = {"adjoint": d.flag()} if d.op == "MatrixInverse" else {}
    return d.node(_regular(d, d.shape(high=1), d.int(1, 4), d.type()), **attrs)


@generator("MatrixSolve", "MatrixTriangularSolve", loose=1e-4)
def solve(d: Draw) -> Call:
    batch, size, dtype = d.shape(high=1), d.int(1, 4), d.type()
    attrs = {"adjoint": d.flag()}
    if d.op == "MatrixTriangularSolve":
        attrs["lower"] = d.flag()
    return d.node(
        _regular(d, batch, size, dtype), d.tensor((*batch, size, d.int(1, 3)), dtype, "small"), **attrs
    )


def _positive_definite(d: Draw, dtype: dtypes.DType) -> Leaf:
    array = _regular(d, d.shape(high=1), d.int(1, 4), dtype).value
    return d.like(array @ np.conj(np.swapaxes(array, -1, -2)), dtype)


@generator("Cholesky", loose=1e-4)
def cholesky(d: Draw) -> Call:
    return d.node(_positive_definite(d, d.type()))


@generator("SelfAdjointEigV2", loose=1e-3)
def eigenvalues(d: Draw) -> Call:
    # Vectors are only determined up to their signs.
    return d.node(_positive_definite(d, d.type()), compute_v=False)


@generator("Svd", loose=1e-3)
def singular_values(d: Draw) -> Call:
    shape = (*d.shape(high=1), d.int(1, 4), d.int(1, 4))
    return d.node(d.tensor(shape, values="small"), compute_uv=False)


@generator("Qr", shapes_only=True)
def qr(d: Draw) -> Call:
    return d.node(
        d.tensor((*d.shape(high=1), d.int(1, 4), d.int(1, 4)), values="small"), full_matrices=d.flag()
    )


# Strings


@generator("AsString")
def as_string(d: Draw) -> Call:
    simple = [
        dtypes.int32,
        dtypes.int64,
        dtypes.bool,
        dtypes.float32,
        dtypes.float64,
        dtypes.int8,
        dtypes.string,
    ]
    dtype = d.type("T", simple)
    attrs = {"precision": d.int(-1, 4), "scientific": d.flag()} if dtype.is_floating else {}
    return d.node(d.tensor(d.shape(), dtype), **attrs)


@generator("StringToNumber")
def string_to_number(d: Draw) -> Call:
    texts = np.array([str(d.int(-99, 99)).encode() for _ in range(d.int(0, 3))], object)
    return d.node(Leaf(texts, dtypes.string, "fixed"))


@generator("StringJoin")
def string_join(d: Draw) -> Call:
    shape = d.shape()
    inputs = [d.tensor(shape if d.flag() else (), dtypes.string) for _ in range(d.int(1, 3))]
    return d.node(inputs, separator=d.choice(["", "-"]))


@generator("ReduceJoin")
def reduce_join(d: Draw) -> Call:
    shape = d.shape(low=1)
    axes = d.rng.permutation(len(shape))[: d.int(1, len(shape))]
    return d.node(
        d.tensor(shape, dtypes.string), d.like(axes, dtypes.int32), keep_dims=d.flag(), separator="+"
    )


@generator("Substr")
def substr(d: Draw) -> Call:
    shape = d.shape(low=1)
    texts = np.full(shape, b"substring", object)
    index = d.type("T")
    return d.node(
        Leaf(texts, dtypes.string, "fixed"), d.like(d.int(-4, 9), index), d.like(d.int(0, 5), index)
    )


@generator("RegexReplace")
def regex_replace(d: Draw) -> Call:
    pattern, rewrite = d.choice([("[a-z]+", "<\\0>"), ("(T).*", "\\1"), (" ", ""), ("$^", "x")])
    inputs = [Leaf(np.array(text.encode(), object), dtypes.string, "fixed") for text in (pattern, rewrite)]
    return d.node(d.tensor(d.shape(), dtypes.string), *inputs, replace_global=d.flag())


@generator("EncodeBase64")
def encode_base64(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(), dtypes.string), **({"pad": d.flag()}))


@generator("DecodeBase64")
def decode_base64(d: Draw) -> Call:
    texts = np.array([b"", b"YQ", b"YWJj", b"-_-_"], object)
    return d.node(Leaf(texts[: d.int(0, 4)], dtypes.string, "fixed"))


@generator("DecodeRaw")
def decode_raw(d: Draw) -> Call:
    width = d.type("out_type").size * d.int(0, 3)
    texts = np.array([bytes(d.rng.integers(0, 128, width, np.uint8)) for _ in range(d.int(1, 3))], object)
    if d.type("out_type") is dtypes.bool:
        texts = np.array([bytes(byte & 1 for byte in text) for text in texts], object)
    return d.node(Leaf(texts, dtypes.string, "fixed"), little_endian=d.choice([True, True, False]))


@generator("StringFormat")
def string_format(d: Draw) -> Call:
    types = [dtypes.int32, dtypes.float32, dtypes.bool, dtypes.string]
    inputs = [d.tensor(d.shape(), d.choice(types), "small") for _ in range(d.int(1, 2))]
    return d.node(
        inputs, template=" and ".join(["{}"] * len(inputs)), placeholder="{}", summarize=d.int(1, 5)
    )


@generator("Print", alone=True)
def print_(d: Draw) -> Call:
    data = [d.tensor(d.shape(), dtypes.int32), d.tensor(d.shape(), dtypes.string)]
    return d.node(d.tensor(d.shape()), data, message="printed: ", first_n=d.int(-1, 1))


@generator("Assert", alone=True)
def assert_(d: Draw) -> Call:
    return d.node(d.tensor((), dtypes.bool), [d.tensor(d.shape(), dtypes.int32)])
