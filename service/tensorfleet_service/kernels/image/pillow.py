"""JPEG, PNG and GIF files, read and written by Pillow.

The size that a file claims is checked before memory is allocated for its pixels. Pillow's decoders and
encoders release the interpreter's lock.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.image.common import Array
from tensorfleet_service.kernels.image.limits import MAX_PIXELS
from tensorfleet_service.kernels.values import invalid
from tensorfleet_service.threads.running import check as check_step

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

MISSING = (
    "Images are decoded and encoded by Pillow, which this task does not have: install the extra `images` of "
    "the service there (pip install 'tensorfleet-service[images]')."
)


def pillow() -> Any:
    """Pillow's module of images.

    Raises:
        FailedPreconditionError: it is not installed.
    """
    try:
        from PIL import Image
    except ImportError:
        raise errors.FailedPreconditionError(None, None, MISSING) from None
    return Image


@contextmanager
def opened(contents: bytes, kind: str) -> Iterator[ImageFile]:
    """An image file of a kind, such as "JPEG", of which only the header has been read.

    Raises:
        InvalidArgumentError: it is no such file, it is too large, or it is damaged. Damage may show only when
            the pixels are read.
    """
    from PIL import UnidentifiedImageError

    image_module = pillow()
    try:
        with image_module.open(io.BytesIO(contents), formats=(kind,)) as image:
            check_pixels(*image.size)
            yield image
    except UnidentifiedImageError:
        raise invalid(f"Invalid {kind} data, size {len(contents)}") from None
    except image_module.DecompressionBombError as e:
        raise invalid(f"The image is too large: {e}") from None
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, IndexError, KeyError, TypeError) as e:
        raise invalid(f"Invalid {kind} data or crop window, data size {len(contents)}: {e}") from None


def check_pixels(width: int, height: int, frames: int = 1) -> None:
    """Raises InvalidArgumentError where an image has more pixels than a task decodes."""
    if width <= 0 or height <= 0:
        raise invalid(f"An image of {width} x {height} has no pixels")
    if width * height * frames > MAX_PIXELS:
        raise invalid(
            f"An image of {width} x {height} pixels and {frames} frames is larger than a task decodes: "
            f"{MAX_PIXELS} pixels at most"
        )


def decode_jpeg(contents: bytes, channels: int = 0, ratio: int = 1, recover: bool = False) -> Array:
    """The pixels: uint8 [height, width, channels]."""
    if channels not in (0, 1, 3):
        raise invalid(f"channels must be 0, 1, or 3 for JPEG, got {channels}")
    # With an end marker behind it, a file that was cut off is decoded, and grey from there on.
    with opened(contents + b"\xff\xd9" if recover else contents, "JPEG") as image:
        mode = {1: "L", 3: "RGB"}.get(channels)
        if mode is not None or ratio > 1:
            width, height = image.size
            image.draft(mode, (max(1, width // ratio), max(1, height // ratio)))
        pixels = np.asarray(image)
        own_mode = image.mode
    if own_mode == "CMYK":
        if channels == 1:
            raise invalid("A JPEG file in CMYK cannot be decoded to grey")
        # Pillow gives full ink as 255.
        ink = pixels.astype(np.uint16)
        pixels = ((255 - ink[..., :3]) * (255 - ink[..., 3:]) // 255).astype(np.uint8)
    return _with_channels(pixels if pixels.ndim == 3 else pixels[..., None], channels)


def _with_channels(pixels: Array, channels: int) -> Array:
    if channels == 3 and pixels.shape[2] == 1:
        return np.broadcast_to(pixels, (*pixels.shape[:2], 3)).copy()
    return pixels


def jpeg_shape(contents: bytes) -> tuple[int, int, int]:
    """Height, width and channels."""
    with opened(contents, "JPEG") as image:
        return image.height, image.width, len(image.getbands())


_LOW_BYTES = {"RGB;16B": "RGB;16L", "RGBA;16B": "RGBA;16L"}
"""Raw modes with bytes swapped. Pillow keeps the upper bytes of 16-bit colours: by these, the lower ones."""


def decode_png(contents: bytes, channels: int = 0, wide: bool = False) -> Array:
    """The pixels: uint8, or uint16 if `wide`, [height, width, channels]."""
    with opened(contents, "PNG") as image:
        # Grey is made of all bits.
        pixels, has_key = _png_pixels(contents, image, wide, wide or channels in (1, 2))
    pixels = _png_channels(pixels, channels, has_key)
    if not wide and pixels.dtype == np.uint16:
        return (pixels >> 8).astype(np.uint8)
    return _widened(pixels) if wide and pixels.dtype == np.uint8 else pixels


def _png_pixels(contents: bytes, image: Any, wide: bool, exact: bool) -> tuple[Array, bool]:
    """The pixels in the channels of the file (RGB for palettes), and whether one more channel follows, which
    marks the pixels of the transparent colour.

    Args:
        wide: whether the result must have the lower bytes of 16-bit channels.
        exact: whether it has them where they can be read.
    """
    rawmode = str(image.tile[0][3]) if image.tile else image.mode
    has_key = "transparency" in image.info
    if image.mode == "P":
        return np.asarray(image.convert("RGBA" if has_key else "RGB")), False
    if has_key:
        alpha = np.asarray(image.convert("RGBA"))[..., 3:]
    pixels = np.asarray(image)
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8) * np.uint8(255)
    if image.mode.startswith("I"):
        pixels = pixels.astype(np.uint16)
    elif exact and rawmode in _LOW_BYTES:
        pixels = pixels.astype(np.uint16) << 8 | _low_bytes(contents, rawmode)
    elif wide and rawmode.endswith(";16B"):
        raise errors.UnimplementedError(
            None, None, "PNG files of grey and alpha with 16 bits are decoded as uint8 only"
        )
    pixels = pixels if pixels.ndim == 3 else pixels[..., None]
    if has_key:
        pixels = np.concatenate([pixels, _widened(alpha) if pixels.dtype == np.uint16 else alpha], axis=2)
    return pixels, has_key


def _low_bytes(contents: bytes, rawmode: str) -> Array:
    with opened(contents, "PNG") as image:
        image.tile = [tile._replace(args=_LOW_BYTES[rawmode]) for tile in image.tile]
        return np.asarray(image)


def _widened(pixels: Array) -> Array:
    """Pixels of uint8 as uint16, with 65535 for 255."""
    return pixels.astype(np.uint16) * np.uint16(257)


def _png_channels(pixels: Array, channels: int, has_key: bool) -> Array:
    """The pixels with the wanted number of channels."""
    count = pixels.shape[2]
    if channels == 0:
        # A transparent colour becomes an alpha channel only for palettes.
        return pixels[..., :-1] if has_key else pixels
    colours = pixels[..., : count - 1 + count % 2]
    if channels < 3 and colours.shape[2] == 3:
        colours = _png_grey(colours)
    elif channels >= 3 and colours.shape[2] == 1:
        colours = np.broadcast_to(colours, (*colours.shape[:2], 3)).copy()
    if channels % 2:
        return colours
    full = np.iinfo(pixels.dtype).max
    alpha = pixels[..., -1:] if count % 2 == 0 else np.full_like(pixels[..., :1], full)
    return np.concatenate([colours, alpha], axis=2)


def _png_grey(colours: Array) -> Array:
    """Grey as libpng computes it, which truncates 8-bit pixels."""
    red, green = 9797, 19234  # 0.299 and 0.587 of 2 ** 15
    weights = np.array([red, green, (1 << 15) - red - green], np.int64)
    rounding = 1 << 14 if colours.dtype == np.uint16 else 0
    grey: Array = (colours.astype(np.int64) @ weights + rounding) >> 15
    return grey.astype(colours.dtype)[..., None]


def decode_gif(contents: bytes, first_only: bool = False) -> Array:
    """The frames: uint8 [frames, height, width, 3], black where none has drawn."""
    with opened(contents, "GIF") as image:
        frames = []
        for number in range(1 if first_only else MAX_PIXELS):
            check_step()  # millions of small ones take long
            check_pixels(*image.size, number + 1)
            try:
                image.seek(number)
            except EOFError:
                break
            pixels = np.asarray(image.convert("RGBA"))
            frames.append(pixels[..., :3] * (pixels[..., 3:] != 0))
        return np.stack(frames)


def encode_jpeg(
    pixels: Array,
    quality: int,
    progressive: bool = False,
    optimize: bool = False,
    downsampling: bool = True,
    density: tuple[int, int] = (300, 300),
    xmp: bytes = b"",
) -> bytes:
    """A JPEG file of uint8 [height, width, 1 or 3]; `density` in pixels per inch."""
    made = pillow().fromarray(pixels[..., 0] if pixels.shape[2] == 1 else np.ascontiguousarray(pixels))
    target = io.BytesIO()
    options: dict[str, Any] = {"xmp": xmp} if xmp else {}
    try:
        made.save(
            target,
            "JPEG",
            quality=quality,
            progressive=progressive,
            optimize=optimize or progressive,
            subsampling=2 if downsampling else 0,
            dpi=density,
            **options,
        )
    except (OSError, ValueError) as e:
        raise invalid(f"JPEG encoding failed: {e}") from None
    return target.getvalue()
