"""SerializeIterator and DeserializeIterator: the position of an iterator as a value that checkpoints keep."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet_service.data.dataset import Call, Dataset
from tensorfleet_service.data.experimental import Listed
from tensorfleet_service.data.iterator import IteratorResource
from tensorfleet_service.data.position import State
from tensorfleet_service.kernels.functions.function_ops import library_of
from tensorfleet_service.kernels.registry import AsyncKernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_handle, invalid
from tensorfleet_service.kernels.variant_messages import decoder
from tensorfleet_service.kernels.variants import Variant, unboxed
from tensorfleet_service.threads.future import Future

log = logging.getLogger(__name__)

_WARN, _IGNORE, _FAIL = range(3)


class IteratorState(Variant):
    """The state of an iterator: JSON, in which the tensors have numbers."""

    __slots__ = ("tensors", "text")

    NAME = "tensorfleet::IteratorState"

    def __init__(self, text: bytes, tensors: list[Any]) -> None:
        self.text = text
        self.tensors = tensors

    def parts(self) -> tuple[str, bytes, list[Any]]:
        return self.NAME, self.text, self.tensors

    @classmethod
    def of(cls, state: State) -> IteratorState:
        """The value of a state. Raises UnimplementedError: it has elements that cannot be kept."""
        tensors: list[Any] = []
        return cls(json.dumps(_encoded(state, tensors)).encode(), tensors)

    def state(self) -> State:
        """The state. Raises InvalidArgumentError: the value is damaged."""
        try:
            found = _decoded(json.loads(self.text), self.tensors)
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as e:
            raise invalid(f"The saved position of an iterator is damaged: {e}") from None
        if not isinstance(found, dict):
            raise invalid("The saved position of an iterator is damaged: it has no names")
        return found


decoder(IteratorState.NAME)(IteratorState)


def _encoded(value: Any, tensors: list[Any]) -> Any:
    if value is None or type(value) in (bool, int):
        return value
    if isinstance(value, dict):
        return {"dict": [[_encoded(key, tensors), _encoded(item, tensors)] for key, item in value.items()]}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, list | tuple):
        if value and isinstance(value, list) and all(type(item) is bytes for item in value):
            strings = np.empty(len(value), object)
            strings[:] = value
            return {"strings": _number(strings, tensors)}
        return {type(value).__name__: [_encoded(item, tensors) for item in value]}
    if isinstance(value, errors.OpError):
        return {"error": [value.error_code, value.message]}
    if isinstance(value, bytes):
        return {"bytes": _number(np.array(value, object), tensors)}
    if isinstance(value, np.generic | np.ndarray | Variant):
        return {"tensor": _number(value, tensors)}
    if isinstance(value, Listed):
        types = [dtype.enum for dtype in value.types]
        dims = [None if one is None else list(one) for one in value.shapes]
        return {"window": [_encoded(list(value.listed), tensors), types, dims]}
    text = f"A position with elements that are a {type(value).__name__} cannot be saved."
    raise errors.UnimplementedError(None, None, text)


def _number(tensor: Any, tensors: list[Any]) -> int:
    tensors.append(tensor)
    return len(tensors) - 1


def _decoded(value: Any, tensors: list[Any]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {_decoded(key, tensors): _decoded(item, tensors) for key, item in content}
    if kind == "str":
        return content
    if kind == "list":
        return [_decoded(item, tensors) for item in content]
    if kind == "tuple":
        return tuple([_decoded(item, tensors) for item in content])
    if kind == "error":
        code, message = content
        return errors.exception_type_from_error_code(code)(None, None, message)
    if kind == "window":
        listed, types, dims = content
        window = Listed(_decoded(listed, tensors))
        window.types = [dtypes.as_dtype(dtype) for dtype in types]
        window.shapes = [None if one is None else tuple(one) for one in dims]
        return window
    tensor = tensors[content]
    if kind == "strings":
        return tensor.tolist()
    return tensor[()] if kind == "bytes" else tensor


@kernel("SerializeIterator", blocking=True)
def serialize_iterator(node: KernelNode) -> AsyncKernel:
    policy = node.attrs["external_state_policy"]

    def outputs(state: State) -> Any:
        made = np.empty(1, object)
        made[0] = IteratorState.of(state)
        return made

    def run(iterator: IteratorResource) -> Future:
        check_handle(iterator, IteratorResource)
        saved = iterator.save()
        if policy != _IGNORE and iterator.dataset is not None:
            for what in _external(iterator.dataset):
                if policy == _FAIL:
                    raise errors.FailedPreconditionError(None, None, what)
                log.warning("the position of an iterator is saved without all of its state: %s", what)
        return saved.then(outputs)

    return AsyncKernel(run)


def _external(dataset: Dataset) -> Iterator[str]:
    """Each part of a dataset whose state is elsewhere."""
    for value in vars(dataset).values():
        for call in value if isinstance(value, tuple) else (value,):
            if isinstance(call, Call) and (op := call.state_elsewhere()):
                yield f"{op} is stateful: what it keeps is not saved with an iterator."
    for source in dataset.inputs:
        yield from _external(source)


@kernel("DeserializeIterator", blocking=True)
def deserialize_iterator(node: KernelNode) -> AsyncKernel:
    pool = library_of(node).pool

    def run(iterator: IteratorResource, serialized: Any) -> Future:
        check_handle(iterator, IteratorResource)
        value = unboxed(serialized)
        if isinstance(value, np.ndarray):
            if value.shape != (1,):
                raise invalid(f"The saved position of an iterator is one variant, not {list(value.shape)}")
            value = value[0]
        if not isinstance(value, IteratorState):
            raise invalid("The variant is no saved position of an iterator")
        pool.check_room()
        done = Future(lambda _: None)

        def restore() -> None:
            try:
                iterator.restore(value.state())
            except Exception as e:
                done.complete(None, e)
            else:
                done.complete(None, None)

        pool.submit(restore)
        return done

    return AsyncKernel(run)
