"""Convolution and pooling over one to three dimensions: `tf.nn.convolution`, `tf.nn.pool`, `tf.nn.conv1d`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.batching import (
    batch_to_space_nd,
    required_space_to_batch_paddings,
    space_to_batch_nd,
)
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.shaping import expand_dims, shape, squeeze
from tensorfleet.ops.nn.conv import conv2d, conv2d_transpose
from tensorfleet.ops.nn.conv3d import conv3d, conv3d_transpose
from tensorfleet.ops.nn.pool import avg_pool, max_pool
from tensorfleet.ops.nn.pool3d import avg_pool3d, max_pool3d


def _image_format(data_format: str | None) -> str:
    """The data format of images of height 1 for that of sequences."""
    if data_format in (None, "NHWC", "NWC"):
        return "NHWC"
    if data_format in ("NCHW", "NCW"):
        return "NCHW"
    raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")


def _one(value: Any) -> int:
    """The number for the one dimension of space, from a number or a list of one for each dimension."""
    numbers = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(numbers) == 3:
        # Batch and channels have 1, so the data format does not matter.
        return int(numbers[1] if numbers[2] == 1 else numbers[2])
    return int(numbers[0])


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """One-dimensional convolution (`tf.nn.conv1d`).

    Args:
        value: [batch, width, channels], or [batch, channels, width] for "NCW". `input` is another name of it.
        filters: [width, channels in, channels out].
        stride, dilations: one number.
        padding: "SAME" or "VALID".

    Raises:
        ValueError: another data format.
    """
    value = input if value is None else value
    with name_scope(name, "conv1d", [value, filters]) as scope:
        image_format = _image_format(data_format)
        axis = 1 if image_format == "NHWC" else 2
        value = expand_dims(convert_to_tensor(value), axis)
        result = conv2d(
            value,
            expand_dims(filters, 0),
            strides=[1, _one(stride)],
            padding=padding,
            data_format=image_format,
            dilations=[1, _one(1 if dilations is None else dilations)],
            name=scope,
        )
        return squeeze(result, [axis])


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv1d`, which turns short sequences into long ones (`tf.nn.conv1d_transpose`).

    Args:
        filters: [width, channels out, channels in].
        output_shape: [batch, width, channels] of the result.
    """
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]):
        image_format = _image_format(data_format)
        axis = 1 if image_format == "NHWC" else 2
        sizes = convert_to_tensor(output_shape, name="output_shape", preferred_dtype=dtypes.int32)
        sizes = concat([sizes[:axis], [1], sizes[axis:]], 0)
        result = conv2d_transpose(
            expand_dims(convert_to_tensor(input), axis),
            expand_dims(filters, 0),
            sizes,
            strides=[1, _one(strides)],
            padding=padding,
            data_format=image_format,
            dilations=[1, _one(1 if dilations is None else dilations)],
        )
        return squeeze(result, [axis])


def _sizes(value: Any, rank: int, name: str) -> list[int]:
    numbers = [1] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    if len(numbers) == 1:
        return [int(numbers[0])] * rank
    if len(numbers) != rank:
        raise ValueError(f"`{name}` must be of length {rank}. Received: {name}={value}")
    return [int(n) for n in numbers]


def convolution(
    input: Any,
    filter: Any,
    padding: str,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolution over one, two or three dimensions, as many as the filter has (`tf.nn.convolution`).

    Args:
        filter: [..., channels in, channels out]. `filters` is another name of it.
        strides, dilation_rate: a number for each dimension that is convolved. `dilations` is another name.

    Raises:
        ValueError: another number of dimensions, or strides and dilations both other than 1.
    """
    filter = filters if filter is None else filter
    dilation_rate = dilations if dilation_rate is None else dilation_rate
    with name_scope(name, "convolution", [input, filter]) as scope:
        input, filter = convert_to_tensor(input, name="input"), convert_to_tensor(filter, name="filter")
        rank = (filter.ndim or input.ndim or 0) - 2
        if rank not in (1, 2, 3):
            raise ValueError(
                "`input` must have 1, 2 or 3 dimensions to convolve over, beside batch and channels. "
                f"Received: input.shape={input.shape} and filter.shape={filter.shape}"
            )
        steps, rates = _sizes(strides, rank, "strides"), _sizes(dilation_rate, rank, "dilation_rate")
        if max(steps) > 1 and max(rates) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={strides} and dilation_rate={dilation_rate}"
            )
        if rank == 1:
            return conv1d(input, filter, steps[0], padding, None, data_format, scope, dilations=rates[0])
        if rank == 2:
            return conv2d(
                input, filter, steps, padding, data_format=data_format or "NHWC", dilations=rates, name=scope
            )
        return conv3d(input, filter, steps, padding, data_format or "NDHWC", rates, name=scope)


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `convolution` (`tf.nn.conv_transpose`).

    Args:
        filters: [..., channels out, channels in].
        output_shape: the shape of the result.

    Raises:
        ValueError: the number of dimensions is not known, or not 1, 2 or 3.
    """
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        filters = convert_to_tensor(filters, name="filter")
        rank = (filters.ndim or 0) - 2
        if rank == 1:
            return conv1d_transpose(
                input, filters, output_shape, strides, padding, data_format or "NWC", dilations, scope
            )
        transpose = {2: conv2d_transpose, 3: conv3d_transpose}.get(rank)
        if transpose is None:
            raise ValueError(
                "`output_shape` must have 3, 4 or 5 dimensions, and `filters` as many. Received: "
                f"filters.shape={filters.shape}"
            )
        formats = {2: "NHWC", 3: "NDHWC"}
        return transpose(
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=data_format or formats[rank],
            dilations=dilations,
            name=scope,
        )


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Tensor:
    """`conv2d` with a filter whose elements are `rate` pixels apart (`tf.nn.atrous_conv2d`)."""
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """The transpose of `atrous_conv2d` (`tf.nn.atrous_conv2d_transpose`).

    Args:
        filters: [height, width, channels out, channels in].
        output_shape: the shape of the result.

    Raises:
        ValueError: `rate` is not positive.
    """
    if rate < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        return conv2d_transpose(
            value, filters, output_shape, strides=[1, 1], padding=padding, dilations=[rate, rate], name=scope
        )


def _pool1d(
    pool2d: Any, input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None
) -> Tensor:
    image_format = _image_format(data_format)
    axis = 1 if image_format == "NHWC" else 2
    images = expand_dims(convert_to_tensor(input), axis)
    result = pool2d(images, [1, _one(ksize)], [1, _one(strides)], padding, data_format=image_format)
    return squeeze(result, [axis])


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The greatest value in each window of sequences (`tf.nn.max_pool1d`).

    Args:
        input: [batch, width, channels], or [batch, channels, width] for "NCW".
        ksize, strides: one number.
    """
    with name_scope(name, "MaxPool1d", [input]):
        return _pool1d(max_pool, input, ksize, strides, padding, data_format)


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The mean of each window of sequences, without padding (`tf.nn.avg_pool1d`); see `max_pool1d`."""
    with name_scope(name, "AvgPool1D", [input]):
        return _pool1d(avg_pool, input, ksize, strides, padding, data_format)


def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Pooling over one, two or three dimensions, as many as the window has (`tf.nn.pool`).

    Args:
        window_shape, strides: a number for each dimension that is pooled.
        pooling_type: "MAX" or "AVG".

    Raises:
        ValueError: another type, another number of dimensions, or dilations beside strides or padding "SAME".
    """
    rank = len(window_shape)
    rates = _sizes(dilations if dilation_rate is None else dilation_rate, rank, "dilation_rate")
    steps = _sizes(strides, rank, "strides")
    if max(rates) > 1 and max(steps) > 1:
        raise ValueError(f"strides > 1 are not supported with dilations > 1: {steps} and {rates}")
    if padding == "SAME" and max(rates) > 1:
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
            f"Received: padding={padding} and dilation_rate={rates}"
        )
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(
            f"`pooling_type` must be either 'MAX' or 'AVG'. Received: pooling_type={pooling_type}"
        )
    functions: dict[tuple[str, int], Callable[..., Tensor]] = {
        ("MAX", 1): max_pool1d,
        ("MAX", 2): max_pool,
        ("MAX", 3): max_pool3d,
        ("AVG", 1): avg_pool1d,
        ("AVG", 2): avg_pool,
        ("AVG", 3): avg_pool3d,
    }
    function = functions.get((pooling_type, rank))
    if function is None:
        raise ValueError(f"`window_shape` must have 1, 2 or 3 numbers. Received: window_shape={window_shape}")
    formats = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
    data_format = data_format or formats[rank]
    with name_scope(name, "max_pool" if pooling_type == "MAX" else "avg_pool", [input]) as scope:

        def pooled(x: Any, _: int, padding: str) -> Tensor:
            return function(x, list(window_shape), steps, padding, data_format=data_format, name=scope)

        return with_space_to_batch(
            input, rates, padding, pooled, filter_shape=window_shape, data_format=data_format
        )


def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: str,
    op: Callable[..., Tensor],
    filter_shape: Any = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Tensor:
    """Applies an operation without dilations with them: to the parts of which batches are made
    (`tf.nn.with_space_to_batch`).

    Args:
        dilation_rate: for each dimension of space a number; of a known size.
        padding: "SAME" or "VALID".
        op: op(input, number of dimensions of space, padding).
        filter_shape: the sizes of the window, which "SAME" needs.
        spatial_dims: the dimensions of space, in ascending order; by default those behind the batch, or
            behind batch and channels.
        data_format: begins with "NC" where the channels come first.

    Raises:
        ValueError: arguments that do not fit together.
    """
    x = convert_to_tensor(input, name="input")
    rates = convert_to_tensor(dilation_rate, dtypes.int32, "dilation_rate")
    if rates.ndim != 1 or rates.dims is None or rates.dims[0] is None:
        raise ValueError(f"`dilation_rate` must be a vector of known size. Received: {rates.shape}")
    count = rates.dims[0]
    if spatial_dims is None:
        first = 2 if data_format is not None and data_format.startswith("NC") else 1
        spatial_dims = range(first, first + count)
    space = sorted({int(axis) for axis in spatial_dims})
    if len(space) != count or space != [int(axis) for axis in spatial_dims] or space[:1] < [1]:
        raise ValueError(
            f"`spatial_dims` must be {count} ascending axes from 1 on. Received: spatial_dims={spatial_dims}"
        )
    if x.ndim is not None and x.ndim <= space[-1]:
        raise ValueError(f"`input` must have rank {space[-1] + 1} at least. Received: rank {x.ndim}")
    known = static_value(rates)
    if known is not None and (known <= 0).any():
        raise ValueError(f"`dilation_rate` must be positive. Received: dilation_rate={known.tolist()}")
    if known is not None and (known == 1).all():
        return op(x, count, padding)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("`filter_shape` must be specified for `padding='SAME'`.")
        window = convert_to_tensor(filter_shape, dtypes.int32, "filter_shape")[:count]
        extra = (window - 1) * rates
        base: Any = stack([extra // 2, extra - extra // 2], 1)
        fixed = static_value(window)
        if fixed is not None and known is not None:
            extra_sizes = (fixed - 1) * known
            base = np.stack([extra_sizes // 2, extra_sizes - extra_sizes // 2], 1)
    elif padding == "VALID":
        base = np.zeros([count, 2], np.int32)
    else:
        raise ValueError(f"`padding` must be 'SAME' or 'VALID'. Received: padding={padding}")
    sizes: Any = None if x.dims is None else [x.dims[axis] for axis in space]
    if sizes is None or None in sizes:
        sizes = gather(shape(x), space)
    paddings, crops = required_space_to_batch_paddings(sizes, rates, base)
    # Dimensions between those of space stay whole.
    last = space[-1]
    rates, paddings, crops = (
        stack([t[space.index(a)] if a in space else rest for a in range(1, last + 1)])
        for t, rest in ((rates, 1), (paddings, [0, 0]), (crops, [0, 0]))
    )
    made = op(space_to_batch_nd(x, rates, paddings), count, "VALID")
    return batch_to_space_nd(made, rates, crops)
