"""ExtractImagePatches, ExtractVolumePatches and ExtractGlimpse."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.ops.image.patches import window_count
from tensorfleet_service.kernels.image.common import Array, check_rank, positive_size
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text


@host_kernel("ExtractImagePatches", "ExtractVolumePatches")
def extract_patches(node: KernelNode) -> Kernel:
    attrs = node.attrs
    rank = 5 if node.op == "ExtractVolumePatches" else 4
    windows, strides = attrs["ksizes"], attrs["strides"]
    rates = attrs.get("rates", [1] * rank)
    for name, values in (("ksizes", windows), ("strides", strides), ("rates", rates)):
        if len(values) != rank or values[0] != 1 or values[-1] != 1 or min(values) < 1:
            raise invalid(
                f"{name} must be {rank} positive numbers, 1 for batch and channels, got {list(values)}"
            )
    padding = attrs["padding"]
    axes = list(zip(windows[1:-1], strides[1:-1], rates[1:-1], strict=True))

    def run(images: Array) -> Array:
        check_rank(images, rank, "input")
        try:
            counts = [
                window_count(size, window, stride, rate, padding)
                for size, (window, stride, rate) in zip(images.shape[1:-1], axes, strict=True)
            ]
        except ValueError as e:
            raise invalid(str(e)) from None
        around, spans = [], []
        for size, count, (window, stride, rate) in zip(images.shape[1:-1], counts, axes, strict=True):
            needed = max(0, (count - 1) * stride + (window - 1) * rate + 1 - size)
            around.append((needed // 2, needed - needed // 2))
            spans.append((count, stride, window, rate))
        padded = np.pad(images, [(0, 0), *around, (0, 0)]) if padding == b"SAME" else images
        return _windows(padded, spans)

    return run


def _windows(images: Array, spans: list[tuple[int, int, int, int]]) -> Array:
    """The elements in each window, by rows: [batch, *counts, product of the window and channels]."""
    batch, *space, deep = images.strides
    between = [step * stride for step, (_, stride, _, _) in zip(space, spans, strict=True)]
    within = [step * rate for step, (_, _, _, rate) in zip(space, spans, strict=True)]
    counts, window = [span[0] for span in spans], [span[2] for span in spans]
    depth = images.shape[-1]
    shape = (len(images), *counts, *window, depth)
    seen = np.lib.stride_tricks.as_strided(images, shape, (batch, *between, *within, deep), writeable=False)
    return seen.reshape(len(images), *counts, int(np.prod(window)) * depth)


@host_kernel("ExtractGlimpse")
def extract_glimpse(node: KernelNode) -> Kernel:
    centered, normalized = node.attrs["centered"], node.attrs["normalized"]
    generator = np.random.Generator(np.random.SFC64())
    noise = node.attrs["noise"].decode()
    uniform = node.attrs["uniform_noise"] and noise == "uniform"

    def run(images: Array, size: Array, offsets: Array) -> Array:
        check_rank(images, 4, "input")
        height, width = positive_size(size)
        if offsets.shape != (len(images), 2):
            raise invalid(f"offsets must be [batch_size, 2], got shape {shape_text(offsets.shape)}")
        shape = (len(images), height, width, images.shape[3])
        if noise == "zero":
            result = np.zeros(shape, np.float32)
        elif uniform:
            result = generator.random(shape, np.float32)
        else:
            result = generator.standard_normal(shape, np.float32)
        for image, made, offset in zip(images, result, offsets, strict=True):
            begins = [
                _begin(float(at), n, window, centered, normalized)
                for at, n, window in zip(offset, image.shape[:2], (height, width), strict=True)
            ]
            _copy(image, made, begins)
        return result

    return run


def _begin(offset: float, size: int, window: int, centered: bool, normalized: bool) -> int:
    """The first pixel of a window along one axis."""
    at = offset * size if normalized else offset
    if centered:
        at = at / 2 + size / 2
    return int(at - window / 2)


def _copy(image: Any, made: Any, begins: list[int]) -> None:
    """Copies the part of a window that lies within the image."""
    source, target = [], []
    for begin, size, window in zip(begins, image.shape, made.shape, strict=False):
        first, last = max(begin, 0), min(begin + window, size)
        if first >= last:
            return
        source.append(slice(first, last))
        target.append(slice(first - begin, last - begin))
    made[tuple(target)] = image[tuple(source)]
