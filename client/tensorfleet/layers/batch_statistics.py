"""The running averages of batch normalization, and batch renormalization by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.identity import identity, stop_gradient
from tensorfleet.ops.control_flow.smart_cond import smart_cond
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.elementwise import sqrt
from tensorfleet.ops.nn.activation import relu
from tensorfleet.ops.state.variable_ops import assign, assign_sub

_BOUNDS = ("rmax", "rmin", "dmax")


def moved(average: Any, value: Any, momentum: Any) -> Any:
    """The operation that moves a running average towards a value by 1 - momentum of their difference."""
    with framework.name_scope("AssignMovingAvg") as scope, framework.colocate_with(average.op):
        rest = 1.0 - momentum
        if not isinstance(rest, Tensor):
            rest = constant(rest, average.dtype.base, name="decay")
        return assign_sub(
            average, (convert_to_tensor(average) - cast(value, average.dtype.base)) * rest, name=scope
        )


class Renormalization:
    """Corrects what a batch is normalized to in training, so that it is like what the running averages give
    (batch renormalization; Ioffe, arXiv:1702.03275).

    Args:
        clipping: the bounds of the corrections r and d by "rmax", "rmin" and "dmax"; those left out are none.
        momentum: the fraction that an update keeps of the averages that are used in training.
        epsilon: the number that is added to variances.

    Raises:
        ValueError: `clipping` has another key.
    """

    def __init__(self, clipping: Mapping[str, Any] | None, momentum: float, epsilon: float) -> None:
        self.clipping: Mapping[str, Any] = clipping or {}
        if set(self.clipping) - set(_BOUNDS):
            raise ValueError(f"renorm_clipping {clipping} contains keys not in {list(_BOUNDS)}")
        self.momentum, self._epsilon = momentum, epsilon

    def build(
        self, add: Callable[[str, Any], Any], mean_initializer: Any, variance_initializer: Any
    ) -> tuple[Any, Any, Any]:
        """Makes the variables: `moving_stddev`, `renorm_mean` and `renorm_stddev`.

        Args:
            add: from the name and the initializer to a variable.
            mean_initializer, variance_initializer: those of the running averages.
        """

        def stddev_initializer(*args: Any, **kwargs: Any) -> Any:
            return sqrt(variance_initializer(*args, **kwargs))

        self._moving_stddev = add("moving_stddev", stddev_initializer)
        self._mean = add("renorm_mean", mean_initializer)
        self._stddev = add("renorm_stddev", stddev_initializer)
        return self._moving_stddev, self._mean, self._stddev

    def corrections(self, mean: Any, variance: Any, training: Any) -> tuple[Any, Any]:
        """r and d: a normalized value x becomes x * r + d. They are 1 and 0 where `training` is false."""
        # The averages may be near to zero in the beginning.
        spread = maximum(self._stddev, sqrt(constant(self._epsilon, mean.dtype)))
        r = sqrt(variance + self._epsilon) / spread
        d = (mean - self._mean) / spread
        # The averages are moved after these have been read.
        self._read = [r, d]
        bounds = self.clipping
        if (least := bounds.get("rmin")) is not None:
            r = maximum(r, least)
        if (most := bounds.get("rmax")) is not None:
            r = minimum(r, most)
        if (farthest := bounds.get("dmax")) is not None:
            d = minimum(maximum(d, -farthest), farthest)
        r = smart_cond(training, lambda: r, lambda: ones_like(r))
        d = smart_cond(training, lambda: d, lambda: zeros_like(d))
        return stop_gradient(r, name="renorm_r"), stop_gradient(d, name="renorm_d")

    def updates(
        self,
        mean: Any,
        variance: Any,
        moving_mean: Any,
        moving_variance: Any,
        momentum: float,
        training: Any,
    ) -> list[Tensor]:
        """The updates of all averages, after `corrections`; without effect where `training` is false."""

        def moves(average: Any, value: Any, kept: float) -> Any:
            return smart_cond(
                training, lambda: identity(moved(average, value, kept)), lambda: identity(average)
            )

        with framework.control_dependencies(self._read):
            new_mean, new_stddev = identity(mean), sqrt(identity(variance) + self._epsilon)
        first = [moves(self._mean, new_mean, self.momentum), moves(self._stddev, new_stddev, self.momentum)]
        with framework.control_dependencies(first):
            new_mean, new_variance = identity(mean), identity(variance)

        def move_variance() -> Any:
            # By the deviation, as in training; rounding may make the difference negative.
            stddev = identity(moved(self._moving_stddev, sqrt(new_variance + self._epsilon), momentum))
            return identity(assign(moving_variance, relu(stddev * stddev - self._epsilon)))

        return [
            moves(moving_mean, new_mean, momentum),
            smart_cond(training, move_variance, lambda: identity(moving_variance)),
        ]


def composed(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """The scale and the offset of two such steps, of which the second may lack one or both."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    if then_offset is not None:
        offset = offset + then_offset
    return scale, offset


def check_virtual_batches(size: int, axes: list[int], adjusted: bool) -> None:
    """Raises ValueError where a batch cannot be divided into virtual ones of this size."""
    if size <= 0:
        raise ValueError(
            "virtual_batch_size must be a positive integer that divides the true batch size of the input "
            f"Tensor. Received: {size}"
        )
    if 0 in axes:
        raise ValueError(
            "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0"
        )
    if adjusted:
        raise ValueError("When using virtual_batch_size, adjustment cannot be specified")
