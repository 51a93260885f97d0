"""Functions of Keras's backend for neural networks: activations, losses, convolutions, pooling."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.keras import ops
from tensorfleet.keras.backend.arithmetic import _seed
from tensorfleet.keras.backend.state import epsilon, image_data_format, int_shape


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: Any = 0.0) -> Any:
    """x above the threshold, at most `max_value`; below it `alpha * (x - threshold)`."""
    x = convert_to_tensor(x)
    if isinstance(alpha, (int, float)) and alpha == 0 and threshold == 0:
        if max_value is None:
            return ops.relu(x)
        if max_value == 6:
            return ops.relu6(x)
    is_plain = isinstance(alpha, (int, float)) and alpha == 0
    if is_plain:
        negative = None
    elif max_value is None and threshold == 0:
        return ops.leaky_relu(x, alpha=alpha)
    else:
        negative = ops.relu(-x + threshold) if threshold != 0 else ops.relu(-x)
    if threshold != 0:
        result = x * ops.cast(ops.greater(x, ops.cast(threshold, x.dtype.base)), x.dtype.base)
    else:
        result = ops.relu(x)
    if max_value is not None:
        result = ops.clip_by_value(result, 0.0, max_value)
    return result if negative is None else result - ops.cast(alpha, x.dtype.base) * negative


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x if positive, else alpha * (exp(x) - 1)."""
    result = ops.elu(x)
    return result if alpha == 1 else ops.where(x > 0, result, alpha * result)


def softmax(x: Any, axis: int = -1) -> Any:
    """Exponentials divided by their sum along `axis`."""
    return ops.softmax(x, axis=axis)


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return ops.softplus(x)


def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return ops.softsign(x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(x)


def hard_sigmoid(x: Any) -> Any:
    """0.2 x + 0.5, within 0 and 1."""
    return ops.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0)


def tanh(x: Any) -> Any:
    """The hyperbolic tangents."""
    return ops.tanh(x)


def dropout(x: Any, level: Any, noise_shape: Any = None, seed: int | None = None) -> Any:
    """Elements set to zero with probability `level`, the others divided by 1 - level."""
    return ops.dropout(x, rate=level, noise_shape=noise_shape, seed=_seed(seed))


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    """Adds a bias to each channel; or a bias of the rank of one element, to each element."""
    order = _order(data_format)
    shape = int_shape(bias) or ()
    rank = len(int_shape(x) or ())
    if len(shape) not in (1, rank - 1):
        raise ValueError(f"Unexpected bias dimensions {len(shape)}, expect to be 1 or {rank - 1} dimensions")
    if len(shape) == 1:
        if order == "channels_last":
            return ops.bias_add(x, bias)
        if rank in (3, 4, 5):
            return x + ops.reshape(bias, [1, shape[0], *(1 for _ in range(rank - 2))])
        return ops.bias_add(x, bias)
    if order == "channels_first":
        return x + ops.reshape(bias, [1, shape[-1], *shape[:-1]])
    return x + ops.reshape(bias, [1, *shape])


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """The cross entropy of probabilities, or logits, with one-hot targets along `axis`."""
    if not from_logits:
        logits = _logits_of(output, "Softmax")
        if logits is None:
            output = output / ops.reduce_sum(output, axis, True)
            limit = ops.cast(epsilon(), output.dtype.base)
            output = ops.clip_by_value(output, limit, 1.0 - limit)
            return -ops.reduce_sum(target * ops.log(output), axis)
        output = logits
    return ops.softmax_cross_entropy_with_logits_v2(labels=target, logits=output, axis=axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """The cross entropy of probabilities, or logits, with numbers of classes."""
    rank = len(int_shape(output) or ())
    if axis not in (-1, rank - 1):
        order = [a for a in range(rank) if a != axis % rank] + [axis % rank]
        output, from_logits = ops.transpose(output, order), from_logits
    if not from_logits:
        logits = _logits_of(output, "Softmax")
        if logits is None:
            limit = ops.cast(epsilon(), output.dtype.base)
            logits = ops.log(ops.clip_by_value(output, limit, 1 - limit))
        output = logits
    target = ops.cast(target, dtypes.int64)
    sizes = int_shape(output) or ()
    if len(int_shape(target) or ()) == len(sizes):
        target = ops.reshape(target, ops.shape(output)[:-1])
    if len(sizes) <= 2:
        return ops.sparse_softmax_cross_entropy_with_logits(labels=ops.reshape(target, [-1]), logits=output)
    flat = ops.sparse_softmax_cross_entropy_with_logits(
        labels=ops.reshape(target, [-1]), logits=ops.reshape(output, [-1, sizes[-1]])
    )
    result = ops.reshape(flat, ops.shape(output)[:-1])
    result.set_shape(sizes[:-1])
    return result


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """The cross entropy of probabilities, or logits, with targets of 0 and 1, by elements."""
    if not from_logits:
        logits = _logits_of(output, "Sigmoid")
        if logits is None:
            limit = ops.cast(epsilon(), output.dtype.base)
            output = ops.clip_by_value(output, limit, 1.0 - limit)
            positive = target * ops.log(output + epsilon())
            return -(positive + (1 - target) * ops.log(1 - output + epsilon()))
        output = logits
    return ops.sigmoid_cross_entropy_with_logits(labels=target, logits=output)


def _logits_of(output: Any, op_type: str) -> Any:
    """The input of the softmax or sigmoid that made these probabilities, whose loss is more exact."""
    op = getattr(output, "op", None)
    while op is not None and op.type == "Identity":
        op = op.inputs[0].op
    return op.inputs[0] if op is not None and op.type == op_type else None


def _order(data_format: str | None) -> str:
    order = data_format or image_data_format()
    if order not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {order}. Give channels_last or channels_first.")
    return order


def to_channels_last(x: Any, data_format: str) -> Any:
    """A batch of images or sequences with its channels in the last dimension."""
    rank = len(x.shape.as_list())
    return ops.transpose(x, [0, *range(2, rank), 1]) if data_format == "channels_first" else x


def from_channels_last(x: Any, data_format: str) -> Any:
    """The opposite of `to_channels_last`."""
    rank = len(x.shape.as_list())
    return ops.transpose(x, [0, rank - 1, *range(1, rank - 1)]) if data_format == "channels_first" else x


def tuple_of(value: Any, rank: int) -> tuple[int, ...]:
    """A number for each of `rank` dimensions."""
    return (value,) * rank if isinstance(value, int) else tuple(int(v) for v in value)


def convolution(
    x: Any, kernel: Any, rank: int, strides: Any, padding: str, data_format: str | None, dilation_rate: Any
) -> Any:
    """A convolution over `rank` dimensions; "causal" padding puts all zeros in front."""
    order = _order(data_format)
    x = to_channels_last(x, order)
    dilation = tuple_of(dilation_rate, rank)
    if padding == "causal":
        left = dilation[0] * (kernel.shape.as_list()[0] - 1)
        x, padding = ops.pad(x, [[0, 0], [left, 0], [0, 0]]), "valid"
    out = ops.convolution(
        x, kernel, padding=padding.upper(), strides=tuple_of(strides, rank), dilation_rate=dilation
    )
    return from_channels_last(out, order)


def conv1d(
    x: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """A convolution over sequences."""
    return convolution(x, kernel, 1, strides, padding, data_format, dilation_rate)


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """A convolution over images."""
    return convolution(x, kernel, 2, strides, padding, data_format, dilation_rate)


def conv3d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1, 1),
) -> Any:
    """A convolution over volumes."""
    return convolution(x, kernel, 3, strides, padding, data_format, dilation_rate)


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """The transpose of a convolution over images, to the given shape of outputs."""
    if tuple_of(dilation_rate, 2) != (1, 1):
        raise NotImplementedError("conv2d_transpose: a dilation_rate above 1 is not part of TensorFleet.")
    order = _order(data_format)
    x = to_channels_last(x, order)
    sizes = list(output_shape) if isinstance(output_shape, (list, tuple)) else output_shape
    if isinstance(sizes, list):
        if order == "channels_first":
            sizes = [sizes[0], *sizes[2:], sizes[1]]
        if sizes[0] is None:
            sizes[0] = ops.shape(x)[0]
        known = [s if isinstance(s, int) else None for s in sizes]
        sizes = ops.stack(sizes)
    else:
        known = None
    height, width = tuple_of(strides, 2)
    out = ops.conv2d_transpose(x, kernel, sizes, strides=[1, height, width, 1], padding=padding.upper())
    if known is not None:
        out.set_shape(known)
    return from_channels_last(out, order)


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """A convolution of each channel by itself."""
    order = _order(data_format)
    height, width = tuple_of(strides, 2)
    out = ops.depthwise_conv2d(
        to_channels_last(x, order),
        depthwise_kernel,
        strides=[1, height, width, 1],
        padding=padding.upper(),
        rate=tuple_of(dilation_rate, 2),
    )
    return from_channels_last(out, order)


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """A convolution of each channel by itself, then one over the channels."""
    order = _order(data_format)
    height, width = tuple_of(strides, 2)
    out = ops.separable_conv2d(
        to_channels_last(x, order),
        depthwise_kernel,
        pointwise_kernel,
        strides=[1, height, width, 1],
        padding=padding.upper(),
        rate=tuple_of(dilation_rate, 2),
    )
    return from_channels_last(out, order)


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """The greatest values, or the means, of windows of images."""
    return pool(x, 2, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """The greatest values, or the means, of windows of volumes."""
    return pool(x, 3, pool_size, strides, padding, data_format, pool_mode)


def pool(
    x: Any, rank: int, pool_size: Any, strides: Any, padding: str, data_format: str | None, mode: str
) -> Any:
    """The greatest values ("max") or the means ("avg") of windows over `rank` dimensions."""
    if mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {mode}")
    order = _order(data_format)
    out = ops.pool(
        to_channels_last(x, order),
        list(tuple_of(pool_size, rank)),
        mode.upper(),
        padding.upper(),
        strides=list(tuple_of(strides, rank)),
    )
    return from_channels_last(out, order)


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> Any:
    """The labels of each row up to its length, a SparseTensor."""
    mask = ops.sequence_mask(label_lengths, ops.shape(labels)[1])
    indices = ops.where(mask)
    shape = ops.cast(ops.shape(labels), dtypes.int64)
    return ops.SparseTensor(indices, ops.gather_nd(labels, indices), shape)


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """The CTC loss of each row: probabilities (batch, time, classes), the last class is the blank.

    Args:
        y_true: labels, (batch, longest).
        input_length, label_length: the lengths, (batch, 1).
    """
    lengths = ops.cast(ops.squeeze(label_length, [-1]), dtypes.int32)
    sparse = ctc_label_dense_to_sparse(ops.cast(y_true, dtypes.int32), lengths)
    logits = ops.log(ops.transpose(y_pred, [1, 0, 2]) + epsilon())
    times = ops.cast(ops.squeeze(input_length, [-1]), dtypes.int32)
    return ops.expand_dims(ops.ctc_loss(labels=sparse, inputs=logits, sequence_length=times), 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> Any:
    """The most probable labels of probabilities (batch, time, classes): dense, -1 behind their end.

    Returns:
        A list of decoded labels, and the logarithm of their probabilities.
    """
    logits = ops.log(ops.transpose(y_pred, [1, 0, 2]) + epsilon())
    lengths = ops.cast(input_length, dtypes.int32)
    if greedy:
        decoded, log_prob = ops.ctc_greedy_decoder(inputs=logits, sequence_length=lengths)
    else:
        decoded, log_prob = ops.ctc_beam_search_decoder(
            inputs=logits, sequence_length=lengths, beam_width=beam_width, top_paths=top_paths
        )
    dense = [ops.sparse_to_dense(d.indices, d.dense_shape, d.values, default_value=-1) for d in decoded]
    return dense, log_prob
