"""Inception v3 (Szegedy et al. 2015), Inception-ResNet v2 (the same, 2016), Xception (Chollet 2016)."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import layers
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.networks.building import CLASSES, Network, tf_files


def InceptionV3(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """Inception v3; see `Network` for the arguments."""
    net = Network(*(include_top, weights, input_tensor, input_shape, pooling, classes), size=299, least=75)
    x = _stem(net)
    for number, filters in enumerate((32, 64, 64)):
        branches = [
            _chain(net, x, (64, 1)),
            _chain(net, x, (48, 1), (64, 5)),
            _chain(net, x, (64, 1), (96, 3), (96, 3)),
            _chain(net, _average(x), (filters, 1)),
        ]
        x = net.join(branches, f"mixed{number}")
    branches = [
        _halved(net, x, 384),
        _halved(net, _chain(net, x, (64, 1), (96, 3)), 96),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = net.join(branches, "mixed3")
    for number, inner in enumerate((128, 160, 160, 192), 4):
        branches = [
            _chain(net, x, (192, 1)),
            _chain(net, x, (inner, 1), (inner, (1, 7)), (192, (7, 1))),
            _chain(*(net, x, (inner, 1), (inner, (7, 1)), (inner, (1, 7)), (inner, (7, 1)), (192, (1, 7)))),
            _chain(net, _average(x), (192, 1)),
        ]
        x = net.join(branches, f"mixed{number}")
    branches = [
        _halved(net, _chain(net, x, (192, 1)), 320),
        _halved(net, _chain(net, x, (192, 1), (192, (1, 7)), (192, (7, 1))), 192),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = net.join(branches, "mixed8")
    for number in range(2):
        whole = _chain(net, x, (320, 1))
        second = _forked(net, _chain(net, x, (384, 1)), f"mixed9_{number}")
        third = _forked(net, _chain(net, x, (448, 1), (384, 3)), None)
        x = net.join([whole, second, third, _chain(net, _average(x), (192, 1))], f"mixed{9 + number}")
    x = net.top(x, pool="avg_pool" if include_top else None)
    hashes = "9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63"
    return net.model(x, "inception_v3", tf_files("inception_v3"), "v0.5", hashes)


def InceptionResNetV2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """Inception-ResNet v2; see `Network` for the arguments."""
    net = Network(*(include_top, weights, input_tensor, input_shape, pooling, classes), size=299, least=75)
    x = _stem(net)
    branches = [
        _chain(net, x, (96, 1)),
        _chain(net, x, (48, 1), (64, 5)),
        _chain(net, x, (64, 1), (96, 3), (96, 3)),
        _chain(net, _average(x), (64, 1)),
    ]
    x = net.join(branches, "mixed_5b")
    for number in range(1, 11):
        branches = [
            _chain(net, x, (32, 1)),
            _chain(net, x, (32, 1), (32, 3)),
            _chain(net, x, (32, 1), (48, 3), (64, 3)),
        ]
        x = _added(net, x, branches, 0.17, f"block35_{number}")
    branches = [
        _halved(net, x, 384),
        _halved(net, _chain(net, x, (256, 1), (256, 3)), 384),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = net.join(branches, "mixed_6a")
    for number in range(1, 21):
        branches = [
            _chain(net, x, (192, 1)),
            _chain(net, x, (128, 1), (160, (1, 7)), (192, (7, 1))),
        ]
        x = _added(net, x, branches, 0.1, f"block17_{number}")
    branches = [
        _halved(net, _chain(net, x, (256, 1)), 384),
        _halved(net, _chain(net, x, (256, 1)), 288),
        _halved(net, _chain(net, x, (256, 1), (288, 3)), 320),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = net.join(branches, "mixed_7a")
    for number in range(1, 11):
        branches = [
            _chain(net, x, (192, 1)),
            _chain(net, x, (192, 1), (224, (1, 3)), (256, (3, 1))),
        ]
        x = _added(net, x, branches, 0.2 if number < 10 else 1.0, f"block8_{number}", active=number < 10)
    x = layers.Conv2D(1536, 1, padding="same", use_bias=False, name="conv_7b")(x)
    x = layers.Activation("relu", name="conv_7b_ac")(net.norm("conv_7b_bn", scale=False)(x))
    x = net.top(x, pool="avg_pool" if include_top else None)
    hashes = "e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4"
    return net.model(x, "inception_resnet_v2", tf_files("inception_resnet_v2"), "v0.7", hashes)


def Xception(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """Xception; see `Network` for the arguments."""
    net = Network(*(include_top, weights, input_tensor, input_shape, pooling, classes), size=299, least=71)
    x = net.input
    for number, (filters, stride) in enumerate(((32, 2), (64, 1)), 1):
        name = f"block1_conv{number}"
        x = layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=name)(x)
        x = layers.Activation("relu", name=f"{name}_act")(net.norm(f"{name}_bn")(x))
    for block in range(2, 14):
        halving = {2: (128, 128), 3: (256, 256), 4: (728, 728), 13: (728, 1024)}.get(block)
        past = x
        if halving:
            past = layers.Conv2D(halving[1], 1, strides=2, padding="same", use_bias=False)(x)
            past = net.norm()(past)
        for number, filters in enumerate(halving or (728,) * 3, 1):
            name = f"block{block}_sepconv{number}"
            if (block, number) != (2, 1):  # the block before has activated its output
                x = layers.Activation("relu", name=f"{name}_act")(x)
            x = _separable(net, x, filters, name)
        if halving:
            x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool")(x)
        x = layers.Add()([x, past])
    for number, filters in enumerate((1536, 2048), 1):
        name = f"block14_sepconv{number}"
        x = layers.Activation("relu", name=f"{name}_act")(_separable(net, x, filters, name))
    x = net.top(x, pool="avg_pool" if include_top else None)
    hashes = "0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97"
    return net.model(x, "xception", tf_files("xception"), "v0.4", hashes)


def _separable(net: Network, x: Any, filters: int, name: str) -> Any:
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return net.norm(f"{name}_bn")(x)


def _convolved(
    net: Network, x: Any, filters: int, kernel: Any, stride: int = 1, padding: str = "same"
) -> Any:
    """A convolution, normalized and activated."""
    x = layers.Conv2D(filters, kernel, strides=stride, padding=padding, use_bias=False)(x)
    return layers.Activation("relu")(net.norm(scale=False)(x))


def _chain(net: Network, x: Any, *convolutions: tuple[int, Any]) -> Any:
    """Convolutions one after the other, by their filters and kernels."""
    for filters, kernel in convolutions:
        x = _convolved(net, x, filters, kernel)
    return x


def _halved(net: Network, x: Any, filters: int) -> Any:
    return _convolved(net, x, filters, 3, 2, "valid")


def _average(x: Any) -> Any:
    return layers.AveragePooling2D(3, strides=1, padding="same")(x)


def _forked(net: Network, x: Any, name: str | None) -> Any:
    """A row and a column of three pixels, side by side."""
    return net.join([_convolved(net, x, 384, (1, 3)), _convolved(net, x, 384, (3, 1))], name)


def _stem(net: Network) -> Any:
    """The first layers of both Inception networks."""
    x = _convolved(net, net.input, 32, 3, 2, "valid")
    x = _convolved(net, x, 32, 3, 1, "valid")
    x = _convolved(net, x, 64, 3)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = _convolved(net, x, 80, 1, 1, "valid")
    x = _convolved(net, x, 192, 3, 1, "valid")
    return layers.MaxPooling2D(3, strides=2)(x)


def _added(net: Network, x: Any, branches: list[Any], scale: float, name: str, active: bool = True) -> Any:
    """What the branches make, scaled and added to the input."""
    mixed = net.join(branches, f"{name}_mixed")
    change = layers.Conv2D(net.channels(x), 1, padding="same", name=f"{name}_conv")(mixed)
    x = layers.Lambda(_scaled_sum, arguments={"scale": scale}, name=name)([x, change])
    return layers.Activation("relu", name=f"{name}_ac")(x) if active else x


def _scaled_sum(inputs: list[Any], scale: float) -> Any:
    return inputs[0] + inputs[1] * scale
