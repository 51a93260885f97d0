"""NASNet-A, large and for mobile devices (Zoph et al. 2017)."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import layers
from tensorfleet.keras.backend.state import image_data_format
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.networks.building import CLASSES, Network

_FOLDER = "https://github.com/titu1994/Keras-NASNet/releases/download/v1.2"
_NORM = {"momentum": 0.9997, "epsilon": 1e-3}


def NASNetLarge(
    input_shape: Any = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """NASNet-A for images of 331 pixels; see `Network` for the arguments."""
    hashes = "11577c9a518f0070763c2b964a382f17", "d81d89dc07e6e56530c4e77faddd61b5"
    net = _network(include_top, weights, input_tensor, input_shape, pooling, classes, 331)
    return net.model(_cells(net, 168, 6, 96, True), "NASNet", *_files("large"), hashes, _remote("large"))


def NASNetMobile(
    input_shape: Any = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """NASNet-A for mobile devices, and images of 224 pixels; see `Network` for the arguments."""
    hashes = "020fb642bf7360b370c678b08e0adf61", "1ed92395b5b598bdda52abe5c0dbfd63"
    net = _network(include_top, weights, input_tensor, input_shape, pooling, classes, 224)
    return net.model(_cells(net, 44, 4, 32, False), "NASNet", *_files("mobile"), hashes, _remote("mobile"))


def _files(kind: str) -> tuple[tuple[str, str], str]:
    return (f"nasnet_{kind}.h5", f"nasnet_{kind}_no_top.h5"), _FOLDER


def _remote(kind: str) -> tuple[str, str]:
    return f"NASNet-{kind}.h5", f"NASNet-{kind}-no-top.h5"


def _network(
    include_top: bool, weights: Any, tensor: Any, shape: Any, pooling: Any, classes: int, size: int
) -> Network:
    if image_data_format() == "channels_first":
        raise ValueError(
            "NASNet is for channels_last: tf.keras.backend.set_image_data_format('channels_last')."
        )
    return Network(include_top, weights, tensor, shape, pooling, classes, size=size, flat=True)


def _cells(net: Network, filters: int, blocks: int, stem: int, skip: bool) -> Any:
    """The network between its input and its end.

    Args:
        filters: of the cells before the first reduction.
        blocks: how many normal cells there are between reductions.
        stem: filters of the first convolution.
        skip: whether the cell after a reduction takes the reduction's input as the one before.
    """
    x = layers.Conv2D(stem, 3, strides=2, use_bias=False, name="stem_conv1", kernel_initializer="he_normal")(
        net.input
    )
    x = net.norm("stem_bn1", **_NORM)(x)
    before: Any = None
    x, before = _reduction(net, x, before, filters // 4, "stem_1")
    x, before = _reduction(net, x, before, filters // 2, "stem_2")
    for stage in range(3):
        if stage:
            reduced, last = _reduction(net, x, before, filters * 2**stage, f"reduce_{stage * blocks}")
            # As published: the large network's next cell keeps the cell before the reduction.
            before = before if skip else last
            x = reduced
        for number in range(blocks):
            # The numbers of the reductions are left out.
            place = stage * blocks + number + (1 if stage else 0)
            x, before = _normal(net, x, before, filters * 2**stage, str(place))
    x = layers.Activation("relu")(x)
    return net.top(x)


def _separable(net: Network, x: Any, filters: int, kernel: int, name: str, stride: int = 1) -> Any:
    """Two separable convolutions, each activated before and normalized after it."""
    x = layers.Activation("relu")(x)
    if stride > 1:
        x = layers.ZeroPadding2D(net.even_pad(x, kernel), name=f"separable_conv_1_pad_{name}")(x)
    for number in (1, 2):
        if number == 2:
            x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(
            filters,
            kernel,
            strides=stride if number == 1 else 1,
            padding="valid" if number == 1 and stride > 1 else "same",
            use_bias=False,
            kernel_initializer="he_normal",
            name=f"separable_conv_{number}_{name}",
        )(x)
        x = net.norm(f"separable_conv_{number}_bn_{name}", **_NORM)(x)
    return x


def _projected(x: Any, filters: int, name: str) -> Any:
    return layers.Conv2D(
        filters, 1, padding="same", use_bias=False, kernel_initializer="he_normal", name=name
    )(x)


def _adjusted(net: Network, before: Any, x: Any, filters: int, name: str) -> Any:
    """The input before, with the size and the channels that go with the input."""
    if before is None:
        return x
    if before.shape[2] != x.shape[2]:
        active = layers.Activation("relu", name=f"adjust_relu_1_{name}")(before)
        pool = layers.AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_1_{name}")
        first = _projected(pool(active), filters // 2, f"adjust_conv_1_{name}")
        # The other half sees the pixels between those of the first.
        moved = layers.ZeroPadding2D(((0, 1), (0, 1)))(active)
        moved = layers.Cropping2D(((1, 0), (1, 0)))(moved)
        pool = layers.AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_2_{name}")
        second = _projected(pool(moved), filters // 2, f"adjust_conv_2_{name}")
        return net.norm(f"adjust_bn_{name}", **_NORM)(net.join([first, second]))
    if net.channels(before) != filters:
        before = layers.Activation("relu")(before)
        before = _projected(before, filters, f"adjust_conv_projection_{name}")
        return net.norm(f"adjust_bn_{name}", **_NORM)(before)
    return before


def _normal(net: Network, x: Any, before: Any, filters: int, name: str) -> tuple[Any, Any]:
    """A cell that keeps the size; returns its output, and its input for the next one."""
    p = _adjusted(net, before, x, filters, name)
    h = _projected(layers.Activation("relu")(x), filters, f"normal_conv_1_{name}")
    h = net.norm(f"normal_bn_1_{name}", **_NORM)(h)
    parts = [p]
    left = _separable(net, h, filters, 5, f"normal_left1_{name}")
    right = _separable(net, p, filters, 3, f"normal_right1_{name}")
    parts.append(layers.Add(name=f"normal_add_1_{name}")([left, right]))
    left = _separable(net, p, filters, 5, f"normal_left2_{name}")
    right = _separable(net, p, filters, 3, f"normal_right2_{name}")
    parts.append(layers.Add(name=f"normal_add_2_{name}")([left, right]))
    left = _average(h, 1, f"normal_left3_{name}")
    parts.append(layers.Add(name=f"normal_add_3_{name}")([left, p]))
    left = _average(p, 1, f"normal_left4_{name}")
    right = _average(p, 1, f"normal_right4_{name}")
    parts.append(layers.Add(name=f"normal_add_4_{name}")([left, right]))
    left = _separable(net, h, filters, 3, f"normal_left5_{name}")
    parts.append(layers.Add(name=f"normal_add_5_{name}")([left, h]))
    return net.join(parts, f"normal_concat_{name}"), x


def _reduction(net: Network, x: Any, before: Any, filters: int, name: str) -> tuple[Any, Any]:
    """A cell that halves the size; returns its output, and its input for the next one."""
    p = _adjusted(net, before, x, filters, name)
    h = _projected(layers.Activation("relu")(x), filters, f"reduction_conv_1_{name}")
    h = net.norm(f"reduction_bn_1_{name}", **_NORM)(h)
    padded = layers.ZeroPadding2D(net.even_pad(h, 3), name=f"reduction_pad_1_{name}")(h)
    left = _separable(net, h, filters, 5, f"reduction_left1_{name}", 2)
    right = _separable(net, p, filters, 7, f"reduction_right1_{name}", 2)
    first = layers.Add(name=f"reduction_add_1_{name}")([left, right])
    left = layers.MaxPooling2D(3, strides=2, name=f"reduction_left2_{name}")(padded)
    right = _separable(net, p, filters, 7, f"reduction_right2_{name}", 2)
    second = layers.Add(name=f"reduction_add_2_{name}")([left, right])
    left = _average(padded, 2, f"reduction_left3_{name}", "valid")
    right = _separable(net, p, filters, 5, f"reduction_right3_{name}", 2)
    third = layers.Add(name=f"reduction_add3_{name}")([left, right])
    fourth = layers.Add()([second, _average(first, 1, f"reduction_left4_{name}")])
    left = _separable(net, first, filters, 3, f"reduction_left4_{name}")
    right = layers.MaxPooling2D(3, strides=2, name=f"reduction_right5_{name}")(padded)
    fifth = layers.Add(name=f"reduction_add4_{name}")([left, right])
    return net.join([second, third, fourth, fifth], f"reduction_concat_{name}"), x


def _average(x: Any, stride: int, name: str, padding: str = "same") -> Any:
    return layers.AveragePooling2D(3, strides=stride, padding=padding, name=name)(x)
