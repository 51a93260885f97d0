"""MobileNet (Howard et al. 2017) and MobileNetV2 (Sandler et al. 2018)."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import layers
from tensorfleet.keras.backend.state import image_data_format, is_keras_tensor
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.networks.building import CLASSES, Network

# Filters and strides of the blocks, and in MobileNetV2 how many times a block is repeated.
_BLOCKS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)
_BLOCKS_V2 = ((16, 1, 1), (24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1))
_SIZES = (128, 160, 192, 224)
_SIZES_V2 = (96, *_SIZES)
_WIDTHS = {0.25: "2_5", 0.5: "5_0", 0.75: "7_5", 1.0: "1_0"}
_WIDTHS_V2 = (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)
_NORM_V2 = {"epsilon": 1e-3, "momentum": 0.999}
_FOLDER_V2 = "https://github.com/JonathanCMitchell/mobilenet_v2_keras/releases/download/v1.1"
_MOST = 6.0


def MobileNet(
    input_shape: Any = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """MobileNet; see `Network` for the other arguments.

    Args:
        alpha: by which the numbers of filters are multiplied.
        depth_multiplier: the number of filters of a depthwise convolution for each channel.
        dropout: the rate before the classifier.
    """
    size = _size(input_shape, None, _SIZES)
    net = Network(include_top, weights, input_tensor, input_shape, pooling, classes, size=size)
    if weights == "imagenet" and (depth_multiplier != 1 or alpha not in _WIDTHS):
        raise ValueError(
            "With weights='imagenet', `depth_multiplier` must be 1, and `alpha` one of 0.25, 0.5, 0.75 and 1."
        )
    x = layers.ZeroPadding2D(((0, 1), (0, 1)), name="conv1_pad")(net.input)
    x = layers.Conv2D(int(32 * alpha), 3, strides=2, use_bias=False, name="conv1")(x)
    x = layers.ReLU(_MOST, name="conv1_relu")(net.norm("conv1_bn")(x))
    for number, (filters, stride) in enumerate(_BLOCKS, 1):
        if stride > 1:
            x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
        x = layers.DepthwiseConv2D(
            3,
            padding="same" if stride == 1 else "valid",
            depth_multiplier=depth_multiplier,
            strides=stride,
            use_bias=False,
            name=f"conv_dw_{number}",
        )(x)
        x = layers.ReLU(_MOST, name=f"conv_dw_{number}_relu")(net.norm(f"conv_dw_{number}_bn")(x))
        x = layers.Conv2D(int(filters * alpha), 1, padding="same", use_bias=False, name=f"conv_pw_{number}")(
            x
        )
        x = layers.ReLU(_MOST, name=f"conv_pw_{number}_relu")(net.norm(f"conv_pw_{number}_bn")(x))
    if include_top:
        last = int(1024 * alpha)
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Reshape((last, 1, 1) if net.first else (1, 1, last), name="reshape_1")(x)
        x = layers.Dropout(dropout, name="dropout")(x)
        x = layers.Conv2D(classes, 1, padding="same", name="conv_preds")(x)
        x = layers.Reshape((classes,), name="reshape_2")(x)
        x = layers.Activation("softmax", name="act_softmax")(x)
    else:
        x = net.pooled(x)
    rows = _weights_size(net, weights, _SIZES)
    stem = f"mobilenet_{_WIDTHS.get(alpha)}_{rows}_tf"
    files = f"{stem}.h5", f"{stem}_no_top.h5"
    return net.model(x, f"mobilenet_{alpha:0.2f}_{rows}", files, "v0.6")


def MobileNetV2(
    input_shape: Any = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = CLASSES,
) -> Model:
    """MobileNetV2; see `MobileNet` and `Network` for the arguments."""
    size = _size(input_shape, input_tensor, _SIZES_V2)
    net = Network(include_top, weights, input_tensor, input_shape, pooling, classes, size=size)
    if weights == "imagenet" and alpha not in _WIDTHS_V2:
        raise ValueError(f"With weights='imagenet', `alpha` must be one of {_WIDTHS_V2}.")
    x = layers.ZeroPadding2D(net.even_pad(net.input, 3), name="Conv1_pad")(net.input)
    x = layers.Conv2D(_eighths(32 * alpha), 3, strides=2, use_bias=False, name="Conv1")(x)
    x = layers.ReLU(_MOST, name="Conv1_relu")(net.norm("bn_Conv1", **_NORM_V2)(x))
    number = 0
    for filters, stride, times in _BLOCKS_V2:
        for repeated in range(times):
            x = _inverted(net, x, _eighths(int(filters * alpha)), 1 if repeated else stride, number)
            number += 1
    x = layers.Conv2D(_eighths(1280 * max(alpha, 1.0)), 1, use_bias=False, name="Conv_1")(x)
    x = layers.ReLU(_MOST, name="out_relu")(net.norm("Conv_1_bn", **_NORM_V2)(x))
    x = net.top(x, "Logits")
    rows = _weights_size(net, weights, _SIZES_V2)
    stem = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{alpha}_{rows}"
    files = f"{stem}.h5", f"{stem}_no_top.h5"
    return net.model(x, f"mobilenetv2_{alpha:0.2f}_{rows}", files, _FOLDER_V2)


def _inverted(net: Network, x: Any, filters: int, stride: int, number: int) -> Any:
    """A block that is wide in between; all but the first one widen their input by a factor of six."""
    channels, given = net.channels(x), x
    name = f"block_{number}_" if number else "expanded_conv_"
    if number:
        x = layers.Conv2D(6 * channels, 1, padding="same", use_bias=False, name=f"{name}expand")(x)
        x = layers.ReLU(_MOST, name=f"{name}expand_relu")(net.norm(f"{name}expand_BN", **_NORM_V2)(x))
    if stride > 1:
        x = layers.ZeroPadding2D(net.even_pad(x, 3), name=f"{name}pad")(x)
    x = layers.DepthwiseConv2D(
        3,
        strides=stride,
        use_bias=False,
        padding="same" if stride == 1 else "valid",
        name=f"{name}depthwise",
    )(x)
    x = layers.ReLU(_MOST, name=f"{name}depthwise_relu")(net.norm(f"{name}depthwise_BN", **_NORM_V2)(x))
    x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=f"{name}project")(x)
    x = net.norm(f"{name}project_BN", **_NORM_V2)(x)
    if channels == filters and stride == 1:
        x = layers.Add(name=f"{name}add")([given, x])
    return x


def _eighths(number: float) -> int:
    """The multiple of 8 that is nearest, and not less than 90 % of the number."""
    near = max(8, int(number + 4) // 8 * 8)
    return near + 8 if near < 0.9 * number else near


def _size(shape: Any, tensor: Any, sizes: tuple[int, ...]) -> int:
    """The size of images by default: that which the caller gave, if there are weights for it."""
    if shape is None and tensor is not None and is_keras_tensor(tensor):
        shape = tensor.shape.as_list()[1:]
    if shape is not None:
        first = 1 if image_data_format() == "channels_first" else 0
        if shape[first] == shape[first + 1] and shape[first] in sizes:
            return int(shape[first])
    return 224


def _weights_size(net: Network, weights: str | None, sizes: tuple[int, ...]) -> Any:
    """The size of images in the name of the model, and of its file of weights."""
    rows, columns = net.shape[1:] if net.first else net.shape[:2]
    return 224 if weights == "imagenet" and (rows != columns or rows not in sizes) else rows
