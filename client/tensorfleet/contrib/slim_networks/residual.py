"""`slim.nets.resnet_utils`, `resnet_v1` and `resnet_v2`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorfleet.contrib.arg_scopes import add_arg_scope, arg_scope
from tensorfleet.contrib.layer_scope import named_outputs
from tensorfleet.contrib.norm_layers import batch_norm
from tensorfleet.contrib.output_collections import convert_collection_to_dict, last_dimension
from tensorfleet.contrib.plain_layers import max_pool2d, softmax
from tensorfleet.contrib.regularizers import l2_regularizer
from tensorfleet.contrib.variance_scaling import variance_scaling_initializer
from tensorfleet.contrib.weighted_layers import conv2d
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.math.reduction import reduce_mean
from tensorfleet.ops.nn.activation import relu
from tensorfleet.ops.state.variable_scope import variable_scope


class Block(NamedTuple):
    """Units of a ResNet that follow each other.

    Attributes:
        scope: the variable scope.
        unit_fn: the function of a unit.
        args: a dict of its arguments for each unit.
    """

    scope: str
    unit_fn: Any
    args: list[dict[str, Any]]


def subsample(inputs: Any, factor: int, scope: Any = None) -> Any:
    """Every `factor`-th row and column."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None
) -> Any:
    """A convolution whose padding does not depend on the size of the image, also with a stride."""
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
    sides = [total // 2, total - total // 2]
    padded = pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return conv2d(padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(
    net: Any, blocks: Any, output_stride: float | None = None, outputs_collections: Any = None
) -> Any:
    """The blocks of a ResNet, with dilated convolutions where the stride would exceed `output_stride`.

    Raises:
        ValueError: the stride cannot be reached.
    """
    stride = rate = 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as current:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope(f"unit_{number}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = named_outputs(outputs_collections, current.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """The arguments of layers for a ResNet."""
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [conv2d],
            weights_regularizer=l2_regularizer(weight_decay),
            weights_initializer=variance_scaling_initializer(),
            activation_fn=relu,
            normalizer_fn=batch_norm,
            normalizer_params=norm,
        ),
        arg_scope([batch_norm], **norm),
        arg_scope([max_pool2d], padding="SAME") as arguments,
    ):
        return arguments


@add_arg_scope
def bottleneck_v1(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """A residual unit with the normalization after each convolution (`resnet_v1.bottleneck`)."""
    with variable_scope(scope, "bottleneck_v1", [inputs]) as current:
        if depth == last_dimension(inputs.shape, min_rank=4):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut")
        net = conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = conv2d(net, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return named_outputs(outputs_collections, current.name, relu(shortcut + net))


@add_arg_scope
def bottleneck_v2(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """A residual unit with the normalization before each convolution (`resnet_v2.bottleneck`)."""
    plain = {"normalizer_fn": None, "activation_fn": None}
    with variable_scope(scope, "bottleneck_v2", [inputs]) as current:
        active = batch_norm(inputs, activation_fn=relu, scope="preact")
        if depth == last_dimension(inputs.shape, min_rank=4):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(active, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        net = conv2d(active, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = conv2d(net, depth, [1, 1], stride=1, scope="conv3", **plain)
        return named_outputs(outputs_collections, current.name, shortcut + net)


def _resnet(
    version: int,
    inputs: Any,
    blocks: Any,
    num_classes: int | None,
    is_training: Any,
    global_pool: bool,
    output_stride: float | None,
    include_root_block: bool,
    reuse: Any,
    scope: Any,
) -> Any:
    unit = bottleneck_v1 if version == 1 else bottleneck_v2
    plain = {"activation_fn": None, "normalizer_fn": None}
    with variable_scope(scope, f"resnet_v{version}", [inputs], reuse=reuse) as current:
        collection = current.original_name_scope + "_end_points"
        with (
            arg_scope([conv2d, unit, stack_blocks_dense], outputs_collections=collection),
            arg_scope([batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4:
                        raise ValueError("The output_stride needs to be a multiple of 4.")
                    output_stride /= 4
                with arg_scope([conv2d], **(plain if version == 2 else {})):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if version == 2:
                net = batch_norm(net, activation_fn=relu, scope="postnorm")
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = conv2d(net, num_classes, [1, 1], scope="logits", **plain)
            points = convert_collection_to_dict(collection)
            if num_classes is not None:
                points["predictions"] = softmax(net, scope="predictions")
            return net, points


def resnet_v1(
    inputs: Any,
    blocks: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
) -> Any:
    """A ResNet of version 1 (He et al., arXiv:1512.03385).

    Args:
        inputs: `[batch, height, width, channels]`.
        blocks: a list of `Block`s.
        num_classes: None for the features before the logits.
        global_pool: whether to take the mean over the image before the logits.
        output_stride: the factor by which the features are smaller than the image; None for that of the
            blocks.
        include_root_block: whether the network begins with a convolution and a pooling layer.

    Returns:
        The logits `[batch, height, width, num_classes]`, and the outputs of the layers by their names.

    Raises:
        ValueError: the stride cannot be reached.
    """
    given = (num_classes, is_training, global_pool, output_stride, include_root_block, reuse, scope)
    return _resnet(1, inputs, blocks, *given)


def resnet_v2(
    inputs: Any,
    blocks: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
) -> Any:
    """A ResNet of version 2 (He et al., arXiv:1603.05027); arguments as of `resnet_v1`."""
    given = (num_classes, is_training, global_pool, output_stride, include_root_block, reuse, scope)
    return _resnet(2, inputs, blocks, *given)


def _block(unit: Any, scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    one = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, unit, [{**one, "stride": 1}] * (num_units - 1) + [{**one, "stride": stride}])


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """A block of `bottleneck` units, with the stride in the last one."""
    return _block(bottleneck_v1, scope, base_depth, num_units, stride)


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """A block of `bottleneck` units, with the stride in the last one."""
    return _block(bottleneck_v2, scope, base_depth, num_units, stride)


def _network(version: int, layers: int, units: tuple[int, int, int, int]) -> Any:
    name = f"resnet_v{version}_{layers}"
    block = resnet_v1_block if version == 1 else resnet_v2_block

    def network(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: float | None = None,
        reuse: Any = None,
        scope: str = name,
    ) -> Any:
        blocks = [block(f"block{i + 1}", 64 << i, count, 2 if i < 3 else 1) for i, count in enumerate(units)]
        given = (num_classes, is_training, global_pool, output_stride, True, reuse, scope)
        return _resnet(version, inputs, blocks, *given)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""A ResNet of {layers} layers; arguments and results as of `resnet_v{version}`."""
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


_UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
resnet_v1_50 = _network(1, 50, _UNITS[50])
resnet_v1_101 = _network(1, 101, _UNITS[101])
resnet_v1_152 = _network(1, 152, _UNITS[152])
resnet_v1_200 = _network(1, 200, _UNITS[200])
resnet_v2_50 = _network(2, 50, _UNITS[50])
resnet_v2_101 = _network(2, 101, _UNITS[101])
resnet_v2_152 = _network(2, 152, _UNITS[152])
resnet_v2_200 = _network(2, 200, _UNITS[200])
resnet_v1.default_image_size = 224  # type: ignore[attr-defined]
resnet_v2.default_image_size = 224  # type: ignore[attr-defined]
