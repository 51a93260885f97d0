"""Generators: reversed, rolled and bit-cast arrays, and diagonals of matrices."""

from __future__ import annotations

from tensorfleet.core import dtypes
from tests.compat.random_graphs.draws import Call, Draw, Leaf, Shape
from tests.compat.random_graphs.table import generator

# Rearranging


@generator("ReverseV2")
def reverse_v2(d: Draw) -> Call:
    shape = d.shape(high=4)
    axes = [axis - (len(shape) if d.flag() else 0) for axis in range(len(shape)) if d.flag()]
    return d.node(d.tensor(shape), d.like(axes, d.type("Tidx")))


@generator("Reverse")
def reverse(d: Draw) -> Call:
    shape = d.shape(high=4)
    return d.node(d.tensor(shape), d.tensor((len(shape),), dtypes.bool))


@generator("ReverseSequence")
def reverse_sequence(d: Draw) -> Call:
    shape = d.shape(low=2, least=1)
    seq, batch = d.rng.permutation(len(shape))[:2].tolist()
    lengths = d.indices((shape[batch],), shape[seq] + 1, d.type("Tlen"))
    return d.node(d.tensor(shape), lengths, seq_dim=seq, batch_dim=batch)


@generator("Roll")
def roll(d: Draw) -> Call:
    shape = d.shape(low=1, least=1)
    if d.flag():
        return d.node(
            d.tensor(shape),
            d.like(d.int(-5, 5), d.type("Tshift")),
            d.like(d.axis(len(shape)), d.type("Taxis")),
        )
    count = d.int(1, 3)
    shifts, axes = [d.int(-5, 5) for _ in range(count)], [d.int(0, len(shape) - 1) for _ in range(count)]
    return d.node(d.tensor(shape), d.like(shifts, d.type("Tshift")), d.like(axes, d.type("Taxis")))


@generator("DepthToSpace", "SpaceToDepth")
def depth_space(d: Draw) -> Call:
    layout = d.choice(["NHWC", "NHWC", "NCHW"])
    batch, height, width, depth = d.int(1, 2), d.int(1, 2), d.int(1, 3), d.int(1, 2)
    if d.op == "DepthToSpace":
        depth *= 4
    else:
        height, width = height * 2, width * 2
    shape = (batch, height, width, depth) if layout == "NHWC" else (batch, depth, height, width)
    return d.node(d.tensor(shape), block_size=2, data_format=layout)


@generator("Bitcast")
def bitcast(d: Draw) -> Call:
    names = "float32 int32 uint32 int64 float64 uint8 int16 float16 complex64"
    numbers = [dtypes.as_dtype(name) for name in names.split()]
    source, target = d.type("T", numbers), d.type("type", numbers)
    shape = d.shape()
    if target.size > source.size:
        shape = (*shape, target.size // source.size)
    return d.node(d.tensor(shape, source, "small"))


@generator("Diag", "MatrixDiag")
def diag(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(low=1, high=2)))


@generator("DiagPart")
def diag_part(d: Draw) -> Call:
    half = d.shape(low=1, high=2)
    return d.node(d.tensor(half + half))


@generator("MatrixDiagPart")
def matrix_diag_part(d: Draw) -> Call:
    return d.node(d.tensor(d.shape(low=2, least=1)))


@generator("MatrixSetDiag")
def matrix_set_diag(d: Draw) -> Call:
    shape = d.shape(low=2, least=1)
    return d.node(d.tensor(shape), d.tensor((*shape[:-2], min(shape[-2:]))))


@generator("MatrixBandPart")
def matrix_band_part(d: Draw) -> Call:
    shape, index = d.shape(low=2), d.type("Tindex")
    lower, upper = (d.int(-1, max(size - 1, 0)) for size in shape[-2:])
    return d.node(d.tensor(shape), d.like(lower, index), d.like(upper, index))


_ALIGN = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]


def _band(d: Draw, rows: int, columns: int) -> tuple[Leaf, Shape]:
    """Numbers of diagonals, and the shape in which these diagonals are packed."""
    low = d.int(1 - rows, columns - 1)
    high = d.int(low, columns - 1)
    longest = min(rows + min(high, 0), columns - max(low, 0))
    packed = (longest,) if low == high else (high - low + 1, longest)
    return d.like([low, high], dtypes.int32), packed


@generator("MatrixDiagPartV3")
def matrix_diag_part_v3(d: Draw) -> Call:
    shape = d.shape(low=2, least=1)
    k, _ = _band(d, *shape[-2:])
    return d.node(d.tensor(shape), k, d.tensor(()), align=d.choice(_ALIGN))


@generator("MatrixSetDiagV3")
def matrix_set_diag_v3(d: Draw) -> Call:
    shape = d.shape(low=2, least=1)
    k, packed = _band(d, *shape[-2:])
    return d.node(d.tensor(shape), d.tensor((*shape[:-2], *packed)), k, align=d.choice(_ALIGN))


@generator("MatrixDiagV3")
def matrix_diag_v3(d: Draw) -> Call:
    rows, columns = d.int(1, 3), d.int(1, 3)
    k, packed = _band(d, rows, columns)
    sizes = d.like(rows, dtypes.int32), d.like(columns, dtypes.int32)
    return d.node(d.tensor((*d.shape(high=1), *packed)), k, *sizes, d.tensor(()), align=d.choice(_ALIGN))
