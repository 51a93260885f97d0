"""Optional values, and iterators that give one instead of failing at their end."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import compatible, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet_service.data.iterator import IteratorResource
from tensorfleet_service.kernels.functions.function_ops import library_of
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid
from tensorfleet_service.kernels.variant_messages import decoder, dtype_of
from tensorfleet_service.kernels.variants import Variant, plus, unboxed, zeros_like
from tensorfleet_service.threads.drive import drive
from tensorfleet_service.threads.future import Future

_NAME = "tensorflow::data::Optional"


class Optional(Variant):
    """The components of a value, or None if there is none."""

    __slots__ = ("components", "types")

    def __init__(self, components: tuple[Any, ...] | None, types: list[DType] | None = None) -> None:
        self.components = components
        self.types = types

    def zeros_like(self, xp: Any) -> Optional:
        if self.components is None:
            return self
        return Optional(tuple(zeros_like(item, xp) for item in self.components), self.types)

    def parts(self) -> tuple[str, bytes, list[Any]]:
        return _NAME, bytes([self.components is not None]), list(self.components or ())

    def plus(self, other: Any) -> Optional:
        """The sum. Raises InvalidArgumentError if only one of the two has a value."""
        second = _checked(other)
        if self.components is None or second.components is None:
            if self.components is second.components:
                return self
            raise invalid("Cannot add optionals of which one has no value.")
        if len(self.components) != len(second.components):
            raise invalid("Cannot add optionals because they have different numbers of components.")
        pairs = zip(self.components, second.components, strict=True)
        return Optional(tuple(plus(a, b) for a, b in pairs), self.types)


@decoder(_NAME)
def _decode(metadata: bytes, tensors: list[Any]) -> Optional:
    return Optional(tuple(tensors) if metadata[0] else None)


def _checked(value: Any) -> Optional:
    value = unboxed(value)
    if not isinstance(value, Optional):
        raise invalid(f"Input is not an Optional but {type(value).__name__}")
    return value


@kernel("OptionalFromValue")
def from_value(node: KernelNode) -> Kernel:
    types = list(node.attrs["Toutput_types"])
    return lambda *components: Optional(components, types)


@kernel("OptionalNone")
def none(node: KernelNode) -> Kernel:
    return lambda: Optional(None)


@kernel("OptionalHasValue")
def has_value(node: KernelNode) -> Kernel:
    return lambda value: np.bool_(_checked(value).components is not None)


@kernel("OptionalGetValue")
def get_value(node: KernelNode) -> Kernel:
    types, shapes = node.attrs["output_types"], node.attrs["output_shapes"]

    def run(value: Any) -> Any:
        found = _checked(value)
        components = found.components
        if components is None:
            raise invalid("The given optional does not have a value.")
        if len(components) != len(types):
            raise invalid(
                f"The given optional has {len(components)} components, expected {len(types)} components."
            )
        for index, (item, dtype, dims) in enumerate(zip(components, types, shapes, strict=True)):
            own = found.types[index] if found.types is not None else dtype_of(item)
            if own is not dtype:
                raise invalid(
                    f"The given optional does not match the expected type for component {index}. Expected: "
                    f"{dtype.name}. Actual: {own.name}."
                )
            shape = getattr(item, "shape", ())
            if not compatible(dims, shape):
                raise invalid(
                    f"The given optional does not match the expected shape for component {index}. "
                    f"Expected: {format_dims(dims)}. Actual: {format_dims(shape)}."
                )
        return components if len(components) != 1 else components[0]

    return run


@kernel("IteratorGetNextAsOptional", blocking=True)
def get_next_as_optional(node: KernelNode) -> AsyncKernel:
    types, pool = list(node.attrs["output_types"]), library_of(node).pool

    def wait(future: Future) -> Generator[Future, Any, Optional]:
        try:
            element = yield future
        except errors.OutOfRangeError:
            return Optional(None)
        return Optional(tuple(element), types)

    def run(iterator: IteratorResource) -> Any:
        try:
            found = iterator.get_next()
        except errors.OutOfRangeError:
            return Optional(None)
        if type(found) is Future:
            return drive(wait(found), pool)
        return Optional(tuple(found), types)  # type: ignore[arg-type]

    return AsyncKernel(run)
