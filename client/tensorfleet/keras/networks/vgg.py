"""VGG16 and VGG19 (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import layers
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.networks.building import CLASSES, Network, tf_files

_FILTERS = (64, 128, 256, 512, 512)


def VGG16(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """VGG with 16 layers that have weights; see `Network` for the arguments."""
    net = Network(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = "64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"
    return net.model(_layers(net, include_top, (2, 2, 3, 3, 3)), "vgg16", tf_files("vgg16"), "v0.1", hashes)


def VGG19(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """VGG with 19 layers that have weights; see `Network` for the arguments."""
    net = Network(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = "cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"
    return net.model(_layers(net, include_top, (2, 2, 4, 4, 4)), "vgg19", tf_files("vgg19"), "v0.1", hashes)


def _layers(net: Network, include_top: bool, convolutions: tuple[int, ...]) -> Any:
    x = net.input
    for block, (filters, count) in enumerate(zip(_FILTERS, convolutions, strict=True), 1):
        for number in range(1, count + 1):
            name = f"block{block}_conv{number}"
            x = layers.Conv2D(filters, 3, activation="relu", padding="same", name=name)(x)
        x = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    if not include_top:
        return net.pooled(x)
    x = layers.Flatten(name="flatten")(x)
    for name in ("fc1", "fc2"):
        x = layers.Dense(4096, activation="relu", name=name)(x)
    return net.classified(x)
