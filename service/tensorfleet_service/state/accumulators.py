"""Conditional accumulators, which add up the gradients of a step and give the mean when there are enough."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, compatible, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.future import Future

log = logging.getLogger(__name__)


class Accumulator:
    """Sums of dense gradients (`ResourceConditionalAccumulator`).

    Args:
        name: for messages.
        dtype, shape: of the gradients; the shape may be partly unknown.
        mean: whether the result is the mean, or the sum.
    """

    def __init__(self, name: str, dtype: DType, shape: Dims, mean: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.mean = mean
        self.count = 0
        self._step = 0
        self._lock = threading.Lock()
        self._taking: deque[tuple[int, Future]] = deque()
        self._sum: Any = None

    def read(self) -> Any:
        """The value of a fetched reference to the accumulator: its container and name."""
        return np.array([b"", self.name.encode()], object)

    def set_global_step(self, step: int) -> None:
        """Sets the step; gradients of earlier steps are dropped from now on."""
        with self._lock:
            if step < self._step:
                log.warning(
                    "Attempt to set current_global_step_ to smaller value: current_global_step_ = %d >= %d = "
                    "new_global_step.",
                    self._step,
                    step,
                )
            self._step = step

    def apply(self, step: int, *gradient: Any) -> None:
        """Adds a gradient of the step, unless it is from an earlier one.

        Raises:
            InvalidArgumentError: it has another shape.
        """
        ended = None
        with self._lock:
            if step < self._step:
                return
            self._add(*gradient)
            self.count += 1
            if self._taking and self._taking[0][0] <= self.count:
                ended = self._taking.popleft()[1], self._give()
        if ended is not None:
            ended[0].complete(ended[1])

    def take(self, required: int) -> Any:
        """The input of `result`, when `required` gradients have been added; a Future until then.

        The next gradients are those of the following step.

        Raises:
            InvalidArgumentError: `required` is not positive.
        """
        if required <= 0:
            text = f"Argument num_required must be positive, but was {required}"
            raise errors.InvalidArgumentError(None, None, text)
        with self._lock:
            if not self._taking and self.count >= required:
                return self._give()
            future = Future(self._cancel, self)
            self._taking.append((required, future))
        return future

    def waits_for(self, future: Future) -> str:
        """A description of what a step that takes the mean waits for."""
        with self._lock:
            required = next((number for number, other in self._taking if other is future), 0)
            return f"the accumulator '{self.name}' has {self.count} of {required} gradients"

    def _cancel(self, future: Future) -> None:
        ended = None
        with self._lock:
            self._taking = deque(entry for entry in self._taking if entry[1] is not future)
            if self._taking and self._taking[0][0] <= self.count:
                ended = self._taking.popleft()[1], self._give()
        if ended is not None:
            ended[0].complete(ended[1])

    def close(self) -> None:
        """Cancels those who wait, as the accumulator is dropped."""
        with self._lock:
            waiting = [future for _, future in self._taking]
            self._taking.clear()
        for future in waiting:
            future.complete(None, errors.CancelledError(None, None, "TakeGrad operation was cancelled"))

    def _give(self) -> Any:
        """Takes out the sum and the number of gradients in it; under the lock."""
        given = self._sum, self.count
        self._sum, self.count = None, 0
        self._step += 1
        return given

    # Differences of the kinds

    def _add(self, *parts: Any) -> None:
        (gradient,) = parts
        expected = self.shape if self._sum is None else self._sum.shape
        if not compatible(expected, gradient.shape) or not compatible(self.shape, gradient.shape):
            raise _mismatch(expected, gradient.shape)
        # The first gradient may be shared; only a sum of two is the accumulator's own array.
        if self._sum is None:
            self._sum = gradient
        elif gradient.ndim and self.count > 1:
            self._sum += gradient
        else:
            self._sum = self._sum + gradient

    def result(self, given: Any) -> Any:
        """The mean, or the sum, from what `take` gave."""
        total, count = given
        if not self.mean or count == 1:
            return total
        divisor = total.dtype.type(count)
        if total.ndim and total.dtype.kind == "f":
            return np.divide(total, divisor, out=total)
        return (total / divisor).astype(total.dtype)


class SparseAccumulator(Accumulator):
    """Sums of gradients that are rows of a tensor (`SparseConditionalAccumulator`).

    Each row is divided by the number of gradients that had that row.
    """

    def _add(self, *parts: Any) -> None:
        indices, values, shape, has_shape = parts
        if indices.ndim != 1:
            raise _invalid(f"Input indices should be vector but received shape: {format_dims(indices.shape)}")
        if not values.ndim:
            raise _invalid("Values cannot be a scalar.")
        if len(values) != len(indices):
            raise _invalid(
                f"Number of indices does not match that of values: {len(indices)} and {len(values)}"
            )
        row = values.shape[1:]
        expected = self.shape[1:] if self.shape is not None else None
        if not compatible(expected, row):
            raise _mismatch(expected, row)
        if self._sum is not None and self._sum[1].shape[1:] != row:
            raise _mismatch(self._sum[1].shape[1:], row)
        if has_shape and not compatible(self.shape, tuple(np.asarray(shape).tolist())):
            raise _mismatch(self.shape, tuple(np.asarray(shape).tolist()))
        own, _, places, _ = unlocked.unique(indices)
        sums = np.zeros((len(own), *row), values.dtype)
        unlocked.at(np.add, sums, places, values)
        counts = np.ones(len(own), np.int64)
        if self._sum is not None:
            old_indices, old_sums, old_counts = self._sum
            all_indices, _, places, _ = unlocked.unique(np.concatenate([old_indices, own]))
            total = np.zeros((len(all_indices), *row), values.dtype)
            unlocked.at(np.add, total, places, np.concatenate([old_sums, sums]))
            number = np.zeros(len(all_indices), np.int64)
            unlocked.at(np.add, number, places, np.concatenate([old_counts, counts]))
            own, sums, counts = all_indices, total, number
        self._sum = own, sums, counts

    def result(self, given: Any) -> Any:
        """Indices, values and dense shape, whose first size is -1 where it is unknown."""
        (indices, values, counts), _ = given
        if self.mean:
            values = (values / counts.reshape(-1, *[1] * (values.ndim - 1))).astype(values.dtype)
        first = self.shape[0] if self.shape else None
        return indices, values, np.array([-1 if first is None else first, *values.shape[1:]], np.int64)


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)


def _mismatch(expected: Dims, got: Dims) -> errors.OpError:
    return _invalid(f"Shape mismatch: expected {format_dims(expected)}, got {format_dims(got)}")
