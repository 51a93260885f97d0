"""`tensorflow.python.framework.traceable_stack`: objects with the line that pushed them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any


class TraceableObject:
    """An object, with the file and the line of a caller."""

    SUCCESS, HEURISTIC_USED, FAILURE = range(3)

    def __init__(self, obj: Any, filename: str | None = None, lineno: int | None = None) -> None:
        self.obj, self.filename, self.lineno = obj, filename, lineno

    def set_filename_and_line_from_caller(self, offset: int = 0) -> int:
        """Takes file and line of the caller, or of the caller `offset` calls further out.

        Returns:
            SUCCESS; HEURISTIC_USED if there are not so many, so that the outermost counts.
        """
        stack = inspect.stack(context=0)[1:]
        frame = stack[min(offset, len(stack) - 1)]
        self.filename, self.lineno = frame.filename, frame.lineno
        return self.SUCCESS if offset < len(stack) else self.HEURISTIC_USED

    def copy_metadata(self) -> TraceableObject:
        """File and line without the object."""
        return type(self)(None, self.filename, self.lineno)


class TraceableStack:
    """A stack of objects that know who pushed them."""

    def __init__(self, existing_stack: Sequence[TraceableObject] | None = None) -> None:
        self._stack = list(existing_stack or ())

    def push_obj(self, obj: Any, offset: int = 0) -> int:
        """Pushes an object with the caller's line; as `set_filename_and_line_from_caller`."""
        self._stack.append(TraceableObject(obj))
        return self._stack[-1].set_filename_and_line_from_caller(offset + 1)

    def pop_obj(self) -> Any:
        """Removes the newest object, and returns it."""
        return self._stack.pop().obj

    def peek_top_obj(self) -> Any:
        """The newest object."""
        return self._stack[-1].obj

    def peek_objs(self) -> Iterator[Any]:
        """The objects, the newest first."""
        return (traceable.obj for traceable in reversed(self._stack))

    def peek_traceable_objs(self) -> Iterator[TraceableObject]:
        """The objects with their lines, the newest first."""
        return reversed(self._stack)

    def __len__(self) -> int:
        return len(self._stack)

    def copy(self) -> TraceableStack:
        """A stack of its own with the same objects."""
        return TraceableStack(self._stack)
