"""Generators: convolutions, pooling, batch normalization, losses."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tests.compat.random_graphs.draws import Call, Draw, Leaf, Shape
from tests.compat.random_graphs.table import generator

_FLOATS = (dtypes.float32, dtypes.float64)


def _image(d: Draw) -> Shape:
    return d.int(1, 2), d.int(3, 5), d.int(3, 5), d.int(1, 3)


def _window(d: Draw) -> tuple[int, dict[str, Any]]:
    """The stride, and the attributes of a convolution with a square one."""
    stride = d.int(1, 2)
    return stride, {"strides": [1, stride, stride, 1], "padding": d.choice(["SAME", "VALID"])}


def _moved(size: int, window: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else -(-(size - window + 1) // stride)


def _output(image: Shape, window: Shape, stride: int, padding: str, depth: int) -> Shape:
    rows, columns = (_moved(image[i + 1], window[i], stride, padding) for i in range(2))
    return image[0], rows, columns, depth


def _small(d: Draw, shape: Shape) -> Leaf:
    return d.tensor(shape, d.type("T", _FLOATS), "small")


def _arrived(d: Draw, shape: Shape) -> Leaf:
    """A gradient of the right size: those of another size no graph's own gradient makes."""
    return d.tensor(shape, d.type("T", _FLOATS), "small", kind="fixed")


@generator("Conv2D", "DepthwiseConv2dNative", loose=2e-5)
def convolution(d: Draw) -> Call:
    image, (_, attrs) = _image(d), _window(d)
    return d.node(_small(d, image), _small(d, (d.int(1, 3), d.int(1, 3), image[3], d.int(1, 3))), **attrs)


@generator(
    "Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropInput",
    "DepthwiseConv2dNativeBackpropFilter", loose=5e-5,
)  # fmt: skip
def convolution_gradient(d: Draw) -> Call:
    image, (stride, attrs) = _image(d), _window(d)
    window = (d.int(1, 3), d.int(1, 3), image[3], d.int(1, 3))
    depth = window[3] * (image[3] if d.op.startswith("Depthwise") else 1)
    arrived = _arrived(d, _output(image, window, stride, attrs["padding"], depth))
    if d.op.endswith("Input"):
        return d.node(d.like(image, dtypes.int32), _small(d, window), arrived, **attrs)
    x = d.tensor(image, d.type("T"), "small", kind="fixed")
    return d.node(x, d.like(window, dtypes.int32), arrived, **attrs)


@generator("AvgPool", "MaxPool", loose=1e-5)
def pool(d: Draw) -> Call:
    _, attrs = _window(d)
    return d.node(_small(d, _image(d)), ksize=[1, d.int(1, 3), d.int(1, 3), 1], **attrs)


@generator("AvgPoolGrad", loose=2e-5)
def average_gradient(d: Draw) -> Call:
    image, (stride, attrs) = _image(d), _window(d)
    window = (d.int(1, 3), d.int(1, 3))
    arrived = _arrived(d, _output(image, window, stride, attrs["padding"], image[3]))
    return d.node(d.like(image, dtypes.int32), arrived, ksize=[1, *window, 1], **attrs)


@generator("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", loose=1e-4, alone=True)
def batch_norm(d: Draw) -> Call:
    """Only in training: what the reserved outputs hold otherwise is TensorFlow's own affair."""
    image = _image(d)
    x = d.tensor(image, d.type("T", (dtypes.float32,)), "small")
    channels = [d.tensor((image[3],), dtypes.float32, "positive", kind="fixed") for _ in range(2)]
    nothing = [d.like([], dtypes.float32) for _ in range(2)]
    return d.node(x, *channels, *nothing, epsilon=0.01, is_training=True)


@generator("SoftmaxCrossEntropyWithLogits", loose=2e-5)
def cross_entropy(d: Draw) -> Call:
    shape = d.int(1, 4), d.int(1, 4)
    labels = d.rng.dirichlet([1.0] * shape[1], shape[0])
    return d.node(_small(d, shape), d.like(labels, d.type()))


@generator("SparseSoftmaxCrossEntropyWithLogits", loose=2e-5)
def sparse_cross_entropy(d: Draw) -> Call:
    rows, classes = d.int(1, 4), d.int(1, 4)
    return d.node(_small(d, (rows, classes)), d.indices((rows,), classes, d.type("Tlabels")))
