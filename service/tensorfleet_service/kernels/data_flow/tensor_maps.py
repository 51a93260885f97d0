"""Maps from tensors to tensors, which are values: an op that changes a map gives a new one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.data_flow.tensor_lists import stacked
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import boxed, host_array, invalid
from tensorfleet_service.kernels.variant_messages import decoder, is_variant
from tensorfleet_service.kernels.variants import Variant, unboxed

_NAME = "tensorflow::TensorMap"
Key = tuple[Any, ...]


class TensorMap(Variant):
    """The keys and values of a map. Keys are equal if dtype, shape and elements are."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[Key, tuple[Any, Any]]) -> None:
        self.entries = entries

    def parts(self) -> tuple[str, bytes, list[Any]]:
        """Keys and values in turn."""
        return _NAME, b"", [item for pair in self.entries.values() for item in pair]


@decoder(_NAME)
def _decode(metadata: bytes, tensors: list[Any]) -> TensorMap:
    if len(tensors) % 2:
        raise ValueError("a map has a key without a value")
    pairs = zip(tensors[::2], tensors[1::2], strict=True)
    return TensorMap({_key(key): (boxed(key), value) for key, value in pairs})


def _key(value: Any) -> Key:
    if is_variant(value):
        raise invalid("A variant cannot be the key of a map")
    array = host_array(value)
    content = tuple(array.ravel().tolist()) if array.dtype == object else array.tobytes()
    return array.dtype.str, array.shape, content


def _checked(value: Any) -> TensorMap:
    value = unboxed(value)
    if not isinstance(value, TensorMap):
        raise invalid(f"Input handle is not a map. Saw: '{type(value).__name__}'")
    return value


@kernel("EmptyTensorMap")
def empty(node: KernelNode) -> Kernel:
    return lambda: TensorMap({})


@kernel("TensorMapSize")
def size(node: KernelNode) -> Kernel:
    return lambda found: np.int32(len(_checked(found).entries))


@kernel("TensorMapLookup")
def lookup(node: KernelNode) -> Kernel:
    def run(found: Any, key: Any) -> Any:
        entry = _checked(found).entries.get(_key(key))
        if entry is None:
            raise invalid("Trying to lookup non-existent key. Could not find key in the map.")
        return entry[1]

    return run


@kernel("TensorMapInsert")
def insert(node: KernelNode) -> Kernel:
    def run(found: Any, key: Any, value: Any) -> TensorMap:
        return TensorMap({**_checked(found).entries, _key(key): (boxed(key), value)})

    return run


@kernel("TensorMapErase")
def erase(node: KernelNode) -> Kernel:
    def run(found: Any, key: Any) -> TensorMap:
        wanted = _key(key)
        entries = _checked(found).entries
        if wanted not in entries:
            raise invalid("Trying to erase non-existent item. Could not find key in the map.")
        return TensorMap({k: v for k, v in entries.items() if k != wanted})

    return run


@kernel("TensorMapHasKey")
def has_key(node: KernelNode) -> Kernel:
    return lambda found, key: np.bool_(_key(key) in _checked(found).entries)


@kernel("TensorMapStackKeys")
def stack_keys(node: KernelNode) -> Kernel:
    def run(found: Any) -> Any:
        keys = [key for key, _ in _checked(found).entries.values()]
        if not keys:
            raise invalid("TensorMapStackKeys cannot be called on empty map.")
        if any(key.shape != keys[0].shape for key in keys):
            raise invalid("Keys of different shapes cannot be stacked")
        return stacked(node, keys)

    return run
