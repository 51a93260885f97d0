"""Variables: values that last between steps.

A variable hands out its value itself, without a copy, and yet a value that was read never changes: an update
works in place only while nobody else holds the array, and otherwise makes a new one.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, compatible, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.wire import buffers

DEFAULT_CONTAINER = "localhost"

REFERENCE = "variable"
"""The kind of `VariableV2`'s variables."""

RESOURCE = "resource_variable"
"""The kind of `VarHandleOp`'s variables."""

# On a line of its own, as programs look at TensorFlow's text, which stands before it.
_INITIALIZE = (
    "\nGive it a value first: run tf.global_variables_initializer() in a session of this cluster "
    "(tf.local_variables_initializer() for local variables, such as those of tf.metrics), or restore a "
    "checkpoint."
)


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _references_when_free() -> int:
    # The count differs between Python versions, so it is measured: the caller has one reference.
    value = np.empty(1)
    return _references(value)


_FREE = _references_when_free()


def _is_free(references: int, value: Any) -> bool:
    """Whether nobody else holds the array, so that it may be changed in place; scalars never may."""
    return references == _FREE and not isinstance(value, (np.generic, bytes))


class Variable:
    """A value that lasts between steps, of a reference variable or of a resource variable.

    Attributes:
        name, container: its name among the task's resources.
        kind: REFERENCE or RESOURCE; only the wording of errors depends on it.
        dtype: its DType.
        dims: the shape it was declared with.
        lock: held while the value changes.
    """

    __slots__ = ("__weakref__", "_value", "container", "dims", "dtype", "kind", "lock", "name")

    def __init__(
        self, name: str, dtype: DType, dims: Dims, container: str = DEFAULT_CONTAINER, kind: str = REFERENCE
    ) -> None:
        self.name = name
        self.container = container
        self.kind = kind
        self.dtype = dtype
        self.dims = dims
        self.lock = threading.Lock()
        # None while there is no value, and while an update works on it: readers take no lock, and must not
        # get an array that is changing.
        self._value: Any = None

    @property
    def is_initialized(self) -> bool:
        if self._value is not None:
            return True
        with self.lock:
            return self._value is not None

    @property
    def value_dims(self) -> Dims:
        """The shape of the value, or the declared shape while there is none."""
        with self.lock:
            return self.dims if self._value is None else _dims_of(self._value)

    @property
    def nbytes(self) -> int:
        """The size of the value in bytes, 0 while there is none; strings count as the references to them."""
        with self.lock:
            value = self._value
        return 0 if value is None else len(value) if isinstance(value, bytes) else int(value.nbytes)

    def read(self) -> Any:
        """The value: an array that nobody may change, and that does not change.

        Raises:
            FailedPreconditionError: the variable is not initialized.
        """
        value = self._value
        if value is not None:
            return value
        with self.lock:
            value = self._value
        if value is None:
            raise self._uninitialized(reading=True)
        return value

    def assign(self, value: Any, validate_shape: bool = True) -> None:
        """Sets the value to a private copy of `value`, in the memory of the old one where that is free.

        Raises:
            InvalidArgumentError: `validate_shape` is set, and `value` has another shape than the variable.
        """
        if isinstance(value, bytes):
            value = np.asarray(value, object)  # what is read may be fetched, and that takes arrays
        dims = _dims_of(value)
        with self.lock:
            if validate_shape:
                expected = self.dims if self._value is None else _dims_of(self._value)
                if not compatible(expected, dims):
                    raise self._wrong_shape(expected, dims)
            current = self._value
            self._value = None
            try:
                if (
                    current is not None
                    and _is_free(_references(current), current)
                    and current.shape == dims
                    and current.dtype == value.dtype
                ):
                    if type(current) is np.ndarray:
                        buffers.copy(current, value)
                    else:
                        current[...] = value
                elif isinstance(value, np.generic):
                    current = value
                elif value.ndim or not isinstance(value, np.ndarray) or value.dtype.hasobject:
                    current = buffers.copied(value) if type(value) is np.ndarray else value.copy()
                else:
                    current = value[()]
            finally:
                self._value = current

    def update(self, function: Callable[..., Any], value: Any) -> None:
        """Sets the value to `function(current, value)`; `function` is a ufunc that keeps shape and dtype.

        Raises:
            FailedPreconditionError, NotFoundError: the variable is not initialized.
            InvalidArgumentError: `value` has another shape.
        """
        with self.lock:
            current = self._take()
            try:
                if current.shape != value.shape:
                    raise self._wrong_update(current.shape, value.shape)
                if _is_free(_references(current), current):
                    function(current, value, out=current)
                else:
                    current = function(current, value)
            finally:
                self._value = current

    def modify(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls `function(array, *arguments)`, which changes the array in place, or raises first.

        The array is contiguous.

        Raises:
            FailedPreconditionError, NotFoundError: the variable is not initialized.
        """
        with self.lock:
            array = self._take_own()
            try:
                function(array, *arguments)
            finally:
                self._value = _stored(array)

    def discard(self) -> None:
        """Drops the value: the variable is uninitialized again."""
        with self.lock:
            self._value = None

    def _take(self) -> Any:
        """Takes the value out of the variable, for as long as it may change; under the lock."""
        value = self._value
        if value is None:
            raise self._uninitialized(reading=False)
        self._value = None
        return value

    def _take_own(self) -> Any:
        """Like `_take`, but a contiguous array that nobody else holds."""
        current = self._take()
        try:
            if isinstance(current, np.generic):
                return np.array(current)
            if _is_free(_references(current), current) and current.flags.c_contiguous:
                return current
            return buffers.copied(current) if type(current) is np.ndarray else current.copy()
        except BaseException:
            self._value = current  # after an error, such as want of memory, the variable keeps its value
            raise

    def _uninitialized(self, reading: bool) -> errors.OpError:
        if self.kind == REFERENCE:
            return errors.FailedPreconditionError(
                None, None, f"Attempting to use uninitialized value {self.name}{_INITIALIZE}"
            )
        missing = f"Resource {self.container}/{self.name} does not exist."
        if not reading:
            return errors.NotFoundError(None, None, f"{missing}{_INITIALIZE}")
        return errors.FailedPreconditionError(
            None,
            None,
            f"Could not find variable {self.name}. This could mean that the variable has been deleted. In "
            f"TF1, it can also mean the variable is uninitialized. Debug info: container={self.container}, "
            "status error "
            f"message={missing}{_INITIALIZE}",
        )

    def _wrong_shape(self, expected: Dims, got: Dims) -> errors.OpError:
        lhs, rhs = format_dims(expected), format_dims(got)
        if self.kind == REFERENCE:
            text = f"Assign requires shapes of both tensors to match. lhs shape= {lhs} rhs shape= {rhs}"
        else:
            text = f"Trying to assign to variable with tensor with wrong shape. Expected {lhs} got {rhs}"
        return errors.InvalidArgumentError(None, None, text)

    def _wrong_update(self, expected: Dims, got: Dims) -> errors.OpError:
        if self.kind == REFERENCE:
            text = "Parameters and update must be the same size"
        else:
            text = (
                f"Cannot update variable with shape {format_dims(expected)} using a Tensor with shape "
                f"{format_dims(got)}, shapes must be equal."
            )
        return errors.InvalidArgumentError(None, None, text)


def modify_together(variables: Sequence[Variable], function: Callable[[list[Any]], None]) -> None:
    """Calls `function(arrays)`, which changes the variables' arrays in place, or raises first.

    The arrays are contiguous. All variables stay locked meanwhile; the locks are taken in one order, whatever
    the order of the variables, so that two such calls never wait for each other.

    Raises:
        FailedPreconditionError, NotFoundError: a variable is not initialized.
        InvalidArgumentError: a variable is named twice.
    """
    if len(variables) == 1:
        variables[0].modify(lambda array: function([array]))
        return
    if len(set(variables)) != len(variables):
        raise errors.InvalidArgumentError(None, None, "The variable and its slots must all be different ones")
    ordered = sorted(variables, key=id)
    arrays: list[Any] = []
    held = 0  # by hand, as an ExitStack takes longer than the update of a small variable
    try:
        for variable in ordered:
            variable.lock.acquire()
            held += 1
        for variable in variables:
            arrays.append(variable._take_own())
        function(arrays)
    finally:
        for variable, array in zip(variables, arrays, strict=False):
            variable._value = _stored(array)
        for variable in ordered[:held]:
            variable.lock.release()


class Use:
    """A variable's array as work that was prepared for its address uses it.

    Attributes:
        changes: whether the work changes the array.
    """

    __slots__ = ("_address", "_place", "changes", "variable")

    def __init__(self, variable: Variable, address: Callable[[Any], Any], changes: bool) -> None:
        self.variable = variable
        self.changes = changes
        self._address = address
        self._place = None if variable._value is None else address(variable._value)

    def is_at(self, value: Any) -> bool:
        """Whether a value is the array, or another one in its place."""
        return value is not None and self._place is not None and self._address(value) == self._place


HELD, MOVED, DONE = "held", "moved", "done"
"""What came of `run_in_place`."""


def run_in_place(uses: Sequence[Use], run: Callable[[], None]) -> str:
    """Calls `run`, which works on the variables' arrays in place, unless it must not: says what came of it.

    HELD: somebody else holds an array that would change, MOVED: one is no longer where it was. All variables
    stay locked meanwhile; `uses` is in the order of `sorted(…, key=lambda use: id(use.variable))`.
    """
    with ExitStack() as locks:
        taken: list[tuple[Variable, Any]] = []
        try:
            for use in uses:
                variable = use.variable
                locks.enter_context(variable.lock)
                current = variable._value
                if not use.is_at(current):
                    return MOVED
                if use.changes:
                    variable._value = None  # readers take no lock
                    if not _is_free(_references(current), current):
                        variable._value = current
                        return HELD
                    taken.append((variable, current))
            run()
        finally:
            for variable, current in taken:
                variable._value = current
    return DONE


def _stored(array: Any) -> Any:
    """An array as variables keep it: a scalar, of NumPy's; of CuPy's itself, as a view would hide readers."""
    return array[()] if isinstance(array, np.ndarray) and not array.ndim else array


def _dims_of(value: Any) -> tuple[int, ...]:
    return () if isinstance(value, bytes) else value.shape
