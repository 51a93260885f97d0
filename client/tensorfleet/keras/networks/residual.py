"""ResNets, and those that normalize and activate first (He et al. 2015 and 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.keras import layers
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.networks.building import CLASSES, Network, tf_files

_EPSILON = 1.001e-5
_FOLDER = "https://github.com/keras-team/keras-applications/releases/download/resnet"
_HASHES = {
    "resnet50": ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"),
    "resnet101": ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"),
    "resnet152": ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"),
    "resnet50v2": ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"),
    "resnet101v2": ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"),
    "resnet152v2": ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"),
}
_FILTERS = (64, 128, 256, 512)


def _function(kind: str, blocks: tuple[int, ...], first: bool) -> Callable[..., Model]:
    """The function of `tf.keras.applications` for a depth.

    Args:
        blocks: how many each stage has.
        first: whether blocks normalize and activate before they convolve.
    """

    def build(
        include_top: bool = True,
        weights: str | None = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = CLASSES,
    ) -> Model:
        net = Network(include_top, weights, input_tensor, input_shape, pooling, classes)
        x = layers.ZeroPadding2D(3, name="conv1_pad")(net.input)
        x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(x)
        if not first:
            x = _normal(net, x, "conv1")
        x = layers.ZeroPadding2D(1, name="pool1_pad")(x)
        x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
        for stage, (filters, count) in enumerate(zip(_FILTERS, blocks, strict=True), 2):
            # A stage halves the image in its first block; where activations are first, in its last.
            halving = (count if stage < 5 else 0) if first else (1 if stage > 2 else 0)
            for number in range(1, count + 1):
                block = _first_block if first else _block
                stride = 2 if number == halving else 1
                x = block(net, x, filters, stride, number == 1, f"conv{stage}_block{number}")
        if first:
            x = _normal(net, x, "post")
        x = net.top(x, "probs", "avg_pool", "max_pool")
        name = kind.lower()
        return net.model(x, name, tf_files(name), _FOLDER, _HASHES[name])

    build.__name__ = build.__qualname__ = kind
    build.__doc__ = f"{kind}; see `Network` for the arguments."
    return build


def _normal(net: Network, x: Any, name: str) -> Any:
    """A normalization and an activation."""
    x = net.norm(f"{name}_bn", epsilon=_EPSILON)(x)
    return layers.Activation("relu", name=f"{name}_relu")(x)


def _block(net: Network, x: Any, filters: int, stride: int, convolved: bool, name: str) -> Any:
    past = x
    if convolved:
        past = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(x)
        past = net.norm(f"{name}_0_bn", epsilon=_EPSILON)(past)
    x = layers.Conv2D(filters, 1, strides=stride, name=f"{name}_1_conv")(x)
    x = _normal(net, x, f"{name}_1")
    x = layers.Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x)
    x = _normal(net, x, f"{name}_2")
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    x = net.norm(f"{name}_3_bn", epsilon=_EPSILON)(x)
    x = layers.Add(name=f"{name}_add")([past, x])
    return layers.Activation("relu", name=f"{name}_out")(x)


def _first_block(net: Network, x: Any, filters: int, stride: int, convolved: bool, name: str) -> Any:
    active = _normal(net, x, f"{name}_preact")
    past = x
    if convolved:
        past = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(active)
    elif stride > 1:
        past = layers.MaxPooling2D(1, strides=stride)(x)
    x = layers.Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv")(active)
    x = _normal(net, x, f"{name}_1")
    x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=f"{name}_2_conv")(x)
    x = _normal(net, x, f"{name}_2")
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return layers.Add(name=f"{name}_out")([past, x])


ResNet50 = _function("ResNet50", (3, 4, 6, 3), False)
ResNet101 = _function("ResNet101", (3, 4, 23, 3), False)
ResNet152 = _function("ResNet152", (3, 8, 36, 3), False)
ResNet50V2 = _function("ResNet50V2", (3, 4, 6, 3), True)
ResNet101V2 = _function("ResNet101V2", (3, 4, 23, 3), True)
ResNet152V2 = _function("ResNet152V2", (3, 8, 36, 3), True)
