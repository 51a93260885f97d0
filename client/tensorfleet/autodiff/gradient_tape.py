"""Gradients of what is built in a `with` block: `tf.GradientTape`, for graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from tensorfleet.autodiff.gradients import UnconnectedGradients, gradients
from tensorfleet.core import shapes, structures
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.variable_collections import trainable_variables
from tensorfleet.ops.state.variables import Variable

_USED = "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"


class GradientTape:
    """Notes which operations of the graph are built in its `with` block, and differentiates them
    (`tf.GradientTape`).

    Gradients are taken with respect to watched tensors, trainable variables, and what the block computes of
    them; others are constants.

    Args:
        persistent: whether `gradient` may be called several times.
        watch_accessed_variables: whether trainable variables count as watched.

    Example:
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tf.Session().run(tape.gradient(y, x))
        np.float32(6.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._watch_accessed = persistent, watch_accessed_variables
        self._watched: dict[int, Any] = {}
        self._operations: dict[Operation, None] = {}
        self._start: int | None = None
        self._is_used = False

    def __enter__(self) -> GradientTape:
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._start is not None:
            self._end()

    def _begin(self) -> None:
        if self._start is not None:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape."
            )
        self._graph = get_default_graph()
        self._start = len(self._graph.get_operations())

    def _end(self) -> None:
        self._operations.update(dict.fromkeys(self._graph.get_operations()[self._start :]))
        self._start = None

    def watch(self, tensor: Any) -> None:
        """Has a tensor, or a nested structure of tensors and variables, watched.

        Raises:
            ValueError: it is no tensor.
        """
        for item in structures.flatten(tensor):
            if not isinstance(item, (Tensor, Variable)):
                raise ValueError(f"Passed in object {item} of type {type(item).__name__!r}, not tf.Tensor")
            self._watched[id(item)] = item

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A `with` block in which the tape notes nothing.

        Raises:
            RuntimeError: the tape is not recording.
        """
        if self._start is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._end()
        try:
            yield
        finally:
            self._begin()

    def reset(self) -> None:
        """Forgets all that was noted."""
        self._operations.clear()
        self._watched.clear()
        if self._start is not None:
            self._start = None
            self._begin()

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that are watched: those the block reads, and those given to `watch`."""
        found = [item for item in self._watched.values() if isinstance(item, Variable)]
        if self._watch_accessed:
            used = {tensor for op in self._recorded() for tensor in op.inputs}
            used |= {source for tensor in used for source in tensor.op.inputs if source.dtype.is_ref}
            found += [v for v in trainable_variables() if _source(v) in used and id(v) not in self._watched]
        return tuple(found)

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivatives of the sum of `target` with respect to each source.

        Args:
            target: a tensor, or a nested structure of them.
            sources: a nested structure of tensors and variables.
            output_gradients: what the derivative of each target is multiplied by.
            unconnected_gradients: what to return for a source that the targets do not depend on.

        Returns:
            Tensors, IndexedSlices or None, in the structure of `sources`.

        Raises:
            RuntimeError: a second call, of a tape that is not persistent.
        """
        if self._is_used and not self._persistent:
            raise RuntimeError(_USED)
        self._is_used = True
        targets = [convert_to_tensor(item) for item in structures.flatten(target)]
        given = None if output_gradients is None else structures.flatten(output_gradients)
        flat = structures.flatten(sources)
        recorded = self._recorded()
        ready = [item for item in flat if self._is_source(item, recorded)]
        # Paths that the tape has not noted are cut: what comes into the block from outside is a constant.
        outside = {
            tensor: None
            for op in recorded
            for tensor in op.inputs
            if tensor.op not in recorded and not self._is_watched(tensor)
        }
        inner = [item for item in targets if item.op in recorded or self._is_watched(item)]
        weights = None if given is None else [g for g, t in zip(given, targets, strict=True) if t in inner]
        found = iter(
            gradients(
                inner,
                ready,
                grad_ys=weights,
                stop_gradients=[tensor for tensor in outside if tensor not in _sources(ready)],
                unconnected_gradients=unconnected_gradients,
            )
            if inner and ready
            else [None] * len(ready)
        )
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        known = {id(item) for item in ready}
        result = [next(found) if id(item) in known else None for item in flat]
        if zero:
            result = [
                apply_one("ZerosLike", s) if g is None else g for g, s in zip(result, flat, strict=True)
            ]
        return structures.pack(sources, result)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of each element of `target`, of shape target.shape + source.shape.

        Each element gets a backpropagation of its own, so the shape of `target` must be known.

        Args:
            parallel_iterations, experimental_use_pfor: ignored, as no loop is built.

        Raises:
            RuntimeError: a second call, of a tape that is not persistent.
            ValueError: the shape of `target` is not known.
        """
        tensor = convert_to_tensor(target)
        with self._stays():
            dims = _known(tensor)
            with self._noted():
                flat = apply_one("Reshape", tensor, [-1])
                elements = [flat[i] for i in range(shapes.num_elements(dims) or 0)]
            rows = [
                structures.flatten(self.gradient(item, sources, None, unconnected_gradients))
                for item in elements
            ]
        results = [_stacked(list(column), dims) for column in zip(*rows, strict=True)]
        return structures.pack(sources, results)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The jacobians of each row of `target` with respect to the same row of `source`, where rows depend
        on nothing else: of shape [batch] + target.shape[1:] + source.shape[1:].

        Args:
            parallel_iterations, experimental_use_pfor: ignored, as no loop is built.

        Raises:
            RuntimeError: a second call, of a tape that is not persistent.
            ValueError: the shape of `target`, without its first dimension, is not known.
        """
        tensor = convert_to_tensor(target)
        if tensor.dims is None:
            raise ValueError(f"The rank of {tensor.name} is not known.")
        inner = tensor.dims[1:]
        count = shapes.num_elements(inner)
        if count is None:
            raise ValueError(f"The shape of a row of {tensor.name} is not known: {tensor.shape}.")
        with self._stays():
            with self._noted():
                flat = apply_one("Reshape", tensor, [-1, count])
                columns = [flat[:, i] for i in range(count)]
            rows = [self.gradient(column, source, None, unconnected_gradients) for column in columns]
        if any(row is None for row in rows):
            return None
        stacked = apply_one("Pack", rows, axis=1)
        shape = apply_one("Shape", source)
        full = apply_one("ConcatV2", [shape[:1], [int(d or 0) for d in inner], shape[1:]], 0)
        return apply_one("Reshape", stacked, full)

    @contextlib.contextmanager
    def _stays(self) -> Iterator[None]:
        """Several gradients, which count as one use."""
        if self._is_used and not self._persistent:
            raise RuntimeError(_USED)
        before, self._persistent = self._persistent, True
        try:
            yield
        finally:
            self._persistent = before

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """A block whose operations the tape notes, if it is recording or not."""
        graph = get_default_graph()
        start = len(graph.get_operations())
        yield
        self._operations.update(dict.fromkeys(graph.get_operations()[start:]))

    def _recorded(self) -> dict[Operation, None]:
        if self._start is None:
            return self._operations
        now = dict.fromkeys(self._graph.get_operations()[self._start :])
        return {**self._operations, **now}

    def _is_source(self, item: Any, recorded: dict[Operation, None]) -> bool:
        if id(item) in self._watched:
            return True
        if isinstance(item, Variable):
            return self._watch_accessed and any(item is v for v in trainable_variables())
        return isinstance(item, Tensor) and item.op in recorded

    def _is_watched(self, tensor: Tensor) -> bool:
        watched = list(self._watched.values())
        if self._watch_accessed:
            watched += trainable_variables()
        # A reference variable is read by one Identity beside it, whoever uses it.
        read = (
            tensor.op.inputs[0] if tensor.op.type == "Identity" and tensor.op.inputs[0].dtype.is_ref else None
        )
        return any(tensor is item or _source(item) in (tensor, read) for item in watched)


def _source(item: Any) -> Any:
    """The tensor that reads of a variable take."""
    if isinstance(item, Variable):
        return item.handle if hasattr(item, "handle") else item._ref()  # type: ignore[attr-defined]
    return item


def _sources(items: list[Any]) -> set[Any]:
    return {_source(item) for item in items}


def _known(tensor: Tensor) -> tuple[int, ...]:
    if tensor.dims is None or any(dim is None for dim in tensor.dims):
        raise ValueError(
            f"A jacobian needs the shape of its target, but that of {tensor.name} is {tensor.shape}."
        )
    return tuple(int(dim or 0) for dim in tensor.dims)


def _stacked(rows: list[Any], dims: tuple[int, ...]) -> Any:
    if all(row is None for row in rows):
        return None
    rows = [convert_to_tensor(row) for row in rows]
    shape = apply_one("ConcatV2", [convert_to_tensor(list(dims), "int32"), apply_one("Shape", rows[0])], 0)
    return apply_one("Reshape", apply_one("Pack", rows, axis=0), shape)
