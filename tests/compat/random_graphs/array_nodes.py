"""Generators: shapes, slices, joins, gathers, scatters and rearrangements of arrays."""

from __future__ import annotations

import math

import numpy as np

from tensorfleet.core import dtypes
from tests.compat.random_graphs.draws import Call, Draw, Leaf, Shape
from tests.compat.random_graphs.table import generator

_NUMBERS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.complex64, dtypes.complex128)


@generator("Shape", "Size", "Rank", "EnsureShape", "PlaceholderWithDefault", "GuaranteeConst")
def of_any_shape(d: Draw) -> Call:
    shape = d.shape()
    known: list[int | None] = [None if d.flag() else size for size in shape]
    attrs = {"shape": tuple(known)} if d.op in ("EnsureShape", "PlaceholderWithDefault") else {}
    return d.node(d.tensor(shape), **attrs)


@generator("ShapeN")
def shape_n(d: Draw) -> Call:
    return d.node([d.tensor(d.shape()) for _ in range(d.int(1, 3))])


@generator("IdentityN", alone=True)
def identity_n(d: Draw) -> Call:
    types = [dtypes.float32, dtypes.string, dtypes.int64, dtypes.bool]
    return d.node([d.tensor(d.shape(), d.choice(types)) for _ in range(d.int(1, 3))])


@generator("Reshape")
def reshape(d: Draw) -> Call:
    shape = d.shape()
    size, wanted = math.prod(shape), []
    rest = size
    for _ in range(d.int(0, 3)):
        part = d.choice([n for n in (1, 2, 3, 4) if rest % n == 0])
        wanted.append(part)
        rest //= part
    wanted.insert(d.int(0, len(wanted)), -1 if size and d.flag() else rest)
    return d.node(d.tensor(shape), d.like(wanted, d.type("Tshape")))


@generator("ExpandDims")
def expand_dims(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape), d.like(d.axis(len(shape) + 1), d.type("Tdim")))


@generator("Squeeze")
def squeeze(d: Draw) -> Call:
    shape = tuple(1 if d.flag() else size for size in d.shape(high=4))
    ones = [i - (len(shape) if d.flag() else 0) for i, size in enumerate(shape) if size == 1 and d.flag()]
    return d.node(d.tensor(shape), squeeze_dims=ones)


@generator("Transpose", "ConjugateTranspose")
def transpose(d: Draw) -> Call:
    if d.op == "ConjugateTranspose":
        d.type(only=_NUMBERS)  # strings end TensorFlow's process
    shape = d.shape(high=4)
    return d.node(d.tensor(shape), d.like(d.rng.permutation(len(shape)), d.type("Tperm")))


@generator("InvertPermutation")
def invert_permutation(d: Draw) -> Call:
    return d.node(d.like(d.rng.permutation(d.int(0, 5)), d.type("T")))


@generator("Fill")
def fill(d: Draw) -> Call:
    return d.node(d.like(d.shape(), d.type("index_type")), d.tensor(()))


@generator("BroadcastTo")
def broadcast_to(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(d.broadcastable(shape)), d.like(shape, d.type("Tidx")))


@generator("BroadcastArgs", "BroadcastGradientArgs")
def broadcast_args(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.like(shape, d.type()), d.like(d.broadcastable(shape), d.type()))


@generator("Tile")
def tile(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape), d.like([d.int(0, 3) for _ in shape], d.type("Tmultiples")))


@generator("OneHot")
def one_hot(d: Draw) -> Call:
    shape = d.shape(high=2)
    indices = d.like(d.rng.integers(0, 5, shape), d.type("TI"))
    depth = d.like(d.int(0, 4), dtypes.int32)
    return d.node(indices, depth, d.tensor(()), d.tensor(()), axis=d.int(-1, len(shape)))


@generator("Pad", "PadV2", "MirrorPad")
def pad(d: Draw) -> Call:
    mirrored = d.op == "MirrorPad"
    shape = d.shape(least=2 if mirrored else 0, low=1 if mirrored else 0)
    paddings = np.array([[d.int(0, 1 if mirrored else 2) for _ in range(2)] for _ in shape]).reshape(-1, 2)
    inputs = [d.tensor(shape), d.like(paddings, d.type("Tpaddings"))]
    if d.op == "PadV2":
        inputs.append(d.tensor(()))
    return d.node(*inputs, **({"mode": d.choice(["REFLECT", "SYMMETRIC"])} if mirrored else {}))


@generator("MirrorPadGrad")
def mirror_pad_grad(d: Draw) -> Call:
    shape = d.shape(low=1, high=2, least=4)
    paddings = d.like([[d.int(0, 1), d.int(0, 1)] for _ in shape], d.type("Tpaddings"))
    return d.node(
        d.tensor(tuple(size + 1 for size in shape)), paddings, mode=d.choice(["REFLECT", "SYMMETRIC"])
    )


# Slices


@generator("Slice")
def slice_(d: Draw) -> Call:
    shape = d.shape()
    begin = [d.int(0, size) for size in shape]
    size = [d.choice([-1, d.int(0, s - b)]) for s, b in zip(shape, begin, strict=True)]
    if size and d.int(0, 9) == 0:
        size[0] = shape[0] - begin[0] + 1
    index = d.type("Index")
    return d.node(d.tensor(shape), d.like(begin, index), d.like(size, index))


def _strided(d: Draw, shape: Shape) -> tuple[list[Leaf], dict[str, int], Shape]:
    """Bounds of a slice as inputs, the masks, and the shape of the slice."""
    begin, end, strides, index = [], [], [], d.type("Index")
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    picks: list[object] = []
    axes = d.int(0, len(shape))
    ellipsis_at = d.int(0, axes) if d.int(0, 2) == 0 else -1

    def add(b: int, e: int, s: int, pick: object, *set_masks: str) -> None:
        for mask in set_masks:
            masks[mask] |= 1 << len(begin)
        begin.append(b)
        end.append(e)
        strides.append(s)
        picks.append(pick)

    skipped = len(shape) - axes
    for axis in range(axes):
        if axis == ellipsis_at:
            add(0, 0, 1, ..., "ellipsis_mask")
        size = shape[axis + (skipped if 0 <= ellipsis_at <= axis else 0)]
        if d.int(0, 5) == 0:
            add(0, 1, 1, None, "new_axis_mask")
        if size and d.int(0, 3) == 0:
            at = d.int(-size, size - 1)
            add(at, at + 1, 1, at, "shrink_axis_mask")
            continue
        b, e, s = d.int(-5, 5), d.int(-5, 5), d.choice([1, 1, 1, 2, -1, -2])
        set_masks = [name for name in ("begin_mask", "end_mask") if d.flag()]
        add(
            b,
            e,
            s,
            slice(None if "begin_mask" in set_masks else b, None if "end_mask" in set_masks else e, s),
            *set_masks,
        )
    result = np.empty(shape, np.bool_)[tuple(picks)]  # type: ignore[arg-type]
    return [d.like(values, index) for values in (begin, end, strides)], masks, result.shape


@generator("StridedSlice")
def strided_slice(d: Draw) -> Call:
    shape = d.shape()
    bounds, masks, _ = _strided(d, shape)
    return d.node(d.tensor(shape), *bounds, **masks)


@generator("StridedSliceGrad")
def strided_slice_grad(d: Draw) -> Call:
    shape = d.shape()
    bounds, masks, result = _strided(d, shape)
    return d.node(d.like(shape, d.type("Index")), *bounds, d.tensor(result), **masks)


@generator("TensorStridedSliceUpdate")
def strided_slice_update(d: Draw) -> Call:
    shape = d.shape()
    bounds, masks, result = _strided(d, shape)
    return d.node(d.tensor(shape), *bounds, d.tensor(result), **masks)


# Joins and splits


@generator("Concat", "ConcatV2")
def concat(d: Draw) -> Call:
    shape = d.shape(low=1)
    axis = d.axis(len(shape)) if d.op == "ConcatV2" else d.int(0, len(shape) - 1)
    values = []
    for _ in range(d.int(2, 3)):
        one = list(shape)
        one[axis] = d.int(0, 3)
        values.append(d.tensor(tuple(one)))
    if d.op == "Concat":
        return d.node(d.like(axis, dtypes.int32), values)
    return d.node(values, d.like(axis, d.type("Tidx")))


@generator("ConcatOffset")
def concat_offset(d: Draw) -> Call:
    shape = d.shape(low=1)
    axis = d.int(0, len(shape) - 1)
    shapes = []
    for _ in range(d.int(2, 3)):
        one = list(shape)
        one[axis] = d.int(0, 3)
        shapes.append(d.like(one, d.type("shape_type")))
    return d.node(d.like(axis, dtypes.int32), shapes)


@generator("Pack")
def pack(d: Draw) -> Call:
    shape = d.shape()
    return d.node([d.tensor(shape) for _ in range(d.int(1, 3))], axis=d.axis(len(shape) + 1))


@generator("ParallelConcat")
def parallel_concat(d: Draw) -> Call:
    shape = (1, *d.shape())
    values = [d.tensor(shape) for _ in range(d.int(1, 3))]
    return d.node(values, shape=(len(values), *shape[1:]))


@generator("Unpack")
def unpack(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    axis = d.axis(len(shape))
    return d.node(d.tensor(shape), num=shape[axis], axis=axis)


@generator("Split")
def split(d: Draw) -> Call:
    shape = list(d.shape(low=1))
    axis, parts = d.axis(len(shape)), d.int(1, 3)
    shape[axis] = d.int(1, 2) * parts
    return d.node(d.like(axis, dtypes.int32), d.tensor(tuple(shape)), num_split=parts)


@generator("SplitV")
def split_v(d: Draw) -> Call:
    shape = list(d.shape(low=1))
    axis, sizes = d.axis(len(shape)), [d.int(0, 3) for _ in range(d.int(1, 3))]
    shape[axis] = sum(sizes)
    if d.flag():
        sizes[d.int(0, len(sizes) - 1)] = -1
    lengths = d.like(sizes, d.type("Tlen", (dtypes.int32, dtypes.int64)))  # int8 ends TensorFlow's process
    return d.node(d.tensor(tuple(shape)), lengths, d.like(axis, dtypes.int32), num_split=len(sizes))


@generator("DynamicPartition")
def dynamic_partition(d: Draw) -> Call:
    shape, parts = d.shape(low=1), d.int(1, 3)
    return d.node(
        d.tensor(shape), d.indices(shape[: d.int(1, len(shape))], parts, dtypes.int32), num_partitions=parts
    )


@generator("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(d: Draw) -> Call:
    rest, count = d.shape(high=1), d.int(1, 5)
    order = d.rng.permutation(count)
    cut = d.int(0, count)
    indices = [d.like(part, dtypes.int32) for part in (order[:cut], order[cut:])]
    return d.node(indices, [d.tensor((*i.value.shape, *rest)) for i in indices])


# Choosing


@generator("Select")
def select(d: Draw) -> Call:
    shape = d.shape()
    condition = shape if d.flag() else shape[:1] if d.flag() else ()
    return d.node(d.tensor(condition, dtypes.bool), d.tensor(shape), d.tensor(shape))


@generator("SelectV2")
def select_v2(d: Draw) -> Call:
    shape = d.shape()
    condition = d.tensor(d.broadcastable(shape), dtypes.bool)
    return d.node(condition, d.tensor(d.broadcastable(shape)), d.tensor(shape))


@generator("Where")
def where(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(low=1), values="small"))


@generator("Gather", "GatherV2")
def gather(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    axis, batch_dims = 0, 0
    if d.op == "GatherV2":
        axis = d.axis(len(shape))
        batch_dims = d.int(0, min(axis % len(shape), 1))
    index_shape = (*shape[:batch_dims], *d.shape(high=2))
    params = d.tensor(shape, d.type("Tparams"))
    indices = d.indices(index_shape, shape[axis], d.type("Tindices"))
    if d.op == "Gather":
        return d.node(params, indices)
    return d.node(params, indices, d.like(axis, d.type("Taxis")), batch_dims=batch_dims)


def _nd_indices(d: Draw, shape: Shape, depth: int, count: Shape, dtype: dtypes.DType) -> Leaf:
    columns = [d.rng.integers(0, size, count) for size in shape[:depth]]
    return d.like(np.stack(columns, -1) if columns else np.zeros((*count, 0)), dtype)


@generator("GatherNd")
def gather_nd(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    indices = _nd_indices(d, shape, d.int(1, len(shape)), d.shape(high=2), d.type("Tindices"))
    return d.node(d.tensor(shape, d.type("Tparams")), indices)


@generator("ScatterNd")
def scatter_nd(d: Draw) -> Call:
    shape, count, dtype = d.shape(low=1, least=1), (d.int(0, 3),), d.type("Tindices")
    depth = d.int(1, len(shape))
    indices = _nd_indices(d, shape, depth, count, dtype)
    return d.node(indices, d.tensor((*count, *shape[depth:])), d.like(shape, dtype))


@generator(
    "TensorScatterAdd", "TensorScatterSub", "TensorScatterMin", "TensorScatterMax", "TensorScatterUpdate"
)
def tensor_scatter(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    depth = d.int(1, len(shape))
    if d.op == "TensorScatterUpdate":  # of two updates of one element, either may be the last
        depth, count = 1, d.int(0, shape[0])
        indices = d.like(d.rng.permutation(shape[0])[:count].reshape(-1, 1), d.type("Tindices"))
    else:
        count = d.int(0, 3)
        indices = _nd_indices(d, shape, depth, (count,), d.type("Tindices"))
    # No NaN from elsewhere: the least of it and a number is whichever TensorFlow's loop comes to last.
    kind, values = ("fixed", "small") if d.op.endswith(("Min", "Max")) else ("tensor", "any")
    return d.node(
        d.tensor(shape, None, values, kind), indices, d.tensor((count, *shape[depth:]), None, values, kind)
    )


@generator("SparseToDense")
def sparse_to_dense(d: Draw) -> Call:
    size, dtype = d.int(1, 5), d.type("Tindices")
    chosen = np.sort(d.rng.permutation(size)[: d.int(1, size)])
    values = d.tensor(d.choice([chosen.shape, ()]))
    return d.node(d.like(chosen, dtype), d.like([size], dtype), values, d.tensor(()))


@generator("TopKV2")
def top_k(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    k = d.int(0, shape[-1])
    return d.node(d.tensor(shape), d.like(k, d.type("Tk")))


@generator("Unique", "UniqueWithCounts")
def unique(d: Draw) -> Call:
    return d.node(d.tensor((d.int(0, 6),), values="small"))


@generator("UniqueV2", "UniqueWithCountsV2")
def unique_v2(d: Draw) -> Call:
    if d.flag():
        return d.node(d.tensor((d.int(0, 6),), values="small"), d.like([], d.type("Taxis")))
    shape = d.shape(low=1, high=2, least=1)
    array = d.rng.integers(0, 2, shape)
    values = d.like(array if d.type() is not dtypes.string else array.astype("S1").astype(object), d.type())
    return d.node(values, d.like([d.int(0, len(shape) - 1)], d.type("Taxis")))


@generator("ListDiff")
def list_diff(d: Draw) -> Call:
    return d.node(d.tensor((d.int(0, 6),), values="small"), d.tensor((d.int(0, 3),), values="small"))
