"""Bijectors of other bijectors, and of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.distributions.bijectors.base import Bijector
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor


class Inline(Bijector):
    """A bijector of functions (`bijectors.Inline`).

    Args:
        forward_fn: of x.
        inverse_fn: of y.
        inverse_log_det_jacobian_fn: of y.
        forward_log_det_jacobian_fn: of x; one of both is enough.
        forward_event_shape_fn: of a TensorShape; by default shapes stay.
        forward_event_shape_tensor_fn: of an int32 vector.
        inverse_event_shape_fn: of a TensorShape.
        inverse_event_shape_tensor_fn: of an int32 vector.
    """

    def __init__(
        self,
        forward_fn: Callable[..., Tensor] | None = None,
        inverse_fn: Callable[..., Tensor] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Tensor] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Tensor] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Tensor] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Tensor] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            forward_min_event_ndims = 0
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            name=name,
        )
        self._functions: dict[str, Callable[..., Any] | None] = {
            "forward": forward_fn,
            "inverse": inverse_fn,
            "inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "forward_event_shape": forward_event_shape_fn,
            "forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "inverse_event_shape": inverse_event_shape_fn,
            "inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }

    def _has(self, method: str) -> bool:
        return self._functions[method.removeprefix("_")] is not None

    def _call(self, method: str, *values: Any, **condition_kwargs: Any) -> Any:
        function = self._functions[method]
        if function is None:
            raise NotImplementedError(f"Cannot {method}: {method}_fn was not given to `Inline`.")
        return function(*values, **condition_kwargs)

    def _forward(self, x: Tensor, **condition_kwargs: Any) -> Tensor:
        found: Tensor = self._call("forward", x, **condition_kwargs)
        return found

    def _inverse(self, y: Tensor, **condition_kwargs: Any) -> Tensor:
        found: Tensor = self._call("inverse", y, **condition_kwargs)
        return found

    def _forward_log_det_jacobian(self, x: Tensor, **condition_kwargs: Any) -> Tensor:
        found: Tensor = self._call("forward_log_det_jacobian", x, **condition_kwargs)
        return found

    def _inverse_log_det_jacobian(self, y: Tensor, **condition_kwargs: Any) -> Tensor:
        found: Tensor = self._call("inverse_log_det_jacobian", y, **condition_kwargs)
        return found

    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        return (
            self._call("forward_event_shape", input_shape)
            if self._has("forward_event_shape")
            else input_shape
        )

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        if not self._has("forward_event_shape_tensor"):
            return input_shape
        found: Tensor = self._call("forward_event_shape_tensor", input_shape)
        return found

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        return (
            self._call("inverse_event_shape", output_shape)
            if self._has("inverse_event_shape")
            else output_shape
        )

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        if not self._has("inverse_event_shape_tensor"):
            return output_shape
        found: Tensor = self._call("inverse_event_shape_tensor", output_shape)
        return found


class Invert(Bijector):
    """The inverse of a bijector (`bijectors.Invert`)."""

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(
            graph_parents=bijector.graph_parents,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            name=name or f"invert_{bijector.name}",
        )
        self._bijector = bijector

    @property
    def bijector(self) -> Bijector:
        """The bijector of which this is the inverse."""
        return self._bijector

    def _forward(self, x: Tensor, **condition_kwargs: Any) -> Tensor:
        return self._bijector.inverse(x, **condition_kwargs)

    def _inverse(self, y: Tensor, **condition_kwargs: Any) -> Tensor:
        return self._bijector.forward(y, **condition_kwargs)

    def _forward_log_det_jacobian(self, x: Tensor, **condition_kwargs: Any) -> Tensor:
        return self._bijector.inverse_log_det_jacobian(x, self._forward_min_event_ndims, **condition_kwargs)

    def _inverse_log_det_jacobian(self, y: Tensor, **condition_kwargs: Any) -> Tensor:
        return self._bijector.forward_log_det_jacobian(y, self._inverse_min_event_ndims, **condition_kwargs)

    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        return self._bijector.inverse_event_shape(input_shape)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return self._bijector.inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        return self._bijector.forward_event_shape(output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return self._bijector.forward_event_shape_tensor(output_shape)


class Chain(Bijector):
    """Bijectors one after the other, the last first: `Chain([Exp(), Affine()])(x)` is exp of affine of x.

    Args:
        bijectors: the identity if there are none.
    """

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._bijectors = list(bijectors or [])
        kinds = {bijector.dtype for bijector in self._bijectors if bijector.dtype is not None}
        if len(kinds) > 1:
            raise ValueError(f"The bijectors have several dtypes: {sorted(kind.name for kind in kinds)}.")
        # From the smallest event of one bijector through the others, which may ask for greater ones.
        forward, inverse = 0, 0
        for bijector in reversed(self._bijectors):
            more = max(0, bijector.forward_min_event_ndims - inverse)
            forward += more
            inverse += more + bijector.inverse_min_event_ndims - bijector.forward_min_event_ndims
        super().__init__(
            graph_parents=[parent for bijector in self._bijectors for parent in bijector.graph_parents],
            is_constant_jacobian=all(bijector.is_constant_jacobian for bijector in self._bijectors),
            validate_args=validate_args,
            dtype=next(iter(kinds), None),
            forward_min_event_ndims=forward,
            inverse_min_event_ndims=inverse,
            name=name
            or (
                "_of_".join(["chain", *(bijector.name for bijector in self._bijectors)])
                if self._bijectors
                else "identity"
            ),
        )

    @property
    def bijectors(self) -> list[Bijector]:
        """The bijectors, the last one to be computed first."""
        return self._bijectors

    def _arguments(self, bijector: Bijector, condition_kwargs: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = condition_kwargs.get(bijector.name, {})
        return found

    def _forward(self, x: Tensor, **condition_kwargs: Any) -> Tensor:
        for bijector in reversed(self._bijectors):
            x = bijector.forward(x, **self._arguments(bijector, condition_kwargs))
        return x

    def _inverse(self, y: Tensor, **condition_kwargs: Any) -> Tensor:
        for bijector in self._bijectors:
            y = bijector.inverse(y, **self._arguments(bijector, condition_kwargs))
        return y

    def _forward_log_det_jacobian(self, x: Tensor, **condition_kwargs: Any) -> Tensor:
        total: Tensor = convert_to_tensor(0, dtype=x.dtype)
        ndims = self._forward_min_event_ndims
        for bijector in reversed(self._bijectors):
            further = self._arguments(bijector, condition_kwargs)
            total = total + bijector.forward_log_det_jacobian(x, ndims, **further)
            x = bijector.forward(x, **further)
            ndims += bijector.inverse_min_event_ndims - bijector.forward_min_event_ndims
        return total

    def _inverse_log_det_jacobian(self, y: Tensor, **condition_kwargs: Any) -> Tensor:
        total: Tensor = convert_to_tensor(0, dtype=y.dtype)
        ndims = self._inverse_min_event_ndims
        for bijector in self._bijectors:
            further = self._arguments(bijector, condition_kwargs)
            total = total + bijector.inverse_log_det_jacobian(y, ndims, **further)
            y = bijector.inverse(y, **further)
            ndims += bijector.forward_min_event_ndims - bijector.inverse_min_event_ndims
        return total

    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        for bijector in reversed(self._bijectors):
            input_shape = bijector.forward_event_shape(input_shape)
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        for bijector in reversed(self._bijectors):
            input_shape = bijector.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        for bijector in self._bijectors:
            output_shape = bijector.inverse_event_shape(output_shape)
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        for bijector in self._bijectors:
            output_shape = bijector.inverse_event_shape_tensor(output_shape)
        return output_shape
