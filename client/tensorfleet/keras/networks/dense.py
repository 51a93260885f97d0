"""DenseNets (Huang et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.keras import layers
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.networks.building import CLASSES, Network, tf_files

_EPSILON = 1.001e-5
_GROWTH = 32
_FOLDER = "https://github.com/keras-team/keras-applications/releases/download/densenet"
_HASHES = {
    "densenet121": ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"),
    "densenet169": ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"),
    "densenet201": ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"),
}


def _function(kind: str, blocks: tuple[int, ...]) -> Callable[..., Model]:
    """The function of `tf.keras.applications` for a depth."""

    def build(
        include_top: bool = True,
        weights: str | None = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = CLASSES,
    ) -> Model:
        net = Network(include_top, weights, input_tensor, input_shape, pooling, classes)
        x = layers.ZeroPadding2D(3)(net.input)
        x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1/conv")(x)
        x = net.norm("conv1/bn", epsilon=_EPSILON)(x)
        x = layers.Activation("relu", name="conv1/relu")(x)
        x = layers.ZeroPadding2D(1)(x)
        x = layers.MaxPooling2D(3, strides=2, name="pool1")(x)
        for stage, count in enumerate(blocks, 2):
            if stage > 2:
                x = _transition(net, x, f"pool{stage - 1}")
            for number in range(1, count + 1):
                x = _grown(net, x, f"conv{stage}_block{number}")
        x = net.norm("bn", epsilon=_EPSILON)(x)
        x = layers.Activation("relu", name="relu")(x)
        x = net.top(x, "fc1000", "avg_pool", "max_pool")
        name = kind.lower()
        return net.model(x, name, tf_files(name), _FOLDER, _HASHES[name])

    build.__name__ = build.__qualname__ = kind
    build.__doc__ = f"{kind}; see `Network` for the arguments."
    return build


def _normal(net: Network, x: Any, names: tuple[str, str]) -> Any:
    return layers.Activation("relu", name=names[1])(net.norm(names[0], epsilon=_EPSILON)(x))


def _transition(net: Network, x: Any, name: str) -> Any:
    """Half the channels, on half the pixels in each direction."""
    x = _normal(net, x, (f"{name}_bn", f"{name}_relu"))
    x = layers.Conv2D(net.channels(x) // 2, 1, use_bias=False, name=f"{name}_conv")(x)
    return layers.AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _grown(net: Network, x: Any, name: str) -> Any:
    """The input, and further channels that are made of it."""
    more = _normal(net, x, (f"{name}_0_bn", f"{name}_0_relu"))
    more = layers.Conv2D(4 * _GROWTH, 1, use_bias=False, name=f"{name}_1_conv")(more)
    more = _normal(net, more, (f"{name}_1_bn", f"{name}_1_relu"))
    more = layers.Conv2D(_GROWTH, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(more)
    return net.join([x, more], f"{name}_concat")


DenseNet121 = _function("DenseNet121", (6, 12, 24, 16))
DenseNet169 = _function("DenseNet169", (6, 12, 32, 32))
DenseNet201 = _function("DenseNet201", (6, 12, 48, 32))
