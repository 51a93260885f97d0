"""Local response normalization, and max pooling that also gives the positions of the maxima."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import ORDERED, apply_one
from tensorfleet.ops.nn.windows import spread, windows_of
from tensorfleet.ops.shape_rules import with_rank

_LRN = (
    "depth_radius: int = 5",
    "bias: float = 1.0",
    "alpha: float = 1.0",
    "beta: float = 0.5",
    "T: {float16, bfloat16, float32} = float32",
)
_POOL = (
    "ksize: list(int) >= 4",
    "strides: list(int) >= 4",
)
_PADDING = 'padding: {"SAME", "VALID"}'
_BATCH = "include_batch_in_index: bool = false"


def _images(op: RuleNode) -> list[Dims]:
    return [with_rank(op.inputs[0].dims, 4)]


def _pooled(op: RuleNode) -> list[Dims]:
    windows = windows_of(op.attrs)
    images, ksize = with_rank(op.inputs[0].dims, 4), op.attrs["ksize"]
    space = [windows.count(i, images[a], ksize[a]) for i, a in enumerate(windows.space_axes)]
    shape = windows.shape(images[0], space, images[3])
    return [shape, shape]


op("LRN(input: T) -> (output: T)", *_LRN, shape=_images)
op("LRNGrad(input_grads: T, input_image: T, output_image: T) -> (output: T)", *_LRN, shape=_images)
op(
    "MaxPoolWithArgmax(input: T) -> (output: T, argmax: Targmax)",
    *_POOL,
    "Targmax: {int32, int64} = int64",
    _PADDING,
    _BATCH,
    f"T: {{{ORDERED}}}",
    shape=_pooled,
)
op(
    "MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax) -> (output: T)",
    *_POOL,
    _PADDING,
    _BATCH,
    "Targmax: {int32, int64}",
    f"T: {{{ORDERED}}}",
    shape=_images,
)


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Each element divided by (bias + alpha · the sum of squares of neighbouring channels) ** beta
    (`tf.nn.lrn`, `tf.nn.local_response_normalization`).

    Args:
        input: [batch, height, width, channels].
        depth_radius: the number of neighbouring channels on each side.
    """
    return apply_one("LRN", input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest value in each window and its position (`tf.nn.max_pool_with_argmax`).

    Args:
        input: [batch, height, width, channels].
        ksize, strides, padding: as in `max_pool`.
        Targmax: the dtype of the positions, int64 by default. `output_dtype` is another name of it.
        include_batch_in_index: whether positions are in the whole batch, instead of one image.

    Returns:
        The values and their flat positions, (row · width + column) · channels + channel.

    Raises:
        ValueError: another data format, or both names of the dtype.
    """
    if data_format != "NHWC":
        raise ValueError(
            f"`data_format` values other  than 'NHWC' are not supported. Received: {data_format}"
        )
    if Targmax is not None and output_dtype is not None:
        raise ValueError("Cannot specify both 'output_dtype' and 'Targmax'.")
    dtype = Targmax if output_dtype is None else output_dtype
    values, places = apply_op(
        "MaxPoolWithArgmax",
        input,
        ksize=spread(ksize, "NHWC", "ksize"),
        strides=spread(strides, "NHWC", "strides"),
        padding=padding,
        Targmax=dtypes.int64 if dtype is None else dtypes.as_dtype(dtype),
        include_batch_in_index=include_batch_in_index,
        name=name,
    )
    return values, places
