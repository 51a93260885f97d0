"""Errors that operations and servers report: `tf.errors`.

Exception
└── OpError                     error_code  gRPC status of the same number
    ├── CancelledError                   1
    ├── UnknownError                     2
    ├── InvalidArgumentError             3
    ├── DeadlineExceededError            4
    ├── NotFoundError                    5
    ├── AlreadyExistsError               6
    ├── PermissionDeniedError            7
    ├── ResourceExhaustedError           8
    ├── FailedPreconditionError          9
    ├── AbortedError                    10
    ├── OutOfRangeError                 11
    ├── UnimplementedError              12
    ├── InternalError                   13
    ├── UnavailableError                14
    ├── DataLossError                   15
    └── UnauthenticatedError            16
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """A step, or a call to a server, failed (`tf.errors.OpError`).

    `op` is the operation of the client's graph that failed and `node_def` its definition, each None where
    unknown. `experimental_payloads` maps type URLs to bytes that the server attached.
    """

    def __init__(
        self,
        node_def: Any,
        op: Any,
        message: str,
        error_code: int = UNKNOWN,
        experimental_payloads: Mapping[Any, Any] | None = None,
    ) -> None:
        super().__init__()
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = error_code
        self.experimental_payloads: Mapping[Any, Any] = experimental_payloads or {}

    def __str__(self) -> str:
        definition = getattr(self.op, "definition", None)
        if not definition:
            return self.message
        device = getattr(self.op, "device", "")
        return f"{self.message}\nDefined at {definition}" + (f", for {device}" if device else "")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._without_graph())

    def _without_graph(self) -> dict[str, Any]:
        # An operation drags its whole graph along and cannot be pickled, so its one useful
        # sentence moves into the message and the copy has no `op`.
        return {**self.__dict__, "op": None, "message": str(self)}


def _rebuild(cls: type[OpError], state: dict[str, Any]) -> OpError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    return error


class _CodedError(OpError):
    """An error whose class fixes its code: the third argument is the last required one."""

    _code = UNKNOWN

    def __init__(
        self, node_def: Any, op: Any, message: str, experimental_payloads: Mapping[Any, Any] | None = None
    ) -> None:
        super().__init__(node_def, op, message, self._code, experimental_payloads)


class CancelledError(_CodedError):
    """The step or call was cancelled, by its caller or because another part of the step failed."""

    _code = CANCELLED


class UnknownError(_CodedError):
    """The cause is unknown, such as an exception that the server did not expect."""

    _code = UNKNOWN


class InvalidArgumentError(_CodedError):
    """An operation was given a value, shape or type it cannot take."""

    _code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """The time allowed (`RunOptions.timeout_in_ms`, or the call's deadline) ran out."""

    _code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """Something asked for by name does not exist: a file, a tensor in a checkpoint, a resource."""

    _code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """Something to be created exists already."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The caller is known but may not do this."""

    _code = PERMISSION_DENIED


class UnauthenticatedError(_CodedError):
    """The caller did not show valid credentials."""

    _code = UNAUTHENTICATED


class ResourceExhaustedError(_CodedError):
    """Memory, a quota or another bounded resource ran out."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the state that the operation needs: a variable that was never initialized."""

    _code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The step was abandoned and may be tried again, as when a worker lost its session."""

    _code = ABORTED


class OutOfRangeError(_CodedError):
    """Input ran past its end: a queue that is closed and empty, a reader after the last record."""

    _code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The operation, device or option is not implemented."""

    _code = UNIMPLEMENTED


class InternalError(_CodedError):
    """The runtime broke one of its own invariants."""

    _code = INTERNAL


class UnavailableError(_CodedError):
    """The server cannot be reached at present; trying again later may succeed."""

    _code = UNAVAILABLE


class DataLossError(_CodedError):
    """Stored data is missing or corrupt."""

    _code = DATA_LOSS


_class_by_code: dict[int, type[_CodedError]] = {cls._code: cls for cls in _CodedError.__subclasses__()}


def exception_type_from_error_code(error_code: int) -> type[_CodedError]:
    """The exception class of a code (`tf.errors.exception_type_from_error_code`). Raises KeyError."""
    return _class_by_code[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The code of an exception class (`tf.errors.error_code_from_exception_type`). Raises KeyError."""
    if not issubclass(cls, _CodedError) or cls is _CodedError:
        raise KeyError(cls)
    return cls._code


def from_code(code: int, message: str, op: Any = None) -> OpError:
    """The error for a status that a server returned; codes without a class become `UnknownError`."""
    node_def = getattr(op, "node_def", None)
    return _class_by_code.get(code, UnknownError)(node_def, op, message)


class Status:
    """What a function of C tells by a status: a code and a message.

    Attributes:
        code: one of the codes of `tf.errors`, at first OK.
        message: what went wrong.
    """

    def __init__(self) -> None:
        self.code = OK
        self.message = ""


class raise_exception_on_not_ok_status:
    """Gives a `Status`, and raises the exception of its code if it is not OK at the end
    (`tf.errors.raise_exception_on_not_ok_status`).

    Example:
        >>> with tf.errors.raise_exception_on_not_ok_status() as status:
        ...     status.code, status.message = tf.errors.NOT_FOUND, "no such table"
        Traceback (most recent call last):
        ...
        tensorfleet.core.errors.NotFoundError: no such table
    """

    def __enter__(self) -> Status:
        self.status = Status()
        return self.status

    def __exit__(self, type_arg: Any, value_arg: Any, traceback_arg: Any) -> Literal[False]:
        status = self.status
        del self.status
        if status.code != OK:
            raise from_code(status.code, status.message)
        return False
