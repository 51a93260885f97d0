"""Layers of `tf.contrib.layers` without weights, or with only an embedding or a bias."""

from __future__ import annotations

import functools
from typing import Any

from tensorfleet.contrib.arg_scopes import add_arg_scope
from tensorfleet.contrib.flatten import flatten as _flatten
from tensorfleet.contrib.layer_scope import add_variables, layer_format, named_outputs
from tensorfleet.contrib.model_variables import model_variable
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.layers import core, pooling
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.indexing import gather, one_hot
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.data_flow.partition import unique as unique_ids
from tensorfleet.ops.nn.activation import bias_add as nn_bias_add, softmax as nn_softmax
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope

flatten = add_arg_scope(_flatten)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """In training, some inputs set to zero and the others multiplied by 1 / keep_prob
    (`tf.contrib.layers.dropout`)."""
    with variable_scope(scope, "Dropout", [inputs]) as current:
        layer = core.Dropout(
            rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=current.name, _scope=current
        )
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        return named_outputs(outputs_collections, current.name, outputs)


def _pool(layer_class: Any, name: str, formats: tuple[str, str]) -> Any:
    def pool(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = formats[0],
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        """The maxima, or the means, of windows (`tf.contrib.layers.max_pool2d`, `avg_pool2d`, …).

        Raises:
            ValueError: an unknown format or padding.
        """
        with framework.name_scope(scope, name, [inputs]) as current:
            layer = layer_class(
                pool_size=kernel_size,
                strides=stride,
                padding=padding,
                data_format=layer_format(data_format, formats),
            )
            return named_outputs(outputs_collections, current, layer.call(convert_to_tensor(inputs)))

    pool.__name__ = pool.__qualname__ = {"M": "max", "A": "avg"}[name[0]] + "_pool" + name[-2:].lower()
    return add_arg_scope(pool)


max_pool2d = _pool(pooling.MaxPooling2D, "MaxPool2D", ("NHWC", "NCHW"))
avg_pool2d = _pool(pooling.AveragePooling2D, "AvgPool2D", ("NHWC", "NCHW"))
max_pool3d = _pool(pooling.MaxPooling3D, "MaxPool3D", ("NDHWC", "NCDHW"))
avg_pool3d = _pool(pooling.AveragePooling3D, "AvgPool3D", ("NDHWC", "NCDHW"))


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = zeros_initializer(),  # noqa: B008  it holds no state
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Adds a variable to each channel (`tf.contrib.layers.bias_add`).

    Raises:
        ValueError: an unknown format, or the number of channels is not known.
    """
    layer_format(data_format)
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as current:
        inputs = convert_to_tensor(inputs)
        channels = inputs.shape.as_list()[1 if data_format == "NCHW" else -1]
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = model_variable(
            "biases",
            shape=[channels],
            dtype=inputs.dtype.base,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        add_variables(variables_collections, biases, "biases")
        outputs = nn_bias_add(inputs, biases, data_format=data_format)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return named_outputs(outputs_collections, current.name, outputs)


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Classes as rows with a single 1 (`tf.contrib.layers.one_hot_encoding`)."""
    with framework.name_scope(scope, "OneHotEncoding", [labels, num_classes]) as current:
        labels = convert_to_tensor(labels)
        if labels.dtype.base is dtypes.int32:
            labels = cast(labels, dtypes.int64)
        outputs = one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return named_outputs(outputs_collections, current, outputs)


@add_arg_scope
def softmax(logits: Any, scope: str | None = None) -> Any:
    """Softmax over the last dimension of any rank (`tf.contrib.layers.softmax`)."""
    with variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        flat = nn_softmax(reshape(logits, [-1, logits.shape.as_list()[-1]]))
        outputs = reshape(flat, shape(logits))
        outputs.set_shape(logits.dims)
        return outputs


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """The embedding of each symbol (`tf.contrib.layers.embed_sequence`).

    Args:
        ids: int32 or int64, `[batch, time]`.
        vocab_size, embed_dim: the shape of the table; with `reuse` they need not be given.
        unique: whether a symbol that occurs several times is looked up once.

    Returns:
        `[batch, time, embed_dim]`.

    Raises:
        ValueError: the table's shape is not given.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} "
            f"and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        is_known = vocab_size is not None and embed_dim is not None
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim] if is_known else None,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return embedding_lookup(embeddings, ids)


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Any:
    """`tf.nn.embedding_lookup` that looks each row up once (`tf.contrib.layers.embedding_lookup_unique`)."""
    with framework.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = convert_to_tensor(ids)
        values, places = unique_ids(reshape(ids, [-1]))
        rows = gather(embedding_lookup(params, values, partition_strategy=partition_strategy), places)
        outputs = reshape(rows, concat([shape(ids), shape(rows)[1:]], 0))
        outputs.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return outputs


@add_arg_scope
def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """The same layer applied repeatedly, each time with its own variables (`tf.contrib.layers.repeat`).

    The scopes are the layer's name, or the argument `scope`, with `_1`, `_2` and so on.
    """
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        inputs = convert_to_tensor(inputs)
        if scope is None:
            scope = _name(layer, "repeat")
        outputs = inputs
        for number in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{scope}_{number + 1}"})
        return outputs


@add_arg_scope
def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """A layer applied repeatedly with different arguments (`tf.contrib.layers.stack`).

    Args:
        stack_args: a list of arguments, or of lists or tuples of them.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise TypeError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        inputs = convert_to_tensor(inputs)
        if scope is None:
            scope = _name(layer, "stack")
        outputs = inputs
        for number, given in enumerate(stack_args):
            arguments = given if isinstance(given, (list, tuple)) else [given]
            outputs = layer(outputs, *arguments, **{**kwargs, "scope": f"{scope}_{number + 1}"})
        return outputs


def _name(layer: Any, default: str) -> str:
    while isinstance(layer, functools.partial):
        layer = layer.func
    return getattr(layer, "__name__", default)
