"""Distributions that have all of their probability at one value."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
)
from tensorfleet.distributions.parameters import (
    arguments,
    dynamic_batch,
    parameters_after,
    static_batch,
)
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.debugging.checks import assert_non_negative
from tensorfleet.ops.math.comparison import less_equal
from tensorfleet.ops.math.elementwise import abs
from tensorfleet.ops.math.reduction import reduce_all


class Deterministic(Distribution):
    """A number that is certain (`tf.contrib.distributions.Deterministic`).

    Args:
        loc: the number.
        atol: by how much a value may differ from it; 0 by default.
        rtol: by which share of its magnitude; 0 by default.
    """

    _event_ndims = 0

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            loc = convert_to_tensor(loc, name="loc")
            if self._event_ndims and loc.shape.ndims == 0:
                raise ValueError("Argument loc must be at least rank 1.")
            tolerances = [convert_to_tensor(0 if t is None else t, dtype=loc.dtype) for t in (atol, rtol)]
            checks = [assert_non_negative(t) for t in tolerances] if validate_args else []
            self._loc, self._atol, self._rtol = parameters_after(
                checks, loc=loc, atol=tolerances[0], rtol=tolerances[1]
            )
        super().__init__(
            *(self._loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._loc, self._atol, self._rtol], scope),
        )

    @property
    def loc(self) -> Tensor:
        """The number."""
        return self._loc

    @property
    def atol(self) -> Tensor:
        """By how much a value may differ from it."""
        return self._atol

    @property
    def rtol(self) -> Tensor:
        """By which share of its magnitude a value may differ from it."""
        return self._rtol

    def _slack(self) -> Tensor:
        return self._atol + self._rtol * abs(self._loc)

    def _split(self, known: TensorShape) -> int | None:
        return None if known.ndims is None else known.ndims - self._event_ndims

    def _batch_shape(self) -> Any:
        known = static_batch(self._loc, self._slack())
        return known if known.ndims is None else known[: self._split(known)]

    def _batch_shape_tensor(self) -> Tensor:
        dims = dynamic_batch(self._loc, self._slack())
        return dims[: shape(dims)[0] - self._event_ndims]

    def _event_shape(self) -> Any:
        known = static_batch(self._loc, self._slack())
        return [None] * self._event_ndims if known.ndims is None else known[self._split(known) :]

    def _event_shape_tensor(self) -> Tensor:
        dims = dynamic_batch(self._loc, self._slack())
        return dims[shape(dims)[0] - self._event_ndims :]

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([n[None], dynamic_batch(self._loc, self._slack())], 0)
        return self._loc + zeros(dims, self.dtype)

    def _prob(self, x: Tensor) -> Tensor:
        return cast(self._near(x), self.dtype)

    def _near(self, x: Tensor) -> Tensor:
        return less_equal(abs(x - self._loc), self._slack())

    def _cdf(self, x: Tensor) -> Tensor:
        return cast(x >= self._loc - self._slack(), self.dtype)

    def _entropy(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Tensor:
        return self._loc + zeros_like(self._slack())

    def _mode(self) -> Tensor:
        return self._mean()

    def _variance(self) -> Tensor:
        return zeros_like(self._mean())


class VectorDeterministic(Deterministic):
    """A vector that is certain (`tf.contrib.distributions.VectorDeterministic`).

    Args:
        loc: the vector, [..., size].
        atol: by how much each element of a value may differ from its own; 0 by default.
        rtol: by which share of its magnitude; 0 by default.
    """

    _event_ndims = 1

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _prob(self, x: Tensor) -> Tensor:
        return cast(reduce_all(self._near(x), -1), self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        raise self._lacks("cdf")
