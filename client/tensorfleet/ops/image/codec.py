"""Image files: decoding and encoding of JPEG, PNG, GIF and BMP (`tf.image.decode_jpeg`, …)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.image.color import convert_image_dtype
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.shape_rules import merge_dim, with_rank
from tensorfleet.ops.text.strings import substr


def _channels(op: RuleNode) -> int | None:
    channels: int = op.attrs["channels"]
    if channels < 0:
        raise ValueError(f"channels must be non-negative, got {channels}")
    return channels or None


def _image_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    return [(None, None, _channels(op))]


def _cropped_shape(op: RuleNode) -> list[Dims]:
    [shape] = _image_shape(op)
    merge_dim(with_rank(op.inputs[1].dims, 1)[0], 4)
    window = static_value(op.inputs[1])
    return [shape if window is None else (int(window[2]), int(window[3]), op.attrs["channels"] or None)]


def _gif_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    return [(None, None, None, 3)]


def _any_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    channels = _channels(op)
    return [None if op.attrs["expand_animations"] else (None, None, channels)]


def _encoded_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 3)
    return [()]


def _encoded_png_shape(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    if dims is not None and len(dims) < 3:
        raise ValueError(f"Shape must be at least rank 3 but is rank {len(dims)}")
    return [None if dims is None else dims[:-3]]


def _vector_of_three(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    return [(3,)]


_DECODE_JPEG = (
    "channels: int = 0",
    "ratio: int = 1",
    "fancy_upscaling: bool = true",
    "try_recover_truncated: bool = false",
    "acceptable_fraction: float = 1",
    'dct_method: string = ""',
)
op("DecodeJpeg(contents: string) -> (image: uint8)", *_DECODE_JPEG, shape=_image_shape)
op(
    "DecodeAndCropJpeg(contents: string, crop_window: int32) -> (image: uint8)",
    *_DECODE_JPEG,
    shape=_cropped_shape,
)
op(
    "DecodePng(contents: string) -> (image: dtype)",
    "channels: int = 0",
    "dtype: {uint8, uint16} = uint8",
    shape=_image_shape,
)
op("DecodeGif(contents: string) -> (image: uint8)", shape=_gif_shape)
op("DecodeBmp(contents: string) -> (image: uint8)", "channels: int = 0", shape=_image_shape)
op(
    "DecodeImage(contents: string) -> (image: dtype)",
    "channels: int = 0",
    "dtype: {uint8, uint16, float32} = uint8",
    "expand_animations: bool = true",
    shape=_any_shape,
)
op(
    "EncodeJpeg(image: uint8) -> (contents: string)",
    'format: {"", "grayscale", "rgb"} = ""',
    "quality: int = 95",
    "progressive: bool = false",
    "optimize_size: bool = false",
    "chroma_downsampling: bool = true",
    'density_unit: {"in", "cm"} = "in"',
    "x_density: int = 300",
    "y_density: int = 300",
    'xmp_metadata: string = ""',
    shape=_encoded_shape,
)
op(
    "EncodeJpegVariableQuality(images: uint8, quality: int32) -> (contents: string)",
    shape=_encoded_shape,
)
op(
    "EncodePng(image: T) -> (contents: string)",
    "compression: int = -1",
    "T: {uint8, uint16} = uint8",
    shape=_encoded_png_shape,
)
op(
    "ExtractJpegShape(contents: string) -> (image_shape: output_type)",
    "output_type: {int32, int64} = int32",
    shape=_vector_of_three,
)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG file, and of PNG, GIF and BMP files as well (`tf.image.decode_jpeg`).

    Args:
        contents: the file's bytes, of rank 0.
        channels: 1 for grey, 3 for RGB, 0 for as many as the file has.
        ratio: 1, 2, 4 or 8: the factor by which to reduce height and width.
        try_recover_truncated: decode the available part of a truncated file.

    Returns:
        uint8 of shape [height, width, channels].

    Raises:
        InvalidArgumentError: in a run: no image, or one of more pixels than the task's limit.
        FailedPreconditionError: in a run: the task has no codecs, see docs/images.md.
    """
    return apply_one(
        "DecodeJpeg",
        contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG file's pixels (`tf.image.decode_and_crop_jpeg`); see `decode_jpeg`.

    Args:
        crop_window: int32 [4]: row and column of the part's first pixel, then its height and width.
    """
    return apply_one(
        "DecodeAndCropJpeg",
        contents,
        crop_window,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Tensor:
    """The pixels of a PNG file, and of JPEG, GIF and BMP files as well (`tf.image.decode_png`).

    Args:
        channels: 1 for grey, 3 for RGB, 4 for RGBA, 0 for as many as the file has.
        dtype: uint8, or uint16 for files with 16 bits for a channel.
    """
    return apply_one("DecodePng", contents, channels=channels, dtype=dtype, name=name)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """All frames of a GIF file: uint8 of shape [frames, height, width, 3] (`tf.image.decode_gif`)."""
    return apply_one("DecodeGif", contents, name=name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file: uint8 of shape [height, width, channels] (`tf.image.decode_bmp`)."""
    return apply_one("DecodeBmp", contents, channels=channels, name=name)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a JPEG, PNG, GIF or BMP file (`tf.image.decode_image`).

    Args:
        channels: as for `decode_png`.
        dtype: the dtype of the result; pixels are scaled to its range as by `convert_image_dtype`.
        expand_animations: give all frames of a GIF, [frames, height, width, 3]; else the first one.
    """
    wanted = dtypes.as_dtype(dtype)
    known = wanted in (dtypes.float32, dtypes.uint8, dtypes.uint16)
    with name_scope(name, "decode_image"):
        image = apply_one(
            "DecodeImage",
            contents,
            channels=channels or 0,
            dtype=wanted if known else dtypes.uint16,
            expand_animations=expand_animations,
        )
        if not known:
            image = convert_image_dtype(image, wanted)
        if not expand_animations:
            image.set_shape([None, None, channels or None])
        return image


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """An image as a JPEG file (`tf.image.encode_jpeg`).

    Args:
        image: uint8 of shape [height, width, channels], with 1 channel (grey) or 3 (RGB).
        format: "grayscale" or "rgb"; "" for the one that fits the channels.
        quality: 0 to 100.
        optimize_size: use more time for a smaller file.
        chroma_downsampling: store colour at half the resolution.
        density_unit: "in" or "cm", the unit of `x_density` and `y_density`, which are in pixels per unit.
        xmp_metadata: XMP metadata to write into the file.
    """
    return apply_one(
        "EncodeJpeg",
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Images as PNG files (`tf.image.encode_png`).

    Args:
        image: uint8 or uint16 of shape [..., height, width, channels] with 1 channel (grey), 2 (grey and
            alpha), 3 (RGB) or 4 (RGBA).
        compression: 0 to 9, or -1 for the default.
    """
    return apply_one("EncodePng", convert_to_tensor(image), compression=compression, name=name)


def extract_jpeg_shape(contents: Any, output_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """[height, width, channels] of a JPEG file, without decoding it (`tf.image.extract_jpeg_shape`)."""
    return apply_one("ExtractJpegShape", contents, output_type=output_type, name=name)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a file has the signature of JPEG files (`tf.image.is_jpeg`)."""
    with name_scope(name, "is_jpeg"):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)
