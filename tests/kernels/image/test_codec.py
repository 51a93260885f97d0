"""Files that claim to be too large, tasks without a decoder, summaries, and a pipeline of files."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tensorfleet as tf
from tensorfleet.proto.summary_pb2 import Summary
from tensorfleet_service.kernels.image import pillow


def _decoded(contents: bytes, **options: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.decode_image(contents, **options))


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000)))


def _with_size(contents: bytes, width: int, height: int) -> bytes:
    """A GIF of one pixel that says it is larger."""
    return contents[:6] + struct.pack("<HH", width, height) + contents[10:]


def _bmp(width: int, height: int) -> bytes:
    return struct.pack("<2sIHHIIiiHH24x", b"BM", 0, 0, 0, 54, 40, width, height, 1, 24) + bytes(100)


def _gif() -> bytes:
    target = io.BytesIO()
    Image.fromarray(np.zeros((1, 1), np.uint8)).save(target, "GIF")
    return target.getvalue()


@pytest.mark.parametrize(
    "contents",
    [
        _png(100_000, 100_000),
        _png(2**31 - 1, 2**31 - 1),
        _with_size(_gif(), 65535, 65535),
        _bmp(100_000, 100_000),
        _bmp(2**31 - 1, -(2**31)),
    ],
    ids=["PNG", "the largest PNG", "GIF", "BMP", "the largest BMP"],
)
def test_a_file_that_claims_too_much_is_refused(contents: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"larger than|too large|Incomplete|Invalid"):
        _decoded(contents)


def test_the_frames_of_a_file_count(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [Image.fromarray(np.full((8, 8), 20 * i, np.uint8)) for i in range(5)]
    target = io.BytesIO()
    frames[0].save(target, "GIF", save_all=True, append_images=frames[1:])
    assert _decoded(target.getvalue()).shape == (5, 8, 8, 3)
    monkeypatch.setattr(pillow, "MAX_PIXELS", 4 * 64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="5 frames"):
        _decoded(target.getvalue())
    assert _decoded(target.getvalue(), expand_animations=False).shape == (8, 8, 3)


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    for call in (
        lambda: tf.image.decode_jpeg(b""),
        lambda: tf.image.encode_jpeg(np.zeros((2, 2, 3), np.uint8)),
        lambda: tf.image.extract_jpeg_shape(b""),
    ):
        with (
            tf.Graph().as_default(),
            tf.Session() as session,
            pytest.raises(tf.errors.FailedPreconditionError, match=r"tensorfleet-service\[images\]"),
        ):
            session.run(call())
    with tf.Graph().as_default(), tf.Session() as session:  # these two need no Pillow
        session.run(tf.image.encode_png(np.zeros((2, 2, 3), np.uint8)))
        session.run(tf.image.decode_bmp(_bmp(2, 2)))


def test_a_summary_is_written_as_by_encode_png() -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        made = session.run([tf.summary.image("image", pixels), tf.image.encode_png(pixels[0])])
    assert Summary.FromString(made[0]).value[0].image.encoded_image_string == made[1]


def test_a_pipeline_of_files(tmp_path: Path) -> None:
    """Files read, decoded, resized and batched by a dataset."""
    for i in range(6):
        Image.fromarray(np.full((10 + i, 12, 3), 40 * i, np.uint8)).save(tmp_path / f"{i}.png")

    def load(name: Any) -> Any:
        image = tf.image.decode_png(tf.read_file(name), channels=3)
        return tf.image.resize_images(tf.image.random_flip_left_right(image), [4, 4]) / 255.0

    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.data.Dataset.from_tensor_slices(sorted(map(str, tmp_path.iterdir())))
        batch = names.map(load, num_parallel_calls=2).batch(6).make_one_shot_iterator().get_next()
        assert batch.shape.as_list() == [None, 4, 4, 3]
        values = session.run(batch)
    np.testing.assert_allclose(values[:, 0, 0, 0], np.arange(6) * 40 / 255, rtol=1e-6)
