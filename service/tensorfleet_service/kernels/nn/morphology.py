"""Kernels of `tensorfleet.ops.nn.morphology`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads.running import check as check_step


class _Windows:
    """The positions of the windows of a dilation in an image."""

    def __init__(self, node: KernelNode, images: Any, window: Any) -> None:
        strides, rates = node.attrs["strides"], node.attrs["rates"]
        if images.ndim != 4 or window.ndim != 3:
            raise invalid(
                f"input must be 4-dimensional and filter 3-dimensional: {shape_text(images.shape)} and "
                f"{shape_text(window.shape)}"
            )
        if images.shape[3] != window.shape[2]:
            raise invalid(
                f"input and filter must have the same depth: {images.shape[3]} vs {window.shape[2]}"
            )
        self.steps, self.rates = strides[1:3], rates[1:3]
        self.size = images.shape[1:3]
        self.extent = window.shape[:2]
        self.out, self.before = [], []
        for size, extent, step, rate in zip(self.size, self.extent, self.steps, self.rates, strict=True):
            reach = (extent - 1) * rate + 1
            if node.attrs["padding"] == b"SAME":
                out = -(-size // step)
                padding = max(0, (out - 1) * step + reach - size)
            else:
                out, padding = (size - reach + step) // step, 0
                if out < 0:
                    raise invalid(f"Computed output size would be negative: {out}")
            self.out.append(out)
            self.before.append(padding // 2)

    def shape(self, images: Any) -> tuple[int, ...]:
        return (len(images), *self.out, images.shape[3])

    def places(self) -> Iterator[tuple[int, int, tuple[slice, slice], tuple[slice, slice]]]:
        """The position of each element of the filter, with its slices of the outputs and of the inputs."""
        for i in range(self.extent[0]):
            for j in range(self.extent[1]):
                check_step()
                sides = [self._side(axis, at) for axis, at in ((0, i), (1, j))]
                if all(side is not None for side in sides):
                    (rows, from_rows), (columns, from_columns) = sides  # type: ignore[misc]
                    yield i, j, (rows, columns), (from_rows, from_columns)

    def _side(self, axis: int, at: int) -> tuple[slice, slice] | None:
        step, shift = self.steps[axis], at * self.rates[axis] - self.before[axis]
        first = max(0, -(shift // step))
        last = min(self.out[axis] - 1, (self.size[axis] - 1 - shift) // step)
        if last < first:
            return None
        start = first * step + shift
        return slice(first, last + 1), slice(start, (last * step + shift) + 1, step)


def _least(xp: Any, dtype: Any) -> Any:
    if dtype.kind in "iu":
        return xp.iinfo(dtype).min
    return dtype.type(
        -65504 if dtype.itemsize == 2 and dtype.kind == "f" else _LOWEST.get(dtype.name, "-inf")
    )


_LOWEST = {"float32": -3.4028234663852886e38, "float64": -1.7976931348623157e308, "bfloat16": -3.3895314e38}


def _swept(xp: Any, windows: _Windows, images: Any, window: Any, keeps_places: bool) -> tuple[Any, Any]:
    """The greatest sums, and, if wanted, the index of the filter's element in each."""
    best = xp.full(windows.shape(images), _least(xp, images.dtype), images.dtype)
    chosen = xp.zeros(best.shape, int) if keeps_places else None
    for i, j, (rows, columns), (from_rows, from_columns) in windows.places():
        sums = images[:, from_rows, from_columns] + window[i, j]
        part = best[:, rows, columns]
        if chosen is not None:
            chosen[:, rows, columns][sums > part] = i * windows.extent[1] + j
        xp.fmax(part, sums, out=part)  # Passes over NaNs, as the comparison does.
    return best, chosen


@kernel("Dilation2D")
def dilation(node: KernelNode) -> Kernel:
    xp = node.xp
    return lambda images, window: _swept(xp, _Windows(node, images, window), images, window, False)[0]


@kernel("Dilation2DBackpropInput", "Dilation2DBackpropFilter")
def dilation_grad(node: KernelNode) -> Kernel:
    xp, of_input = node.xp, node.op.endswith("Input")

    def run(images: Any, window: Any, gradient: Any) -> Any:
        windows = _Windows(node, images, window)
        if gradient.shape != windows.shape(images):
            raise invalid(
                f"out_backprop must have shape {shape_text(windows.shape(images))}, got "
                f"{shape_text(gradient.shape)}"
            )
        _, chosen = _swept(xp, windows, images, window, True)
        result = xp.zeros_like(images if of_input else window)
        for i, j, (rows, columns), (from_rows, from_columns) in windows.places():
            part = gradient[:, rows, columns]
            taken = xp.where(chosen[:, rows, columns] == i * windows.extent[1] + j, part, part.dtype.type(0))
            if of_input:
                result[:, from_rows, from_columns] += taken
            else:
                result[i, j] += taken.sum((0, 1, 2), dtype=taken.dtype)
        return result

    return run
