"""`slim.nets.inception`: Inception networks of the versions 1 to 3."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tensorfleet.contrib.arg_scopes import arg_scope
from tensorfleet.contrib.norm_layers import batch_norm
from tensorfleet.contrib.plain_layers import avg_pool2d, dropout, max_pool2d, softmax
from tensorfleet.contrib.regularizers import l2_regularizer
from tensorfleet.contrib.slim_networks.inception_tables import V1, V2, V3, LayerSpec, MixedSpec, read
from tensorfleet.contrib.variance_scaling import variance_scaling_initializer
from tensorfleet.contrib.weighted_layers import conv2d, fully_connected, separable_conv2d
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import squeeze
from tensorfleet.ops.nn.activation import relu
from tensorfleet.ops.state.initializers import truncated_normal_initializer
from tensorfleet.ops.state.variable_scope import variable_scope


def _base(
    specs: list[LayerSpec | MixedSpec],
    net: Any,
    final_endpoint: str,
    depth: Callable[[int], int],
    points: dict[str, Any],
    initializers: Callable[[LayerSpec, LayerSpec | None], float | None],
) -> tuple[Any, dict[str, Any]]:
    """The layers of a table up to one of them.

    Args:
        depth: from the channels in the table to those of the network.
        initializers: the standard deviation of a layer's first weights, if it has one, from the layer and
            the one after it in its branch.
    """

    def built(spec: LayerSpec, inputs: Any, following: LayerSpec | None) -> Any:
        given: dict[str, Any] = {"stride": spec.stride, "scope": spec.scope}
        if spec.padding:
            given["padding"] = spec.padding
        if spec.channels is None:
            return (max_pool2d if spec.kind == "MaxPool" else avg_pool2d)(inputs, list(spec.kernel), **given)
        if (deviation := initializers(spec, following)) is not None:
            given["weights_initializer"] = truncated_normal_initializer(0.0, deviation)
        return conv2d(inputs, depth(spec.channels), list(spec.kernel), **given)

    for spec in specs:
        if isinstance(spec, LayerSpec):
            net = built(spec, net, None)
        else:
            ends = []
            with variable_scope(spec.scope):
                for number, steps in enumerate(spec.branches):
                    with variable_scope(f"Branch_{number}"):
                        branch = net
                        for step, following in itertools.zip_longest(steps, steps[1:]):
                            after = following[0] if following else None
                            made = [built(one, branch, after) for one in step]
                            branch = made[0] if len(made) == 1 else concat(made, 3)
                    ends.append(branch)
                net = concat(ends, 3)
        points[spec.scope] = net
        if spec.scope == final_endpoint:
            return net, points
    raise ValueError(f"Unknown final endpoint {final_endpoint}")


def _depth(multiplier: float, least: int) -> Callable[[int], int]:
    if multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda channels: max(int(channels * multiplier), least)


def inception_v1_base(inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1") -> Any:
    """The layers of Inception v1 (Szegedy et al., arXiv:1409.4842) up to one of them.

    Returns:
        Its output, and those of all layers by their names.

    Raises:
        ValueError: there is no layer with the name `final_endpoint`.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([conv2d, fully_connected], weights_initializer=truncated_normal_initializer(0.0, 0.01)),
        arg_scope([conv2d, max_pool2d], stride=1, padding="SAME"),
    ):
        return _base(read(V1), inputs, final_endpoint, lambda c: c, {}, lambda spec, following: None)


def _v2_deviation(spec: LayerSpec, following: LayerSpec | None) -> float | None:
    """1 x 1 convolutions before others, and after pooling, begin with wider weights."""
    if spec.kernel != (1, 1):
        return None
    if spec.scope.startswith(("Conv2d_2b", "Conv2d_0b")):
        return 0.1
    return None if following is None else 0.09


def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> Any:
    """The layers of Inception v2 (Ioffe and Szegedy, arXiv:1502.03167) up to one of them.

    Args:
        min_depth, depth_multiplier: the least number of channels, and the factor of those of the paper.

    Returns:
        Its output, and those of all layers by their names.

    Raises:
        ValueError: there is no layer with the name `final_endpoint`, or `depth_multiplier` is not positive.
    """
    depth = _depth(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV2", [inputs]),
        arg_scope([conv2d, max_pool2d, avg_pool2d, separable_conv2d], stride=1, padding="SAME"),
    ):
        first = "Conv2d_1a_7x7"
        net = separable_conv2d(
            inputs,
            depth(64),
            [7, 7],
            depth_multiplier=min(int(depth(64) / 3), 8),
            stride=2,
            weights_initializer=truncated_normal_initializer(0.0, 1.0),
            scope=first,
        )
        if final_endpoint == first:
            return net, {first: net}
        return _base(read(V2), net, final_endpoint, depth, {first: net}, _v2_deviation)


def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> Any:
    """The layers of Inception v3 (Szegedy et al., arXiv:1512.00567) up to one of them; as
    `inception_v2_base`."""
    depth = _depth(depth_multiplier, min_depth)
    specs = read(V3)
    begin = next(i for i, spec in enumerate(specs) if isinstance(spec, MixedSpec))
    points: dict[str, Any] = {}
    pooled = [conv2d, max_pool2d, avg_pool2d]
    with variable_scope(scope, "InceptionV3", [inputs]):
        stem = [spec.scope for spec in specs[:begin]]
        last = final_endpoint if final_endpoint in stem else stem[-1]
        with arg_scope(pooled, stride=1, padding="VALID"):
            net, _ = _base(specs[:begin], inputs, last, depth, points, lambda spec, following: None)
        if final_endpoint in stem:
            return net, points
        with arg_scope(pooled, stride=1, padding="SAME"):
            return _base(specs[begin:], net, final_endpoint, depth, points, lambda spec, following: None)


def _kernel_for(tensor: Any, kernel: list[int]) -> list[int]:
    """The kernel, or the size of the image where that is known and smaller."""
    _, height, width, _ = tensor.shape.as_list()
    return kernel if height is None or width is None else [min(height, kernel[0]), min(width, kernel[1])]


def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Any = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> Any:
    """Inception v1, for images of 224 x 224.

    Args:
        prediction_fn: a function from logits to predictions.
        spatial_squeeze: whether the logits are `[batch, num_classes]`.

    Returns:
        The logits, and the outputs of the layers by their names.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as current,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, points = inception_v1_base(inputs, scope=current)
        with variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = _logits(net, num_classes, "Conv2d_0c_1x1", spatial_squeeze)
            return _with_predictions(logits, points, prediction_fn)


def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> Any:
    """Inception v2, for images of 224 x 224; arguments and results as of `inception_v1` and
    `inception_v2_base`."""
    with (
        variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as current,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, points = inception_v2_base(
            inputs, scope=current, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        with variable_scope("Logits"):
            net = _pooled(net, [7, 7])
            net = dropout(net, dropout_keep_prob, scope="Dropout_1b")
            logits = _logits(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        return _with_predictions(logits, points, prediction_fn)


def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    create_aux_logits: bool = True,
    scope: Any = "InceptionV3",
) -> Any:
    """Inception v3, for images of 299 x 299; as `inception_v2`.

    Args:
        create_aux_logits: whether the outputs have "AuxLogits", logits from an earlier layer.
    """
    depth = _depth(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as current,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, points = inception_v3_base(
            inputs, scope=current, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        if create_aux_logits and num_classes:
            points["AuxLogits"] = _aux_logits(points["Mixed_6e"], num_classes, depth, spatial_squeeze)
        with variable_scope("Logits"):
            net = _pooled(net, [8, 8])
            net = dropout(net, dropout_keep_prob, scope="Dropout_1b")
            points["PreLogits"] = net
            logits = _logits(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        return _with_predictions(logits, points, prediction_fn)


def _pooled(net: Any, kernel: list[int]) -> Any:
    rows, columns = _kernel_for(net, kernel)
    return avg_pool2d(net, [rows, columns], padding="VALID", scope=f"AvgPool_1a_{rows}x{columns}")


def _logits(net: Any, num_classes: int, scope: str, squeezed: bool) -> Any:
    logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scope)
    return squeeze(logits, [1, 2], name="SpatialSqueeze") if squeezed else logits


def _with_predictions(logits: Any, points: dict[str, Any], prediction_fn: Any) -> tuple[Any, dict[str, Any]]:
    points["Logits"] = logits
    points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, points


def _aux_logits(net: Any, num_classes: int, depth: Callable[[int], int], squeezed: bool) -> Any:
    with (
        arg_scope([conv2d, max_pool2d, avg_pool2d], stride=1, padding="SAME"),
        variable_scope("AuxLogits"),
    ):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        rows, columns = _kernel_for(net, [5, 5])
        net = conv2d(
            net,
            depth(768),
            [rows, columns],
            weights_initializer=truncated_normal_initializer(0.0, 0.01),
            padding="VALID",
            scope=f"Conv2d_2a_{rows}x{columns}",
        )
        with arg_scope([conv2d], weights_initializer=truncated_normal_initializer(0.0, 0.001)):
            return _logits(net, num_classes, "Conv2d_2b_1x1", squeezed)


def _arg_scope(weight_decay: float, collection: str, norm: dict[str, Any] | None) -> Any:
    """The arguments of layers; `norm` are those of batch normalization, None for none."""
    held = {"moving_mean": [collection], "moving_variance": [collection], "beta": None, "gamma": None}
    with (
        arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)),
        arg_scope(
            [conv2d],
            weights_initializer=variance_scaling_initializer(),
            activation_fn=relu,
            normalizer_fn=None if norm is None else batch_norm,
            normalizer_params={} if norm is None else {**norm, "variables_collections": held},
        ) as arguments,
    ):
        return arguments


_NORM = {"decay": 0.9997, "epsilon": 0.001, "updates_collections": GraphKeys.UPDATE_OPS}


def inception_v1_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """The arguments of layers for Inception v1."""
    return _arg_scope(weight_decay, batch_norm_var_collection, _NORM if use_batch_norm else None)


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """The arguments of layers for Inception v2."""
    return _arg_scope(weight_decay, batch_norm_var_collection, _NORM)


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Any:
    """The arguments of layers for Inception v3."""
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "fused": use_fused_batchnorm,
    }
    return _arg_scope(weight_decay, batch_norm_var_collection, norm)


inception_v1.default_image_size = 224  # type: ignore[attr-defined]
inception_v2.default_image_size = 224  # type: ignore[attr-defined]
inception_v3.default_image_size = 299  # type: ignore[attr-defined]
