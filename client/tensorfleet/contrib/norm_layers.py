"""Layers that normalize: `tf.contrib.layers.batch_norm`, `layer_norm`, `unit_norm`."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.arg_scopes import add_arg_scope
from tensorfleet.contrib.layer_scope import add_variables, getter, named_outputs
from tensorfleet.contrib.model_variables import model_variable
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.layers.normalization import BatchNormalization
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.elementwise import sqrt
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.norm import batch_normalization, moments
from tensorfleet.ops.state.initializers import ones_initializer, zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope


class _BatchNormalization(BatchNormalization):
    """The layer; the function `batch_norm` adds its updates to a collection or runs them."""

    @property
    def updates(self) -> list[Any]:
        return []

    @property
    def made_updates(self) -> list[Any]:
        return self._updates


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: dict[str, Any] | None = None,
    param_regularizers: dict[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Batch normalization (`tf.contrib.layers.batch_norm`).

    Args:
        inputs: of rank 2 or more.
        decay: the fraction of the running averages that an update keeps.
        param_initializers, param_regularizers: dicts by "beta", "gamma", "moving_mean", "moving_variance".
        updates_collections: the collection for the updates of the running averages; None to run them with
            the layer.
        is_training: a bool, or a bool tensor of rank 0.
        batch_weights, zero_debias_moving_mean: must have their defaults.
        renorm, renorm_clipping, renorm_decay, adjustment: as `renorm`, `renorm_clipping`, `renorm_momentum`
            and `adjustment` of `tf.layers.batch_normalization`.

    Raises:
        NotImplementedError: `batch_weights` or `zero_debias_moving_mean` has another value.
        ValueError: an unknown format or argument.
    """
    for name, asked in (
        ("batch_weights", batch_weights is not None),
        ("zero_debias_moving_mean", zero_debias_moving_mean),
    ):
        if asked:
            raise NotImplementedError(f"batch_norm with {name} is not part of TensorFleet.")
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=getter()) as current:
        inputs = convert_to_tensor(inputs)
        given = inputs
        if inputs.ndim is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank")
        axis = 1 if data_format == "NCHW" else inputs.ndim - 1
        # As images of one pixel, for which the running variance is unbiased, as in TensorFlow.
        flat = inputs.ndim == 2 and fused is not False and not renorm and adjustment is None
        if flat:
            inputs = reshape(inputs, [-1, 1, 1, inputs.shape.as_list()[1]])
            axis = 3
        initializers, regularizers = param_initializers or {}, param_regularizers or {}
        layer = _BatchNormalization(
            axis=axis,
            momentum=decay,
            epsilon=epsilon,
            center=center,
            scale=scale,
            beta_initializer=initializers.get("beta", zeros_initializer()),
            gamma_initializer=initializers.get("gamma", ones_initializer()),
            moving_mean_initializer=initializers.get("moving_mean", zeros_initializer()),
            moving_variance_initializer=initializers.get("moving_variance", ones_initializer()),
            beta_regularizer=regularizers.get("beta"),
            gamma_regularizer=regularizers.get("gamma"),
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_decay,
            fused=True if flat else None if fused is None or inputs.ndim != 4 else fused,
            adjustment=adjustment,
            trainable=trainable,
            name=current.name,
            _scope=current,
            _reuse=reuse,
        )
        outputs = layer(inputs, training=is_training)
        for variable, kind in (
            (layer.beta, "beta"),
            (layer.gamma, "gamma"),
            (layer.moving_mean, "moving_mean"),
            (layer.moving_variance, "moving_variance"),
        ):
            add_variables(variables_collections, variable, kind)
        if updates_collections is None:
            with framework.control_dependencies(layer.made_updates):
                outputs = identity(outputs)
        else:
            for update in layer.made_updates:
                framework.get_default_graph().add_to_collections(updates_collections, update)
        if flat:
            outputs = reshape(outputs, shape(given))
            outputs.set_shape(given.dims)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return named_outputs(outputs_collections, current.name, outputs)


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Each element of the batch normalized to mean 0 and variance 1 (`tf.contrib.layers.layer_norm`).

    Args:
        begin_norm_axis: the first of the dimensions that are normalized together.
        begin_params_axis: the first dimension of `beta` and `gamma`.

    Raises:
        ValueError: the rank, or the shape of the variables, is not known, or an axis is out of range.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as current:
        inputs = convert_to_tensor(inputs)
        rank = inputs.ndim
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        begin = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or begin >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) "
                f"must be < rank(inputs) ({rank})"
            )
        params_shape = inputs.shape.as_list()[begin_params_axis:]
        if None in params_shape:
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{inputs.shape}"
            )
        dtype = inputs.dtype.base
        parameters = {}
        for name, wanted, initializer in (
            ("beta", center, zeros_initializer()),
            ("gamma", scale, ones_initializer()),
        ):
            if wanted:
                parameters[name] = model_variable(
                    name, shape=params_shape, dtype=dtype, initializer=initializer, trainable=trainable
                )
                add_variables(variables_collections, parameters[name], name)
        mean, variance = moments(inputs, list(range(begin, rank)), keep_dims=True)
        epsilon = 1e-3 if dtype is dtypes.float16 else 1e-12
        outputs = batch_normalization(
            inputs, mean, variance, parameters.get("beta"), parameters.get("gamma"), epsilon
        )
        outputs.set_shape(inputs.dims)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return named_outputs(outputs_collections, current.name, outputs)


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """The inputs scaled to norm 1 along a dimension (`tf.contrib.layers.unit_norm`)."""
    with variable_scope(scope, "UnitNorm", [inputs]):
        inputs = convert_to_tensor(inputs)
        return inputs / sqrt(reduce_sum(inputs * inputs, dim, keepdims=True) + epsilon)
