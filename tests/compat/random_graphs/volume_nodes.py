"""Generators: convolution and pooling of volumes, local response normalization, pooling with argmax."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tests.compat.random_graphs.draws import Call, Draw, Shape
from tests.compat.random_graphs.table import generator

_FLOATS = (dtypes.float32, dtypes.float64)


def _volume(d: Draw) -> Shape:
    return d.int(1, 2), d.int(3, 4), d.int(3, 4), d.int(3, 4), d.int(1, 3)


def _windows(d: Draw) -> tuple[int, dict[str, Any]]:
    """The stride, and the attributes of a cubic one."""
    stride = d.int(1, 2)
    return stride, {"strides": [1, stride, stride, stride, 1], "padding": d.choice(["SAME", "VALID"])}


def _output(volume: Shape, window: Shape, stride: int, padding: str, depth: int) -> Shape:
    sizes = (
        -(-n // stride) if padding == "SAME" else -(-(n - k + 1) // stride)
        for n, k in zip(volume[1:4], window, strict=False)
    )
    return volume[0], *sizes, depth


@generator("Conv3D", loose=5e-5)
def convolution(d: Draw) -> Call:
    volume, (_, attrs) = _volume(d), _windows(d)
    dtype = d.type("T", _FLOATS)
    window = d.int(1, 3), d.int(1, 3), d.int(1, 3), volume[4], d.int(1, 3)
    return d.node(d.tensor(volume, dtype, "small"), d.tensor(window, dtype, "small"), **attrs)


@generator("Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", loose=1e-4)
def convolution_gradient(d: Draw) -> Call:
    volume, (stride, attrs) = _volume(d), _windows(d)
    dtype = d.type("T", _FLOATS)
    window = d.int(1, 3), d.int(1, 3), d.int(1, 3), volume[4], d.int(1, 3)
    arrived = d.tensor(
        _output(volume, window, stride, attrs["padding"], window[4]), dtype, "small", kind="fixed"
    )
    if d.op.startswith("Conv3DBackpropInput"):
        weights = d.tensor(window, dtype, "small", kind="fixed")
        return d.node(d.like(volume, d.type("Tshape")), weights, arrived, **attrs)
    return d.node(
        d.tensor(volume, dtype, "small", kind="fixed"), d.like(window, dtypes.int32), arrived, **attrs
    )


@generator("AvgPool3D", "MaxPool3D", loose=2e-5)
def pool(d: Draw) -> Call:
    _, attrs = _windows(d)
    volume = d.tensor(_volume(d), d.type("T", (dtypes.float32,)), "small")
    return d.node(volume, ksize=[1, d.int(1, 3), d.int(1, 3), d.int(1, 3), 1], **attrs)


@generator("AvgPool3DGrad", loose=2e-5)
def average_gradient(d: Draw) -> Call:
    volume, (stride, attrs) = _volume(d), _windows(d)
    window = d.int(1, 3), d.int(1, 3), d.int(1, 3)
    shape = _output(volume, window, stride, attrs["padding"], volume[4])
    arrived = d.tensor(shape, d.type("T", (dtypes.float32,)), "small", kind="fixed")
    return d.node(d.like(volume, dtypes.int32), arrived, ksize=[1, *window, 1], **attrs)


@generator("LRN", loose=2e-5)
def local_response(d: Draw) -> Call:
    shape = d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 6)
    images = d.tensor(shape, d.type("T", (dtypes.float32,)), "small")
    return d.node(images, depth_radius=d.int(1, 3), bias=1.5, alpha=0.5, beta=0.75)


@generator("MaxPoolWithArgmax", alone=True)
def pool_with_places(d: Draw) -> Call:
    shape = d.int(1, 2), d.int(3, 5), d.int(3, 5), d.int(1, 3)
    stride = d.int(1, 2)
    images = d.tensor(shape, d.type("T", _FLOATS), "small")
    d.type("Targmax")
    return d.node(
        images,
        ksize=[1, d.int(1, 3), d.int(1, 3), 1],
        strides=[1, stride, stride, 1],
        padding=d.choice(["SAME", "VALID"]),
        include_batch_in_index=bool(d.int(0, 1)),
    )
