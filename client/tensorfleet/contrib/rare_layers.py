"""Rarer layers of `tf.contrib.layers`: spatial_softmax, maxout, conv2d_in_plane, and conversions."""

from __future__ import annotations

import functools
from typing import Any

from tensorfleet.autodiff.custom_gradient import custom_gradient
from tensorfleet.contrib.arg_scopes import add_arg_scope
from tensorfleet.contrib.layer_scope import add_variables, append_alias, finish, named_outputs
from tensorfleet.contrib.model_variables import model_variable
from tensorfleet.contrib.output_collections import last_dimension, n_positive_integers, two_element_tuple
from tensorfleet.contrib.variance_scaling import xavier_initializer
from tensorfleet.contrib.weighted_layers import fully_connected
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexing import gather_nd
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.linspace import linspace
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.rearranging import meshgrid, transpose
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.math.arithmetic import minimum
from tensorfleet.ops.math.comparison import not_equal
from tensorfleet.ops.math.elementwise import rsqrt, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_max, reduce_mean, reduce_sum
from tensorfleet.ops.nn.activation import (
    bias_add as nn_bias_add,
    elu as nn_elu,
    relu as nn_relu,
    softmax as nn_softmax,
)
from tensorfleet.ops.nn.conv import depthwise_conv2d
from tensorfleet.ops.nn.convolution import pool as nn_pool
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.nn.embedding_sparse import safe_embedding_lookup_sparse
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import constant_initializer, ones_initializer, zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope


@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: float | None = None,
    name: str | None = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Any:
    """The expected place of each channel's greatest value (`tf.contrib.layers.spatial_softmax`; Finn et al.,
    arXiv:1509.06113).

    Args:
        features: `[batch, height, width, channels]`, or by `data_format`.
        temperature: the initial value of the variable by which the features are divided, 1 by default.

    Returns:
        `[batch, 2 * channels]`: for each channel the row and the column, between -1 and 1.

    Raises:
        ValueError: an unknown format, or the number of channels is not known.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    features = convert_to_tensor(features)
    with variable_scope(name, "spatial_softmax"):
        rows, columns = (1, 2) if data_format == "NHWC" else (2, 3)
        sizes = shape(features)
        height, width = sizes[rows], sizes[columns]
        channels = features.shape.as_list()[3 if data_format == "NHWC" else 1]
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined."
            )
        with framework.name_scope("spatial_softmax_op", "spatial_softmax_op", [features]):
            x, y = meshgrid(linspace(-1.0, 1.0, height), linspace(-1.0, 1.0, width), indexing="ij")
            x, y = reshape(x, [height * width]), reshape(y, [height * width])
            initial = ones_initializer() if temperature is None else constant_initializer(temperature)
            divisor = model_variable(
                "temperature", shape=(), dtype=dtypes.float32, initializer=initial, trainable=trainable
            )
            if trainable:
                add_variables(variables_collections, divisor, "temperature")
            if data_format == "NHWC":
                features = transpose(features, [0, 3, 1, 2])
            attention = nn_softmax(reshape(features, [-1, height * width]) / divisor)
            places = [reduce_sum(p * attention, [1], keepdims=True) for p in (x, y)]
            keypoints = reshape(concat(places, 1), [-1, channels * 2])
            keypoints.set_shape([None, channels * 2])
    return keypoints


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Any:
    """The greatest of each group of features (`tf.contrib.layers.maxout`; Goodfellow et al.,
    arXiv:1302.4389).

    Args:
        num_units: the number of groups, which divides the size of the dimension `axis`.

    Raises:
        ValueError: it does not.
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        inputs = convert_to_tensor(inputs)
        sizes: list[Any] = inputs.shape.as_list()
        channels = sizes[axis]
        if channels % num_units:
            raise ValueError(f"number of features({channels}) is not a multiple of num_units({num_units})")
        sizes[axis] = num_units
        in_run = shape(inputs)
        sizes = [in_run[i] if size is None else size for i, size in enumerate(sizes)]
        return reduce_max(reshape(inputs, [*sizes, channels // num_units]), -1)


@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
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
    """The same convolution of each channel (`tf.contrib.layers.conv2d_in_plane`).

    Args:
        inputs: `[batch, height, width, channels]`.
    """
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as current:
        inputs = convert_to_tensor(inputs)
        dtype, channels = inputs.dtype.base, last_dimension(inputs.shape, min_rank=4)
        height, width = two_element_tuple(stride)
        weights = model_variable(
            "weights",
            shape=[*two_element_tuple(kernel_size), 1, 1],
            dtype=dtype,
            initializer=weights_initializer,
            regularizer=weights_regularizer,
            trainable=trainable,
        )
        made: list[tuple[Any, str]] = [(weights, "weights")]
        filters = tile(weights, [1, 1, channels, 1])
        outputs = depthwise_conv2d(inputs, filters, [1, height, width, 1], padding)
        if normalizer_fn is None and biases_initializer is not None:
            biases = model_variable(
                "biases",
                shape=[channels],
                dtype=dtype,
                initializer=biases_initializer,
                regularizer=biases_regularizer,
                trainable=trainable,
            )
            made.append((biases, "biases"))
            outputs = nn_bias_add(outputs, biases)
        after = (normalizer_fn, normalizer_params, activation_fn, variables_collections, outputs_collections)
        return finish(outputs, current, made, *after)


conv2d_in_plane = convolution2d_in_plane


@add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> SparseTensor:
    """The elements that are not `eos_token`, as a SparseTensor (`tf.contrib.layers.dense_to_sparse`)."""
    with variable_scope(scope, "dense_to_sparse", [tensor]) as current:
        tensor = convert_to_tensor(tensor)
        indices = where(not_equal(tensor, constant(eos_token, tensor.dtype)))
        made = SparseTensor(indices, gather_nd(tensor, indices), shape(tensor, out_type=dtypes.int64))
        if outputs_collections:
            append_alias(made.values, current.name)
            get_default_graph().add_to_collections(outputs_collections, made)
        return made


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: str | None = None
) -> Any:
    """Images `[images, height, width, depth]` as sequences of columns, `[width, images * height, depth]`
    (`tf.contrib.layers.images_to_sequence`).

    Raises:
        ValueError: an unknown format.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with framework.name_scope(scope, "ImagesToSequence", [inputs]) as current:
        inputs = convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.shape.as_list()
        sizes = shape(inputs)
        outputs = reshape(transpose(inputs, [2, 0, 1, 3]), [width, sizes[0] * sizes[1], depth])
        return named_outputs(outputs_collections, current, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """The inverse of `images_to_sequence` (`tf.contrib.layers.sequence_to_images`)."""
    with framework.name_scope(scope, "SequenceToImages", [inputs]) as current:
        inputs = convert_to_tensor(inputs)
        width, rows, depth = inputs.shape.as_list()
        images = -1 if rows is None else rows // height
        split = reshape(inputs, [width, images, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        return named_outputs(outputs_collections, current, transpose(split, order))


@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """`tf.nn.pool` over all but the batch and the channels (`tf.contrib.layers.pool`).

    Raises:
        ValueError: the rank is not known, or less than 3.
    """
    with framework.name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as current:
        inputs = convert_to_tensor(inputs)
        if inputs.ndim is None:
            raise ValueError("Rank of inputs must be known")
        if inputs.ndim < 3:
            raise ValueError("Rank of inputs must be >= 3")
        n = inputs.ndim - 2
        outputs = nn_pool(
            inputs,
            window_shape=n_positive_integers(n, kernel_size),
            pooling_type=pooling_type,
            padding=padding,
            data_format=data_format,
            dilation_rate=n_positive_integers(n, dilation_rate),
            strides=n_positive_integers(n, stride),
            name=current,
        )
        return named_outputs(outputs_collections, current, outputs)


@add_arg_scope
def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """The inputs, whose gradient is multiplied by a tensor (`tf.contrib.layers.scale_gradient`)."""

    @custom_gradient
    def scaled(x: Any, factor: Any) -> Any:
        return identity(x), lambda gradient: (gradient * factor, None)

    return scaled(convert_to_tensor(inputs), convert_to_tensor(gradient_multiplier))


def poincare_normalize(x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None) -> Any:
    """Vectors scaled down to a norm of at most 1 - epsilon (`tf.contrib.layers.poincare_normalize`)."""
    with framework.name_scope(name, "poincare_normalize", [x]):
        x = convert_to_tensor(x, name="x")
        inverse = rsqrt(reduce_sum(square(x), axis, keepdims=True))
        return x * minimum((1.0 - epsilon) * inverse, 1.0)


def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Any = None,
    weight_init: Any = xavier_initializer(),  # noqa: B008
    bias_init: Any = zeros_initializer(),  # noqa: B008
    name: str | None = None,
    weight_collections: Any = (GraphKeys.WEIGHTS,),
    bias_collections: Any = (GraphKeys.BIASES,),
    output_collections: Any = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Any:
    """An older `fully_connected` (`tf.contrib.layers.legacy_fully_connected`).

    Args:
        bias_init: None for no biases.

    Raises:
        ValueError: the rank of `x` is less than 2 or not known, or the last size is not known.
    """
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        dims = x.dims
        if dims is None:
            raise ValueError("dims of x must be known but is None")
        if len(dims) < 2:
            raise ValueError(f"rank of x must be at least 2 not: {len(dims)}")
        if dims[-1] is None:
            raise ValueError("last dimension of x must be known but is None")
        collections = [GraphKeys.GLOBAL_VARIABLES]
        weights = get_variable(
            "weights",
            shape=[dims[-1], num_output_units],
            dtype=x.dtype.base,
            initializer=weight_init,
            collections=[*collections, *(weight_collections or ())],
            regularizer=weight_regularizer,
            trainable=trainable,
        )
        y = matmul(x if len(dims) == 2 else reshape(x, [-1, dims[-1]]), weights)
        if bias_init is not None:
            biases = get_variable(
                "bias",
                shape=[num_output_units],
                dtype=x.dtype.base,
                initializer=bias_init,
                collections=[*collections, *(bias_collections or ())],
                regularizer=bias_regularizer,
                trainable=trainable,
            )
            y = nn_bias_add(y, biases)
        if len(dims) > 2:
            y = reshape(y, concat([shape(x)[:-1], [num_output_units]], 0))
            y.set_shape([*dims[:-1], num_output_units])
        if activation_fn is not None:
            y = activation_fn(y)
        get_default_graph().add_to_collections(output_collections or (), y)
        return y


legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=nn_relu)
elu = functools.partial(fully_connected, activation_fn=nn_elu)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """The mean of the symbols' embeddings (`tf.contrib.layers.bow_encoder`).

    Args:
        ids: `[batch, time]`, dense or sparse.
        sparse_lookup: whether dense ids are made sparse, so that symbol 0 does not count.

    Returns:
        `[batch, embed_dim]`.

    Raises:
        TypeError: sparse ids without `sparse_lookup`.
    """
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse_lookup:
            sparse = ids if isinstance(ids, SparseTensor) else dense_to_sparse(ids)
            return safe_embedding_lookup_sparse([embeddings], sparse, combiner="mean", default_id=0)
        if isinstance(ids, SparseTensor):
            raise TypeError("ids are expected to be dense Tensor, got: SparseTensor")
        return reduce_mean(embedding_lookup(embeddings, ids), axis=1)
