"""`slim.nets.vgg`, `alexnet` and `overfeat`: convolutions one after another, ended by three that are fully
connected for images of the default size."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.arg_scopes import arg_scope
from tensorfleet.contrib.output_collections import convert_collection_to_dict
from tensorfleet.contrib.plain_layers import dropout, max_pool2d, repeat
from tensorfleet.contrib.regularizers import l2_regularizer
from tensorfleet.contrib.weighted_layers import conv2d, fully_connected
from tensorfleet.ops.array.shaping import squeeze
from tensorfleet.ops.nn.activation import relu
from tensorfleet.ops.state.initializers import (
    constant_initializer,
    truncated_normal_initializer,
    zeros_initializer,
)
from tensorfleet.ops.state.variable_scope import variable_scope

_END = 4096  # channels of the layers that stand for fully connected ones


def arg_scope_of(weight_decay: float, biases_initializer: Any, pool_padding: str | None) -> Any:
    """The arguments of layers: ReLU, weight decay, padding."""
    with (
        arg_scope(
            [conv2d, fully_connected],
            activation_fn=relu,
            weights_regularizer=l2_regularizer(weight_decay),
            biases_initializer=biases_initializer,
        ),
        arg_scope([conv2d], padding="SAME") as arguments,
    ):
        if pool_padding is None:
            return arguments
        with arg_scope([max_pool2d], padding=pool_padding) as arguments:
            return arguments


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of layers for a VGG (`vgg.vgg_arg_scope`)."""
    return arg_scope_of(weight_decay, zeros_initializer(), None)


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of layers for an AlexNet (`alexnet.alexnet_v2_arg_scope`)."""
    return arg_scope_of(weight_decay, constant_initializer(0.1), "VALID")


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of layers for an OverFeat (`overfeat.overfeat_arg_scope`)."""
    return arg_scope_of(weight_decay, zeros_initializer(), "VALID")


def _ended(
    net: Any,
    sizes: tuple[int, int, Any],
    num_classes: int,
    is_training: Any,
    keep_prob: float,
    squeezed: bool,
    scope: Any,
    collection: str,
    **last: Any,
) -> Any:
    """The three last layers; the logits and the end points.

    Args:
        sizes: the channels of the first two layers, and the kernel of the first.
        last: further arguments of the last layer.
    """
    net = conv2d(net, sizes[0], sizes[2], padding="VALID", scope="fc6")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout6")
    net = conv2d(net, sizes[1], [1, 1], scope="fc7")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout7")
    net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **last)
    points = convert_collection_to_dict(collection)
    if squeezed:
        net = squeeze(net, [1, 2], name="fc8/squeezed")
        points[f"{scope.name}/fc8"] = net
    return net, points


def _vgg(name: str, repetitions: tuple[int, ...]) -> Any:
    """The function of a VGG: five groups of so many convolutions, each with a pooling layer after it."""

    def network(
        inputs: Any,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: str = name,
    ) -> Any:
        with variable_scope(scope, name, [inputs]) as current:
            points = current.original_name_scope + "_end_points"
            with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=points):
                net = inputs
                for number, times in enumerate(repetitions, 1):
                    depth = min(32 << number, 512)
                    net = repeat(net, times, conv2d, depth, [3, 3], scope=f"conv{number}")
                    net = max_pool2d(net, [2, 2], scope=f"pool{number}")
                sizes = (_END, _END, [7, 7])
                end = (num_classes, is_training, dropout_keep_prob, spatial_squeeze, current, points)
                return _ended(net, sizes, *end)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""The network {name} (Simonyan and Zisserman, arXiv:1409.1556).

    Args:
        inputs: `[batch, height, width, channels]`, 224 x 224 for a classification.
        spatial_squeeze: whether the logits are `[batch, num_classes]`.

    Returns:
        The logits, and the outputs of the layers by their names.
    """
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_16 = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_19 = _vgg("vgg_19", (2, 2, 4, 4, 4))


def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: str = "alexnet_v2",
) -> Any:
    """AlexNet in its second version (Krizhevsky, arXiv:1404.5997), for images of 224 x 224.

    Returns:
        The logits, and the outputs of the layers by their names.
    """
    with variable_scope(scope, "alexnet_v2", [inputs]) as current:
        points = current.original_name_scope + "_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=[points]):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [3, 3], 2, scope="pool1")
            net = conv2d(net, 192, [5, 5], scope="conv2")
            net = max_pool2d(net, [3, 3], 2, scope="pool2")
            for number, depth in ((3, 384), (4, 384), (5, 256)):
                net = conv2d(net, depth, [3, 3], scope=f"conv{number}")
            net = max_pool2d(net, [3, 3], 2, scope="pool5")
            with _narrow_weights():
                end = (num_classes, is_training, dropout_keep_prob, spatial_squeeze, current, points)
                return _ended(net, (_END, _END, [5, 5]), *end, biases_initializer=zeros_initializer())


def overfeat(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: str = "overfeat",
) -> Any:
    """OverFeat (Sermanet et al., arXiv:1312.6229), for images of 231 x 231.

    Returns:
        The logits, and the outputs of the layers by their names.
    """
    with variable_scope(scope, "overfeat", [inputs]) as current:
        points = current.name + "_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=points):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [2, 2], scope="pool1")
            net = conv2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = max_pool2d(net, [2, 2], scope="pool2")
            for number, depth in ((3, 512), (4, 1024), (5, 1024)):
                net = conv2d(net, depth, [3, 3], scope=f"conv{number}")
            net = max_pool2d(net, [2, 2], scope="pool5")
            with _narrow_weights():
                end = (num_classes, is_training, dropout_keep_prob, spatial_squeeze, current, points)
                return _ended(net, (3072, _END, [6, 6]), *end, biases_initializer=zeros_initializer())


def _narrow_weights() -> Any:
    return arg_scope(
        [conv2d],
        weights_initializer=truncated_normal_initializer(0.0, 0.005),
        biases_initializer=constant_initializer(0.1),
    )


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]
overfeat.default_image_size = 231  # type: ignore[attr-defined]
