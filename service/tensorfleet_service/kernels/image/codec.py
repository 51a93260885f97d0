"""Ops that decode and encode image files. Each decoder takes the formats that TensorFlow's takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.image import pillow
from tensorfleet_service.kernels.image.bmp import decode_bmp
from tensorfleet_service.kernels.image.common import Array
from tensorfleet_service.kernels.io.png import encode_png
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid, shape_text, string_array

_MAGIC = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF8": "GIF",
    b"BM": "BMP",
}


def _contents(value: Any) -> bytes:
    array = string_array(value)
    if array.ndim:
        raise invalid(f"`contents` must be scalar but got shape {shape_text(array.shape)}")
    return bytes(array[()])


def _kind(contents: bytes) -> str:
    for magic, kind in _MAGIC.items():
        if contents.startswith(magic):
            return kind
    if not contents:
        raise invalid("Input is empty.")
    raise invalid("Unknown image file format. One of JPEG, PNG, GIF, BMP required.")


def _scaled(pixels: Array, dtype: Any) -> Array:
    """Pixels of uint8 or uint16, scaled to the range of the dtype, which is 0 to 1 for floats."""
    if pixels.dtype == dtype:
        return pixels
    if dtype == np.float32:
        return pixels.astype(np.float32) * np.float32(1 / np.iinfo(pixels.dtype).max)
    return pixels.astype(np.uint16) * np.uint16(256)


_CHANNELS = {
    "DecodeJpeg": (0, 1, 3, 4),
    "DecodePng": (0, 1, 3, 4),
    "DecodeAndCropJpeg": (0, 1, 3, 4),
    "DecodeBmp": (0, 3, 4),
    "DecodeImage": (0, 1, 3, 4),
}


@kernel("DecodeJpeg", "DecodeAndCropJpeg", "DecodePng", "DecodeImage", "DecodeGif", "DecodeBmp")
def decode(node: KernelNode) -> Kernel:
    op, attrs = node.op, node.attrs
    channels = 3 if op == "DecodeGif" else attrs.get("channels", 0)
    if op in _CHANNELS and channels not in _CHANNELS[op]:
        raise invalid(f"`channels` must be one of {_CHANNELS[op]}, got {channels}")
    ratio, recover = attrs.get("ratio", 1), attrs.get("try_recover_truncated", False)
    if ratio not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    if attrs.get("dct_method", b"") not in (b"", b"INTEGER_FAST", b"INTEGER_ACCURATE"):
        raise invalid("dct_method must be one of '', 'INTEGER_FAST', 'INTEGER_ACCURATE'")
    dtype = np.dtype(node.output_types[0].as_numpy_dtype)
    if op != "DecodeBmp":
        pillow.pillow()

    def jpeg(contents: bytes) -> Array:
        made = _scaled(pillow.decode_jpeg(contents, channels, ratio, recover), dtype)
        return made[None] if op == "DecodeGif" else made

    def png(contents: bytes) -> Array:
        made = _scaled(pillow.decode_png(contents, channels, dtype != np.uint8), dtype)
        return made[None] if op == "DecodeGif" else made

    def gif(contents: bytes) -> Array:
        if channels not in (0, 3):
            raise invalid(f"channels must be 0 or 3 for GIF, got {channels}")
        if op == "DecodeAndCropJpeg":
            raise invalid("DecodeAndCropJpeg operation can run on JPEG only, but detected GIF.")
        all_frames = op == "DecodeGif" or attrs.get("expand_animations", False)
        frames = _scaled(pillow.decode_gif(contents, op == "DecodeImage" and not all_frames), dtype)
        if all_frames:
            return frames
        if len(frames) > 1:
            raise invalid(
                f"Got {len(frames)} frames, but animated gifs can only be decoded by tf.io.decode_gif or "
                "tf.io.decode_image"
            )
        first: Array = frames[0]
        return first

    def bmp(contents: bytes) -> Array:
        if channels not in (0, 3, 4):
            raise invalid(f"channels must be 0, 3 or 4 for BMP, got {channels}")
        if op not in ("DecodeBmp", "DecodeImage"):
            raise invalid(
                "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` instead. "
                f"Op used: {op}"
            )
        return _scaled(decode_bmp(contents, channels), dtype)

    decoders: dict[str, Callable[[bytes], Array]] = {"JPEG": jpeg, "PNG": png, "GIF": gif, "BMP": bmp}

    def run(contents: Any, window: Any = None) -> Any:
        data = _contents(contents)
        kind = _kind(data)
        if op == "DecodeBmp" and kind != "BMP":
            raise invalid(f"Trying to decode {kind} format using DecodeBmp op. Use `decode_image` instead.")
        if op == "DecodeGif" and kind == "BMP":
            raise invalid(f"Trying to decode {kind} format using DecodeGif op. Use `decode_image` instead.")
        if window is not None and kind != "JPEG":
            raise invalid(f"DecodeAndCropJpeg operation can run on JPEG only, but detected {kind}.")
        pixels = decoders[kind](data)
        if window is not None:
            pixels = _cropped(pixels, host_array(window))
        return node.xp.asarray(pixels)

    return run


def _cropped(pixels: Array, window: Array) -> Array:
    if window.shape != (4,):
        raise invalid(f"crop_window must have four elements {shape_text(window.shape)}")
    y, x, height, width = map(int, window)
    if min(y, x) < 0 or min(height, width) <= 0 or y + height > len(pixels) or x + width > pixels.shape[1]:
        raise invalid(
            f"Invalid JPEG data or crop window: {window.tolist()} is not within an image of "
            f"{pixels.shape[0]} x {pixels.shape[1]}"
        )
    return np.ascontiguousarray(pixels[y : y + height, x : x + width])


@kernel("ExtractJpegShape")
def extract_jpeg_shape(node: KernelNode) -> Kernel:
    wanted = node.attrs["output_type"].as_numpy_dtype
    pillow.pillow()
    return lambda contents: node.xp.asarray(np.array(pillow.jpeg_shape(_contents(contents)), wanted))


def _check_pixels(image: Array, channels: tuple[int, ...]) -> None:
    if image.ndim != 3:
        raise invalid(f"image must be 3-dimensional, got shape {shape_text(image.shape)}")
    if image.shape[2] not in channels:
        raise invalid(f"image must have {' or '.join(map(str, channels))} channels, got {image.shape[2]}")
    if 0 in image.shape or max(image.shape[:2]) > 65535:
        raise invalid(f"a JPEG image may not have shape {shape_text(image.shape)}")


@kernel("EncodeJpeg")
def encode_jpeg(node: KernelNode) -> Kernel:
    attrs = node.attrs
    wanted = {b"": (1, 3), b"grayscale": (1,), b"rgb": (3,)}[attrs["format"]]
    if not 0 <= attrs["quality"] <= 100:
        raise invalid(f"quality must be in [0,100], got {attrs['quality']}")
    per_inch = 1.0 if attrs["density_unit"] == b"in" else 2.54
    density = round(attrs["x_density"] * per_inch), round(attrs["y_density"] * per_inch)
    pillow.pillow()

    def run(image: Any) -> bytes:
        pixels = host_array(image)
        _check_pixels(pixels, wanted)
        return pillow.encode_jpeg(
            pixels,
            attrs["quality"],
            attrs["progressive"],
            attrs["optimize_size"],
            attrs["chroma_downsampling"],
            density,
            attrs["xmp_metadata"],
        )

    return run


@kernel("EncodeJpegVariableQuality")
def encode_jpeg_of_quality(node: KernelNode) -> Kernel:
    pillow.pillow()

    def run(image: Any, quality: Any) -> bytes:
        pixels = host_array(image)
        _check_pixels(pixels, (1, 3))
        number = host_array(quality)
        if number.ndim:
            raise invalid(f"quality must be scalar: {shape_text(number.shape)}")
        if not 0 <= int(number) <= 100:
            raise invalid(f"quality must be in [0,100], got {int(number)}")
        return pillow.encode_jpeg(pixels, int(number))

    return run


@kernel("EncodePng")
def encode_png_files(node: KernelNode) -> Kernel:
    compression = node.attrs["compression"]
    if not -1 <= compression <= 9:
        raise invalid(f"compression should be in [-1,9], got {compression}")

    def run(image: Any) -> Any:
        pixels = host_array(image)
        if pixels.ndim < 3:
            raise invalid(f"images must be at least rank 3, got shape {shape_text(pixels.shape)}")
        *batch, height, width, channels = pixels.shape
        if not 1 <= channels <= 4:
            raise invalid(f"image must have 1, 2, 3, or 4 channels, got {channels}")
        if not pixels.size:
            raise invalid(f"image must not be empty, got shape {shape_text(pixels.shape)}")
        if not batch:
            return encode_png(pixels, compression)
        files = np.empty(int(np.prod(batch)), object)
        files[:] = [encode_png(one, compression) for one in pixels.reshape(-1, height, width, channels)]
        return files.reshape(batch)

    return run
