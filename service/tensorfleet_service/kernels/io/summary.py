"""Summaries: ScalarSummary, HistogramSummary, ImageSummary, AudioSummaryV2, MergeSummary, TensorSummaryV2."""

from __future__ import annotations

import struct
import sys
from functools import cache
from typing import Any

import numpy as np

from tensorfleet.core import tensor_util
from tensorfleet.core.long_texts import excerpt
from tensorfleet.proto.histogram_pb2 import HistogramProto
from tensorfleet.proto.summary_pb2 import Summary
from tensorfleet_service.kernels.io.png import encode_png
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_name, each_string, host_array, invalid, shape_text

Array = np.ndarray[Any, Any]

_VALUES = 1 << 12
"""Number of values that are written by one call, during which no other thread runs."""

_LARGEST = sys.float_info.max
_ZERO = 1e-6  # an image whose greatest value is less is black


def _tag(value: Any) -> str:
    tag = np.asarray(value, object)
    if tag.ndim:
        raise invalid("Tag must be a scalar")
    return _name(bytes(tag[()]))


def _name(tag: bytes) -> str:
    check_name(tag)
    return tag.decode("utf-8", "replace")


@kernel("ScalarSummary")
def scalar_summary(node: KernelNode) -> Kernel:
    def run(tags: Any, values: Any) -> bytes:
        names, numbers = np.asarray(tags, object), host_array(values)
        if names.shape != numbers.shape:
            which = f" (tag '{excerpt(names.reshape(-1)[0])}')" if names.size == 1 else ""
            raise invalid(
                f"tags and values are not the same shape: {shape_text(names.shape)} != "
                f"{shape_text(numbers.shape)}{which}"
            )
        summary, parts = Summary(), []
        for name, number in zip(each_string(names), each_string(numbers), strict=True):
            # A Python float, as protobuf turns one beyond float32 into infinity.
            summary.value.add(tag=_name(name), simple_value=float(number))
            if len(summary.value) == _VALUES:
                parts.append(summary.SerializeToString())
                summary = Summary()
        return b"".join((*parts, summary.SerializeToString()))

    return run


@cache
def _bucket_limits() -> Array:
    positive = [1e-12]
    while (following := positive[-1] * 1.1) < 1e20:
        positive.append(following)
    positive.append(_LARGEST)
    return np.array([*(-limit for limit in reversed(positive)), 0.0, *positive])


@kernel("HistogramSummary")
def histogram_summary(node: KernelNode) -> Kernel:
    def run(tag: Any, values: Any) -> bytes:
        numbers = host_array(values).astype(np.float64).reshape(-1)
        for wrong, word in ((np.isnan, "Nan"), (np.isinf, "Infinity")):
            if wrong(numbers).any():
                raise invalid(f"{word} in summary histogram for: {node.name}")
        summary = Summary()
        summary.value.add(tag=_tag(tag)).histo.CopyFrom(_histogram(numbers))
        return summary.SerializeToString()

    return run


def _histogram(numbers: Array) -> HistogramProto:
    limits = _bucket_limits()
    if not numbers.size:
        return HistogramProto(min=_LARGEST, max=-_LARGEST, bucket_limit=[_LARGEST], bucket=[0])
    places = np.searchsorted(limits, numbers, side="right").clip(max=limits.size - 1)
    counts = np.bincount(places, minlength=limits.size)
    # Of empty buckets in a row only the last is written, as the lower limit of the next.
    kept = counts > 0
    kept[:-1] |= counts[1:] > 0
    kept[-1] = True
    return HistogramProto(
        min=numbers.min(),
        max=numbers.max(),
        num=numbers.size,
        # Added one after the other, as in TensorFlow, so that the last bit is the same.
        sum=np.add.accumulate(numbers)[-1],
        sum_squares=np.add.accumulate(numbers * numbers)[-1],
        bucket_limit=limits[kept],
        bucket=counts[kept],
    )


@kernel("ImageSummary")
def image_summary(node: KernelNode) -> Kernel:
    limit, bad_color = node.attrs["max_images"], np.asarray(node.attrs["bad_color"])

    def run(tag: Any, tensor: Any) -> bytes:
        name, images = _tag(tag), host_array(tensor)
        if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
            raise invalid(f"Tensor must be 4-D with last dim 1, 3, or 4, not {shape_text(images.shape)}")
        if bad_color.dtype != np.uint8 or bad_color.size < images.shape[3]:
            raise invalid(
                f"expected the bad_color to be a uint8 vector of size >= {images.shape[3]}, not "
                f"{shape_text(bad_color.shape)} of {bad_color.dtype}"
            )
        summary = Summary()
        for i, image in enumerate(images[:limit]):
            pixels = image if image.dtype == np.uint8 else _normalized(image, bad_color)
            height, width, channels = pixels.shape
            value = summary.value.add(tag=f"{name}/image/{i}" if limit > 1 else f"{name}/image")
            value.image.height, value.image.width, value.image.colorspace = height, width, channels
            value.image.encoded_image_string = encode_png(pixels)
        return summary.SerializeToString()

    return run


def _normalized(image: Array, bad_color: Array) -> Array:
    """An image of floats as bytes; pixels that are not finite get `bad_color`."""
    good: Array = np.asarray(np.isfinite(image).all(axis=-1))
    lowest, highest = (image[good].min(), image[good].max()) if good.any() else (0.0, 0.0)
    if lowest < 0:
        largest, offset, full = max(abs(lowest), abs(highest)), 128, 127
    else:
        largest, offset, full = highest, 0, 255
    scale = 0.0 if largest < _ZERO else full / float(largest)
    kind = image.dtype.type
    scaled = np.where(good[..., None], image, kind(0)) * kind(scale) + kind(offset)
    return np.where(good[..., None], scaled.astype(np.uint8), bad_color[: image.shape[-1]])


@kernel("AudioSummaryV2")
def audio_summary(node: KernelNode) -> Kernel:
    limit = node.attrs["max_outputs"]

    def run(tag: Any, tensor: Any, sample_rate: Any) -> bytes:
        name, clips, rate = _tag(tag), host_array(tensor), float(sample_rate)
        if clips.ndim not in (2, 3):
            raise invalid(f"Tensor must be 3-D or 2-D, got: {shape_text(clips.shape)}")
        if rate <= 0:
            raise invalid("sample_rate must be > 0")
        summary = Summary()
        for i, clip in enumerate((clips if clips.ndim == 3 else clips[:, :, None])[:limit]):
            value = summary.value.add(tag=f"{name}/audio/{i}" if limit > 1 else f"{name}/audio")
            value.audio.sample_rate = rate
            value.audio.length_frames, value.audio.num_channels = clip.shape
            value.audio.encoded_audio_string = _wav(clip, round(rate))
            value.audio.content_type = "audio/wav"
        return summary.SerializeToString()

    return run


def _wav(clip: Array, rate: int) -> bytes:
    """A WAV file of 16-bit samples."""
    scaled = clip * np.float32(1 << 15)
    # Halves are rounded away from zero, as C does.
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    data = rounded.clip(-(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
    frame = 2 * clip.shape[1]
    described = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, clip.shape[1], rate, rate * frame, frame, 16)
    content = b"WAVE" + described + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(content)) + content


@kernel("MergeSummary")
def merge_summary(node: KernelNode) -> Kernel:
    def run(*inputs: Any) -> bytes:
        merged, tags = Summary(), set()
        for item in inputs:
            for content in np.asarray(item, object).reshape(-1):
                for value in Summary.FromString(content).value:
                    if value.tag in tags:
                        raise invalid(f"Duplicate tag {value.tag} found in summary inputs ")
                    tags.add(value.tag)
                    merged.value.append(value)
        return merged.SerializeToString()

    return run


@kernel("TensorSummaryV2")
def tensor_summary(node: KernelNode) -> Kernel:
    def run(tag: Any, tensor: Any, serialized_summary_metadata: Any) -> bytes:
        summary = Summary()
        value = summary.value.add(tag=_tag(tag))
        value.tensor.CopyFrom(tensor_util.to_proto(host_array(tensor)))
        value.metadata.SetInParent()
        value.metadata.MergeFromString(bytes(np.asarray(serialized_summary_metadata, object)[()]))
        return summary.SerializeToString()

    return run
