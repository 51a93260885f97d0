"""What all bijectors have in common (`tf.contrib.distributions.bijectors.Bijector`)."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.math.reduction import reduce_sum


class Bijector:
    """An invertible, differentiable function of events, with the determinant of its Jacobian.

    A bijector implements `_forward` and `_inverse`, and one of `_forward_log_det_jacobian` and
    `_inverse_log_det_jacobian`. What was computed forward is remembered: its inverse is what it
    came from.

    Args:
        graph_parents: the tensors that the bijector depends on.
        is_constant_jacobian: the Jacobian is the same for all values.
        validate_args: check values when the graph runs, at some cost.
        dtype: of values; any if it is None.
        forward_min_event_ndims: rank of the smallest event that is transformed as one.
        inverse_min_event_ndims: that of its image; the same by default.
        name: prefix of the names of its ops.
        event_ndims: the rank of events for determinants that are asked for without one.

    Raises:
        ValueError: no rank of events is given, or a negative one.
    """

    def __init__(
        self,
        graph_parents: Sequence[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
        event_ndims: int | None = None,
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
            )
        if forward_min_event_ndims is None:
            forward_min_event_ndims = inverse_min_event_ndims
        if inverse_min_event_ndims is None:
            inverse_min_event_ndims = forward_min_event_ndims
        for argument, ndims in (
            ("forward_min_event_ndims", forward_min_event_ndims),
            ("inverse_min_event_ndims", inverse_min_event_ndims),
        ):
            if ndims is None or ndims < 0:
                raise ValueError(f"{argument} must be a non-negative integer, not {ndims}.")
        self._forward_min_event_ndims: int = forward_min_event_ndims or 0
        self._inverse_min_event_ndims: int = inverse_min_event_ndims or 0
        self._graph_parents = list(graph_parents or [])
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._event_ndims = event_ndims
        self._name = name or type(self).__name__
        # By the tensor's identity; the tensors themselves are kept, so that no other one gets it.
        self._sources: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the bijector depends on."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """The rank of the smallest event that is transformed as one."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """The rank of the smallest event's image."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian is the same for all values."""
        return self._is_constant_jacobian

    @property
    def validate_args(self) -> bool:
        """Whether values are checked when the graph runs."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """The dtype of values, None for any."""
        return self._dtype

    @property
    def name(self) -> str:
        """Prefix of the names of its ops."""
        return self._name

    # ---- shapes

    def forward_event_shape(self, input_shape: Any) -> TensorShape:
        """The shape of an event's image, as far as it is known."""
        return TensorShape(self._forward_event_shape(TensorShape(input_shape)))

    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        return input_shape

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Tensor:
        """The shape of an event's image, an int32 vector."""
        with self._name_scope(name):
            return self._forward_event_shape_tensor(_vector(input_shape))

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return input_shape

    def inverse_event_shape(self, output_shape: Any) -> TensorShape:
        """The shape of the event that has an image of this shape, as far as it is known."""
        return TensorShape(self._inverse_event_shape(TensorShape(output_shape)))

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        return output_shape

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Tensor:
        """The shape of the event that has an image of this shape, an int32 vector."""
        with self._name_scope(name):
            return self._inverse_event_shape_tensor(_vector(output_shape))

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return output_shape

    # ---- values

    def _forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"forward not implemented: {type(self).__name__}")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"inverse not implemented: {type(self).__name__}")

    def forward(self, x: Any, name: str = "forward", **condition_kwargs: Any) -> Tensor:
        """The image of x.

        Args:
            condition_kwargs: further arguments of the bijector's `_forward`.
        """
        with self._name_scope(name):
            x = self._value(x, "x")
            y: Tensor = self._forward(x, **condition_kwargs)
            if y is not x and not condition_kwargs:
                self._sources[id(y)] = (y, x)
            return y

    def inverse(self, y: Any, name: str = "inverse", **condition_kwargs: Any) -> Tensor:
        """The value of which y is the image.

        Args:
            condition_kwargs: further arguments of the bijector's `_inverse`.
        """
        with self._name_scope(name):
            y = self._value(y, "y")
            known = None if condition_kwargs else self._sources.get(id(y))
            return known[1] if known is not None else self._inverse(y, **condition_kwargs)

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any = None, name: str = "forward_log_det_jacobian", **condition_kwargs: Any
    ) -> Tensor:
        """The logarithm of the magnitude of the determinant of the Jacobian at x.

        Args:
            event_ndims: the rank of x's events, which the result has no dimensions for; the smallest one
                by default.

        Raises:
            ValueError: the rank is below that of the smallest event, or not known.
        """
        with self._name_scope(name):
            x = self._value(x, "x")
            least = self._forward_min_event_ndims
            event_ndims = self._rank(event_ndims, least)
            if self._has("_forward_log_det_jacobian"):
                found: Tensor = self._forward_log_det_jacobian(x, **condition_kwargs)
            else:
                y = self.forward(x, **condition_kwargs)
                found = -self._inverse_log_det_jacobian(y, **condition_kwargs)
            return self._over_events(found, x, event_ndims, least)

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any = None, name: str = "inverse_log_det_jacobian", **condition_kwargs: Any
    ) -> Tensor:
        """The logarithm of the magnitude of the determinant of the inverse's Jacobian at y.

        Args:
            event_ndims: the rank of y's events, which the result has no dimensions for; the smallest one
                by default.

        Raises:
            ValueError: the rank is below that of the smallest event, or not known.
        """
        with self._name_scope(name):
            y = self._value(y, "y")
            least = self._inverse_min_event_ndims
            event_ndims = self._rank(event_ndims, least)
            known = None if condition_kwargs else self._sources.get(id(y))
            # The source of y is more precise than its inverse.
            if self._has("_forward_log_det_jacobian") and (
                known is not None or not self._has("_inverse_log_det_jacobian")
            ):
                x = self.inverse(y, **condition_kwargs)
                found: Tensor = -self._forward_log_det_jacobian(x, **condition_kwargs)
            else:
                found = self._inverse_log_det_jacobian(y, **condition_kwargs)
            return self._over_events(found, y, event_ndims, least)

    def _has(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Bijector, method)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"forward_log_det_jacobian not implemented: {type(self).__name__}")

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"inverse_log_det_jacobian not implemented: {type(self).__name__}")

    def _value(self, given: Any, name: str) -> Tensor:
        value: Tensor = convert_to_tensor(given, name=name, preferred_dtype=self._dtype)
        if self._dtype is not None and value.dtype.base_dtype != self._dtype.base_dtype:
            raise TypeError(
                f"Input had dtype {value.dtype.base_dtype.name}, expected {self._dtype.name}: {self._name}."
            )
        return value

    def _rank(self, event_ndims: Any, least: int) -> int:
        if event_ndims is None:
            event_ndims = max(least, self._event_ndims or 0)
        if isinstance(event_ndims, Tensor):
            known = static_value(event_ndims)
            if known is None:
                raise ValueError("event_ndims must be known when the graph is built.")
            event_ndims = known.item()
        rank = operator.index(event_ndims)
        if rank < least:
            raise ValueError(f"event_ndims ({rank}) must be at least {least}: {self._name}.")
        return rank

    def _over_events(self, found: Tensor, value: Tensor, event_ndims: int, least: int) -> Tensor:
        """The sum over the parts of events that are transformed each by itself."""
        parts = event_ndims - least
        if not parts:
            return found
        # A constant determinant has no dimensions for the parts.
        if self._is_constant_jacobian or (found.shape.ndims or 0) < parts:
            known = value.shape.as_list() if value.shape.ndims is not None else None
            first, last = -event_ndims, -least or None
            sizes = known[first:last] if known is not None else [None]
            every = sizes if None not in sizes else shape(value)[first:last]
            found = found * ones(every, found.dtype)
        return reduce_sum(found, list(range(-parts, 0)))

    @contextlib.contextmanager
    def _name_scope(self, name: str) -> Iterator[None]:
        with get_default_graph().name_scope(self._name), get_default_graph().name_scope(name):
            yield

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self._name}'>"


def _vector(shape: Any) -> Tensor:
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return convert_to_tensor(shape, dtype=dtypes.int32, name="event_shape")


class ConditionalBijector(Bijector):
    """A bijector whose function takes further arguments, by name."""
