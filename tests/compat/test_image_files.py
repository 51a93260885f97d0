"""Image files decoded and encoded beside TensorFlow: pixels, shapes, dtypes and classes of errors."""

from __future__ import annotations

import io
from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow
from PIL import Image

import tensorfleet as tf

_random = np.random.RandomState(3)
_y, _x = np.mgrid[:40, :56]
SMOOTH = np.stack([_x * 4, _y * 6, (_x + _y) * 2], axis=-1).astype(np.uint8)
NOISE = _random.randint(0, 256, (13, 17, 4)).astype(np.uint8)
WIDE = _random.randint(0, 65536, (6, 5, 4)).astype(np.uint16)


def _file(pixels: Any, kind: str, mode: str | None = None, **options: Any) -> bytes:
    target = io.BytesIO()
    image = Image.fromarray(pixels)
    (image.convert(mode) if mode else image).save(target, kind, **options)
    return target.getvalue()


def _gif(frames: int) -> bytes:
    images = [Image.fromarray(np.roll(SMOOTH, 5 * i, 1)) for i in range(frames)]
    target = io.BytesIO()
    images[0].save(target, "GIF", save_all=True, append_images=images[1:])
    return target.getvalue()


def _wide(channels: int) -> bytes:
    with tensorflow.Graph().as_default(), tensorflow.Session() as session:
        encoded: bytes = session.run(tensorflow.image.encode_png(WIDE[..., :channels]))
        return encoded


FILES: dict[str, bytes] = {
    "jpeg": _file(SMOOTH, "JPEG", quality=90),
    "jpeg, noise": _file(NOISE[..., :3], "JPEG", quality=50),
    "jpeg, not downsampled": _file(SMOOTH, "JPEG", subsampling=0),
    "jpeg, progressive": _file(SMOOTH, "JPEG", progressive=True),
    "jpeg, grey": _file(SMOOTH[..., 0], "JPEG"),
    "jpeg, CMYK": _file(SMOOTH, "JPEG", "CMYK"),
    "png": _file(NOISE[..., :3], "PNG"),
    "png, RGBA": _file(NOISE, "PNG"),
    "png, grey": _file(NOISE[..., 0], "PNG"),
    "png, grey and alpha": _file(NOISE[..., :3], "PNG", "LA"),
    "png, palette": _file(SMOOTH, "PNG", "P"),
    "png, palette with a transparent colour": _file(SMOOTH, "PNG", "P", transparency=3),
    "png, grey with a transparent colour": _file(NOISE[..., 0], "PNG", transparency=int(NOISE[0, 0, 0])),
    "png, RGB with a transparent colour": _file(
        NOISE[..., :3], "PNG", transparency=tuple(map(int, NOISE[0, 0, :3]))
    ),
    "png, 16 bits": _wide(3),
    "png, 16 bits grey": _wide(1),
    "png, 16 bits RGBA": _wide(4),
    "gif": _gif(1),
    "gif, three frames": _gif(3),
    "bmp": _file(SMOOTH, "BMP"),
    "bmp, odd": _file(NOISE[..., :3], "BMP"),
    "bmp, RGBA": _file(NOISE, "BMP"),
    "bmp, grey": _file(NOISE[..., 0], "BMP"),
    "nothing": b"",
    "something else": b"something else that is no image",
    "jpeg, cut off": _file(SMOOTH, "JPEG")[:600],
    "jpeg, damaged header": _file(SMOOTH, "JPEG")[:20],
    "png, cut off": _file(NOISE, "PNG")[:300],
    "png, damaged header": _file(NOISE, "PNG")[:20],
    "gif, cut off": _gif(3)[:80],
    "bmp, cut off": _file(SMOOTH, "BMP")[:300],
}


def _outcome(t: Any, contents: Any, call: Any) -> Any:
    graph = t.Graph()
    with graph.as_default(), t.Session(graph=graph) as session:
        try:
            made = call(t.image, t.constant(contents))
            shape = None if made.shape.ndims is None else made.shape.as_list()
            return shape, session.run(made)
        except (t.errors.OpError, ValueError, TypeError) as error:
            return type(error).__name__


def _compare(contents: Any, call: Any, most: float = 0) -> None:
    """`most`: by how much pixels may differ."""
    ours, theirs = _outcome(tf, contents, call), _outcome(tensorflow, contents, call)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    assert (ours[1].dtype, ours[1].shape) == (theirs[1].dtype, theirs[1].shape)
    assert np.abs(ours[1].astype(np.float64) - theirs[1]).max() <= most


def _rounding(name: str) -> int:
    """By how much pixels may differ: unless it is told otherwise, TensorFlow decodes JPEG less precisely."""
    return 3 if name.startswith("jpeg") else 0


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("jpeg")])
@pytest.mark.parametrize("channels", [0, 1, 3])
def test_jpegs_are_the_same_to_the_last_bit(name: str, channels: int) -> None:
    def call(image: Any, file: Any) -> Any:
        return image.decode_jpeg(file, channels=channels, dct_method="INTEGER_ACCURATE")

    _compare(FILES[name], call)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
@pytest.mark.parametrize("op", ["decode_jpeg", "decode_png", "decode_bmp", "decode_image"])
def test_decoded_as_by_tensorflow(name: str, channels: int, op: str) -> None:
    _compare(FILES[name], lambda image, file: getattr(image, op)(file, channels=channels), _rounding(name))


@pytest.mark.parametrize("name", FILES)
def test_all_frames(name: str) -> None:
    _compare(FILES[name], lambda image, file: image.decode_gif(file), _rounding(name))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("dtype", ["uint16", "float32", "float64", "int32"])
def test_other_dtypes(name: str, dtype: str) -> None:
    largest = {"uint16": 65535, "int32": 2**31 - 1}.get(dtype, 1)
    most = 1e-6 if largest == 1 else 0
    most += _rounding(name) * (largest + 1 if largest > 1 else 1) / 255
    _compare(FILES[name], lambda image, file: image.decode_image(file, dtype=dtype), most)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(("png", "jpeg", "gif"))])
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_wide_pngs(name: str, channels: int) -> None:
    _compare(
        FILES[name],
        lambda image, file: image.decode_png(file, channels, dtype="uint16"),
        256 * _rounding(name),
    )


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(("gif", "jpeg", "bmp", "png"))])
def test_only_the_first_frame(name: str) -> None:
    _compare(
        FILES[name], lambda image, file: image.decode_image(file, expand_animations=False), _rounding(name)
    )


@pytest.mark.parametrize(("ratio", "dct"), product((1, 2, 4, 8, 3), ("", "INTEGER_ACCURATE")))
def test_smaller_jpegs(ratio: int, dct: str) -> None:
    _compare(
        FILES["jpeg"],
        lambda image, file: image.decode_jpeg(file, ratio=ratio, dct_method=dct),
        0 if dct else 3,
    )


def test_a_jpeg_that_was_cut_off() -> None:
    def call(image: Any, file: Any) -> Any:
        return image.decode_jpeg(file, try_recover_truncated=True, acceptable_fraction=0.1)

    whole = FILES["jpeg"]
    part = whole[: len(whole) * 9 // 10]
    shape, pixels = _outcome(tf, part, call)
    assert (shape, pixels.shape) == ([None, None, None], SMOOTH.shape)
    np.testing.assert_array_equal(pixels[:8], _outcome(tf, whole, call)[1][:8])
    assert _outcome(tensorflow, part, call)[1].shape == SMOOTH.shape


@pytest.mark.parametrize(
    "window", [[3, 5, 20, 30], [0, 0, 40, 56], [0, 0, 41, 5], [-1, 0, 4, 5], [1, 1, 0, 5]]
)
def test_a_part_of_a_jpeg(window: list[int]) -> None:
    # At the part's edges TensorFlow interpolates colour from within it alone.
    _compare(
        FILES["jpeg, not downsampled"],
        lambda image, file: image.decode_and_crop_jpeg(file, window, dct_method="INTEGER_ACCURATE"),
    )


@pytest.mark.parametrize("name", ["jpeg", "jpeg, grey", "jpeg, CMYK", "png", "something else"])
def test_the_shape_of_a_jpeg(name: str) -> None:
    _compare(FILES[name], lambda image, file: image.extract_jpeg_shape(file, output_type="int64"))


@pytest.mark.parametrize("name", ["jpeg", "png", "nothing"])
def test_is_jpeg(name: str) -> None:
    if FILES[name]:
        _compare(FILES[name], lambda image, file: image.is_jpeg(file))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"quality": 30},
        {"quality": 100, "chroma_downsampling": False},
        {"progressive": True},
        {"optimize_size": True},
        {"format": "grayscale"},
        {"quality": 101},
        {"xmp_metadata": "<x/>", "x_density": 72, "density_unit": "cm"},
    ],
    ids=str,
)
@pytest.mark.parametrize("pixels", [SMOOTH, SMOOTH[..., :1], NOISE], ids=["RGB", "grey", "RGBA"])
def test_a_jpeg_is_encoded_as_by_tensorflow(pixels: Any, options: dict[str, Any]) -> None:
    """Both decode to the same pixels."""
    _compare(
        pixels,
        lambda image, x: image.decode_jpeg(image.encode_jpeg(x, **options), dct_method="INTEGER_ACCURATE"),
    )


def test_the_quality_of_a_jpeg() -> None:
    for quality in (5, 50, 95):
        _compare(
            SMOOTH,
            lambda image, x, quality=quality: image.adjust_jpeg_quality(x, quality, "INTEGER_ACCURATE"),
        )
        _compare(
            SMOOTH.astype(np.float32) / 255,
            lambda image, x, quality=quality: image.adjust_jpeg_quality(x, quality, "INTEGER_ACCURATE"),
            1e-6,
        )
    _compare(SMOOTH, lambda image, x: image.adjust_jpeg_quality(x, 101))
    _compare(SMOOTH, lambda image, x: image.random_jpeg_quality(x, 10, 90, seed=4), 3)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("compression", [-1, 0, 9])
def test_a_png_is_read_by_tensorflow(channels: int, kind: Any, compression: int) -> None:
    pixels = (NOISE if kind is np.uint8 else WIDE)[..., :channels]
    with tf.Graph().as_default(), tf.Session() as session:
        contents = session.run(tf.image.encode_png(pixels, compression))
    for t in (tf, tensorflow) if (channels, kind) != (2, np.uint16) else (tensorflow,):
        result = _outcome(t, contents, lambda image, file: image.decode_png(file, dtype=kind))
        np.testing.assert_array_equal(result[1], pixels)


def test_a_batch_of_pngs() -> None:
    batch = np.stack([NOISE, NOISE[::-1]])
    bits = _file(NOISE[..., 0], "PNG", "1")
    _compare(bits, lambda image, file: image.decode_png(file))
    with tf.Graph().as_default(), tf.Session() as session:
        files = session.run(tf.image.encode_png(batch))
        assert files.shape == (2,)
        np.testing.assert_array_equal(session.run(tf.image.decode_png(files[1])), NOISE[::-1])


@pytest.mark.parametrize("compression", [10, -2])
def test_no_such_compression(compression: int) -> None:
    _compare(NOISE, lambda image, x: image.encode_png(x, compression))
