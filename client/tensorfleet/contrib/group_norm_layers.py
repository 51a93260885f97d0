"""Layers that normalize each example: `tf.contrib.layers.instance_norm` and `group_norm`."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.arg_scopes import add_arg_scope
from tensorfleet.contrib.layer_scope import add_variables, named_outputs
from tensorfleet.contrib.model_variables import model_variable
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.nn.norm import batch_normalization, moments
from tensorfleet.ops.nn.statistics import normalize_moments, sufficient_statistics
from tensorfleet.ops.state.initializers import ones_initializer, zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope


def _parameters(
    channels: int, dtype: Any, center: bool, scale: bool, initializers: Any, collections: Any, trainable: bool
) -> tuple[Any, Any]:
    """The variables `beta` and `gamma`; None for those that are not wanted."""
    made: list[Any] = []
    for name, wanted, initializer in (
        ("beta", center, zeros_initializer()),
        ("gamma", scale, ones_initializer()),
    ):
        variable = None
        if wanted:
            variable = model_variable(
                name,
                shape=[channels],
                dtype=dtype,
                initializer=(initializers or {}).get(name, initializer),
                trainable=trainable,
            )
            add_variables(collections, variable, name)
        made.append(variable)
    return made[0], made[1]


@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: dict[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Each channel of each example normalized to mean 0 and variance 1 (`tf.contrib.layers.instance_norm`;
    Ulyanov et al., arXiv:1607.08022).

    Args:
        inputs: of rank 2 or more; batch first, channels by `data_format`.
        param_initializers: a dict by "beta" and "gamma".

    Raises:
        ValueError: the rank or the number of channels is not known, or an unknown format.
    """
    inputs = convert_to_tensor(inputs)
    rank = inputs.ndim
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as current:
        axis = 1 if data_format == "NCHW" else rank - 1
        channels = inputs.shape.as_list()[axis]
        if channels is None:
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {axis}.")
        beta, gamma = _parameters(
            channels, inputs.dtype.base, center, scale, param_initializers, variables_collections, trainable
        )
        if data_format == "NCHW":
            broadcast = [1, channels] + [1] * (rank - 2)
            beta = None if beta is None else reshape(beta, broadcast)
            gamma = None if gamma is None else reshape(gamma, broadcast)
        mean, variance = moments(inputs, [a for a in range(1, rank) if a != axis], keep_dims=True)
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon, name="instancenorm")
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return named_outputs(outputs_collections, current.name, outputs)


@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Any = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: dict[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Groups of channels of each example normalized to mean 0 and variance 1
    (`tf.contrib.layers.group_norm`; Wu and He, arXiv:1803.08494).

    Args:
        groups: the number of groups, which divides the number of channels.
        channels_axis: the dimension of channels.
        reduction_axes: the dimensions that are normalized together, without that of channels.
        mean_close_to_zero: whether the variance is computed as E[x²] - E[x]².

    Raises:
        ValueError: the rank or a size is not known, an axis is out of range, or `groups` does not fit.
    """
    inputs = convert_to_tensor(inputs)
    rank = inputs.ndim
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if not -rank <= channels_axis < rank or any(not -rank <= a < rank for a in reduction_axes):
        raise ValueError("Axis is out of bounds.")
    dims = inputs.shape.as_list()
    axis = channels_axis % rank
    channels = dims[axis]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {axis}.")
    reduced = [a % rank for a in reduction_axes]
    for a in reduced:
        if dims[a] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {a}.")
        if a == axis:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    in_run = shape(inputs)
    sizes = [in_run[i] if size is None else size for i, size in enumerate(dims)]
    parts = [groups, channels // groups]
    broadcast = [1] * axis + parts + [1] * (rank - axis - 1)
    grouped = reshape(inputs, sizes[:axis] + parts + sizes[axis + 1 :])
    axes = [axis + 1, *(a + 1 if a > axis else a for a in reduced)]
    with variable_scope(scope, "GroupNorm", [grouped], reuse=reuse) as current:
        beta, gamma = _parameters(
            channels, inputs.dtype.base, center, scale, param_initializers, variables_collections, trainable
        )
        beta = None if beta is None else reshape(beta, broadcast)
        gamma = None if gamma is None else reshape(gamma, broadcast)
        if mean_close_to_zero:
            counts, means, squares, _ = sufficient_statistics(grouped, axes, keep_dims=True)
            mean, variance = normalize_moments(counts, means, squares, shift=None)
        else:
            mean, variance = moments(grouped, axes, keep_dims=True)
        outputs = batch_normalization(grouped, mean, variance, beta, gamma, epsilon)
        outputs = reshape(outputs, sizes)
        outputs.set_shape(inputs.dims)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return named_outputs(outputs_collections, current.name, outputs)
