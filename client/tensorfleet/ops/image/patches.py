"""Patches of images and volumes, and glimpses at images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import renamed_argument
from tensorfleet.ops.common import ORDERED
from tensorfleet.ops.shape_rules import merge_dim, multiply_dims, with_rank


def window_count(size: int, window: int, stride: int, rate: int, padding: bytes) -> int:
    """The number of windows along a dimension.

    Raises:
        ValueError: a window is larger than the input.
    """
    span = (window - 1) * rate + 1
    count = -(-size // stride) if padding == b"SAME" else (size - span + stride) // stride
    if count < 0 or (padding == b"VALID" and size < span):
        raise ValueError(
            f"Computed output size would be negative: {count} [input_size: {size}, "
            f"effective_filter_size: {span}, stride: {stride}]"
        )
    return count


def _patches_shape(op: RuleNode) -> list[Dims]:
    windows, strides = op.attrs["ksizes"], op.attrs["strides"]
    rank = 5 if op.type == "ExtractVolumePatches" else 4
    rates = op.attrs.get("rates", [1] * rank)
    batch, *sizes, channels = with_rank(op.inputs[0].dims, rank)
    names = [("ksizes", windows), ("strides", strides)] + ([("rates", rates)] if rank == 4 else [])
    for name, values in names:
        if len(values) != rank:
            raise ValueError(
                f"{op.type} requires the {name} attribute to contain {rank} values, but got: {len(values)}"
            )
    counts = [
        None if size is None else window_count(size, window, stride, rate, op.attrs["padding"])
        for size, window, stride, rate in zip(sizes, windows[1:-1], strides[1:-1], rates[1:-1], strict=True)
    ]
    return [(batch, *counts, multiply_dims([channels, *windows[1:-1]]))]


def _glimpse_shape(op: RuleNode) -> list[Dims]:
    images, offsets = with_rank(op.inputs[0].dims, 4), with_rank(op.inputs[2].dims, 2)
    merge_dim(offsets[1], 2)
    merge_dim(with_rank(op.inputs[1].dims, 1)[0], 2)
    size = static_dims(op.inputs[1])
    if static_value(op.inputs[1]) is None:
        size = None
    height, width = (None, None) if size is None else size
    return [(merge_dim(images[0], offsets[0]), height, width, images[3])]


op(
    "ExtractImagePatches(images: T) -> (patches: T)",
    "ksizes: list(int) >= 4",
    "strides: list(int) >= 4",
    "rates: list(int) >= 4",
    "T: {bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64,"
    " complex64, complex128, bool}",
    'padding: {"SAME", "VALID"}',
    shape=_patches_shape,
)
op(
    "ExtractVolumePatches(input: T) -> (patches: T)",
    "ksizes: list(int) >= 5",
    "strides: list(int) >= 5",
    f"T: {{{ORDERED}}}",
    'padding: {"SAME", "VALID"}',
    shape=_patches_shape,
)
op(
    "ExtractGlimpse(input: float32, size: int32, offsets: float32) -> (glimpse: float32)",
    "centered: bool = true",
    "normalized: bool = true",
    "uniform_noise: bool = true",
    'noise: string = "uniform"',
    shape=_glimpse_shape,
)


def extract_image_patches(
    images: Any,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """The patches in a sliding window over images (`tf.extract_image_patches`).

    Args:
        images: of shape [batch, height, width, channels].
        ksizes: the window, [1, height, width, 1]. `sizes` is its newer name.
        strides: the steps of the window, [1, height, width, 1].
        rates: the distance between neighbouring pixels of a window, [1, height, width, 1].
        padding: "SAME" or "VALID".

    Returns:
        [batch, rows, columns, height * width * channels] of the windows.
    """
    window = renamed_argument("sizes", sizes, "ksizes", ksizes)
    return apply_one(
        "ExtractImagePatches", images, ksizes=window, strides=strides, rates=rates, padding=padding, name=name
    )


def extract_patches(
    images: Any,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """`tf.extract_image_patches` under its newer name (`tf.image.extract_patches`)."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def extract_volume_patches(
    input: Any, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> Tensor:
    """The patches in a sliding window through volumes (`tf.extract_volume_patches`).

    Args:
        input: of shape [batch, depth, height, width, channels].
        ksizes, strides: the window and its steps, [1, depth, height, width, 1].
        padding: "SAME" or "VALID".
    """
    return apply_one(
        "ExtractVolumePatches", input, ksizes=ksizes, strides=strides, padding=padding, name=name
    )


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of each image, at its own offset (`tf.image.extract_glimpse`).

    Args:
        input: float32 of shape [batch, height, width, channels].
        size: int32 [2]: height and width of the windows.
        offsets: float32 [batch, 2]: the windows' centres.
        centered: offsets are relative to the image's centre.
        normalized: -1 and 1 are the ends of the image; else offsets are in pixels.
        uniform_noise: fill what lies outside of the image with uniform noise, else with normal noise.
    """
    return apply_one(
        "ExtractGlimpse",
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )
