"""Layers with weights of `tf.contrib.layers`: fully connected, convolutions."""

from __future__ import annotations

import functools
from typing import Any

from tensorfleet.contrib.arg_scopes import add_arg_scope
from tensorfleet.contrib.layer_scope import finish, getter, layer_format
from tensorfleet.contrib.variance_scaling import xavier_initializer
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers import convolution as convolutions, convolution_others as others, core
from tensorfleet.ops.nn.activation import bias_add as nn_bias_add, relu as nn_relu, relu6 as nn_relu6
from tensorfleet.ops.nn.conv import depthwise_conv2d
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_scope import VariableScope, variable_scope

_RENAMED = {"kernel": "weights", "bias": "biases"}
_SEPARABLE = {**_RENAMED, "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights"}
_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def _initial(weights: tuple[Any, Any], biases: tuple[Any, Any], normalizer_fn: Any) -> dict[str, Any]:
    """The arguments of `tf.layers` for (initializer, regularizer) of weights and of biases.

    There are no biases with a normalizer, or without an initializer.
    """
    return {
        "use_bias": normalizer_fn is None and biases[0] is not None,
        "kernel_initializer": weights[0],
        "kernel_regularizer": weights[1],
        "bias_initializer": biases[0],
        "bias_regularizer": biases[1],
    }


def _scoped(inputs: Tensor, scope: VariableScope, reuse: Any) -> dict[str, Any]:
    """The arguments of `tf.layers` for a layer whose variables are in a scope that has been opened."""
    return {"name": scope.name, "dtype": inputs.dtype.base, "_scope": scope, "_reuse": reuse}


def _finished(layer: Any, inputs: Tensor, scope: VariableScope, after: tuple[Any, ...]) -> Any:
    """The outputs of a layer of `tf.layers`; `after` is the arguments of `finish` after the variables."""
    return finish(layer(inputs), scope, [(layer.kernel, "weights"), (layer.bias, "biases")], *after)


@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: Any,
    activation_fn: Any = nn_relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008  it holds no state
    weights_regularizer: Any = None,
    biases_initializer: Any = zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A fully connected layer, activation(inputs · weights + biases) (`tf.contrib.layers.fully_connected`).

    Args:
        inputs: of rank 2 or more; the layer connects the last dimension.
        activation_fn: None for a linear layer.
        normalizer_fn: a function instead of biases, such as `batch_norm`, with arguments
            `normalizer_params`.
        variables_collections: a list of collections, or a dict of lists by "weights" and "biases".

    Raises:
        ValueError: `num_outputs` is not an integer, or the last dimension of the inputs is not known.
    """
    if isinstance(num_outputs, bool) or (
        not hasattr(num_outputs, "__index__") and not hasattr(num_outputs, "value")
    ):
        raise ValueError(f"num_outputs type should be one of [<class 'int'>], got {type(num_outputs)}")
    with variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter(_RENAMED)
    ) as current:
        inputs = convert_to_tensor(inputs)
        layer = core.Dense(
            int(num_outputs),
            trainable=trainable,
            **_scoped(inputs, current, reuse),
            **_initial(
                (weights_initializer, weights_regularizer),
                (biases_initializer, biases_regularizer),
                normalizer_fn,
            ),
        )
        after = (normalizer_fn, normalizer_params, activation_fn, variables_collections, outputs_collections)
        return _finished(layer, inputs, current, after)


@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = nn_relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    weights_regularizer: Any = None,
    biases_initializer: Any = zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Any:
    """A convolution over 1, 2 or 3 dimensions (`tf.contrib.layers.conv2d`, `convolution`).

    Args:
        inputs: of rank 3, 4 or 5.
        num_outputs: the number of output channels.
        kernel_size, stride, rate: a number for each dimension, or one for all.
        conv_dims: the number of dimensions of space that the inputs must have.

    The other arguments are those of `fully_connected`.

    Raises:
        ValueError: inputs of another rank, or an unknown format or padding.
    """
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=getter(_RENAMED)) as current:
        inputs = convert_to_tensor(inputs)
        dims = (inputs.ndim or 0) - 2
        if dims not in _FORMATS or conv_dims not in (None, dims):
            raise ValueError(
                f"Convolution expects input with rank {3 if conv_dims is None else conv_dims + 2}, "
                f"got {inputs.ndim}"
            )
        classes: dict[int, Any] = {1: convolutions.Conv1D, 2: convolutions.Conv2D, 3: convolutions.Conv3D}
        layer = classes[dims](
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding,
            data_format=layer_format(data_format, _FORMATS[dims]),
            dilation_rate=rate,
            trainable=trainable,
            **_scoped(inputs, current, reuse),
            **_initial(
                (weights_initializer, weights_regularizer),
                (biases_initializer, biases_regularizer),
                normalizer_fn,
            ),
        )
        after = (normalizer_fn, normalizer_params, activation_fn, variables_collections, outputs_collections)
        return _finished(layer, inputs, current, after)


def _of_rank(dims: int) -> Any:
    @functools.wraps(convolution)
    def of_rank(*args: Any, **kwargs: Any) -> Any:
        return convolution.__wrapped__(*args, conv_dims=dims, **kwargs)  # type: ignore[attr-defined]

    of_rank.__name__ = of_rank.__qualname__ = f"convolution{dims}d"
    return add_arg_scope(of_rank)


convolution1d = conv1d = _of_rank(1)
convolution2d = conv2d = _of_rank(2)
convolution3d = conv3d = _of_rank(3)


def _transposed(layer_class: Any, name: str, dims: int) -> Any:
    def transposed(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str = _FORMATS[dims][0],
        activation_fn: Any = nn_relu,
        normalizer_fn: Any = None,
        normalizer_params: Any = None,
        weights_initializer: Any = xavier_initializer(),  # noqa: B008
        weights_regularizer: Any = None,
        biases_initializer: Any = zeros_initializer(),  # noqa: B008
        biases_regularizer: Any = None,
        reuse: Any = None,
        variables_collections: Any = None,
        outputs_collections: Any = None,
        trainable: bool = True,
        scope: Any = None,
    ) -> Any:
        """A transposed convolution, with the arguments of `convolution` except `rate`."""
        with variable_scope(scope, name, [inputs], reuse=reuse, custom_getter=getter(_RENAMED)) as current:
            inputs = convert_to_tensor(inputs)
            layer = layer_class(
                num_outputs,
                kernel_size,
                strides=stride,
                padding=padding,
                data_format=layer_format(data_format, _FORMATS[dims]),
                trainable=trainable,
                **_scoped(inputs, current, reuse),
                **_initial(
                    (weights_initializer, weights_regularizer),
                    (biases_initializer, biases_regularizer),
                    normalizer_fn,
                ),
            )
            after = (
                normalizer_fn,
                normalizer_params,
                activation_fn,
                variables_collections,
                outputs_collections,
            )
            return _finished(layer, inputs, current, after)

    transposed.__name__ = transposed.__qualname__ = f"convolution{dims}d_transpose"
    return add_arg_scope(transposed)


convolution2d_transpose = conv2d_transpose = _transposed(others.Conv2DTranspose, "Conv2d_transpose", 2)
convolution3d_transpose = conv3d_transpose = _transposed(others.Conv3DTranspose, "Conv3d_transpose", 3)


@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = nn_relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A depthwise convolution followed by a 1 × 1 convolution (`tf.contrib.layers.separable_conv2d`).

    Args:
        num_outputs: the number of output channels; None for the depthwise convolution alone.
        depth_multiplier: the number of output channels of the depthwise convolution for each input channel.
        pointwise_initializer: the initializer of the second convolution, by default `weights_initializer`.

    The other arguments are those of `convolution`.
    """
    with variable_scope(
        scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter(_SEPARABLE)
    ) as current:
        inputs = convert_to_tensor(inputs)
        use_bias = normalizer_fn is None and biases_initializer is not None
        if num_outputs is not None:
            layer = others.SeparableConv2D(
                num_outputs,
                kernel_size,
                strides=stride,
                padding=padding,
                data_format=layer_format(data_format),
                dilation_rate=rate,
                depth_multiplier=depth_multiplier,
                use_bias=use_bias,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                bias_initializer=biases_initializer,
                depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer,
                trainable=trainable,
                name=current.name,
                dtype=inputs.dtype.base,
                _scope=current,
                _reuse=reuse,
            )
            outputs = layer(inputs)
            variables = [
                (layer.depthwise_kernel, "weights"),
                (layer.pointwise_kernel, "weights"),
                (layer.bias, "biases"),
            ]
        else:
            outputs, variables = _depthwise(
                inputs,
                *(kernel_size, depth_multiplier, stride, padding, data_format, rate, trainable),
                *(weights_initializer, weights_regularizer),
                *((biases_initializer, biases_regularizer) if use_bias else (None, None)),
            )
        return finish(
            outputs,
            current,
            variables,
            normalizer_fn,
            normalizer_params,
            activation_fn,
            variables_collections,
            outputs_collections,
        )


separable_conv2d = separable_convolution2d


def _depthwise(
    inputs: Any,
    kernel_size: Any,
    depth_multiplier: int,
    stride: Any,
    padding: str,
    data_format: str,
    rate: Any,
    trainable: bool,
    initializer: Any,
    regularizer: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
) -> tuple[Any, list[tuple[Any, str]]]:
    """The depthwise convolution, with variables in the current scope."""
    from tensorfleet.contrib.model_variables import model_variable

    height, width = core_pair(kernel_size)
    (rows, columns), axis = core_pair(stride), 1 if data_format == "NCHW" else 3
    channels = inputs.shape.as_list()[axis]
    dtype = inputs.dtype.base
    weights = model_variable(
        "depthwise_weights",
        shape=[height, width, channels, depth_multiplier],
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
    )
    strides = [1, 1, rows, columns] if data_format == "NCHW" else [1, rows, columns, 1]
    outputs = depthwise_conv2d(
        inputs, weights, strides, padding, rate=core_pair(rate), data_format=data_format
    )
    if biases_initializer is None:
        return outputs, [(weights, "weights")]
    biases = model_variable(
        "biases",
        shape=[channels * depth_multiplier],
        dtype=dtype,
        initializer=biases_initializer,
        regularizer=biases_regularizer,
        trainable=trainable,
    )
    outputs = nn_bias_add(outputs, biases, data_format=data_format)
    return outputs, [(weights, "weights"), (biases, "biases")]


def core_pair(value: Any) -> list[int]:
    """Two numbers, or one for both."""
    return [int(v) for v in value] if isinstance(value, (list, tuple)) else [int(value)] * 2


linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=nn_relu)
relu6 = functools.partial(fully_connected, activation_fn=nn_relu6)
