"""The default session of a thread, which `Tensor.eval` and `Operation.run` use."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class RunsSteps(Protocol):
    """A session, as `eval` and `run` need it."""

    @property
    def graph(self) -> Any: ...

    def run(self, fetches: Any, feed_dict: Any = None) -> Any: ...


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sessions: list[Any] = []


_stack = _Stack()


class DefaultSession:
    """A context in which a session is the default one of this thread.

    Attributes:
        enforce_nesting: demand that contexts are left in the reverse order.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self.enforce_nesting = True

    def __enter__(self) -> Any:
        _stack.sessions.append(self._session)
        return self._session

    def __exit__(self, *_: object) -> None:
        sessions = _stack.sessions
        if not self.enforce_nesting:
            if self._session in sessions:
                sessions.remove(self._session)
            return
        if not sessions or sessions[-1] is not self._session:
            raise AssertionError(
                f"Nesting violated for default stack of {type(self._session)} objects: "
                "leave the innermost first."
            )
        sessions.pop()


def get_default_session() -> Any:
    """The session of the innermost context in this thread, or None (`tf.get_default_session`)."""
    return _stack.sessions[-1] if _stack.sessions else None


def eval_using_default_session(
    tensors: Any,
    feed_dict: dict[Any, Any] | None,
    graph: Any,
    session: RunsSteps | None = None,
    is_op: bool = False,
) -> Any:
    """`session.run(tensors, feed_dict)`, in the default session if none is given.

    Args:
        graph: the graph of `tensors`, which must be the session's.
        is_op: `tensors` is an operation: errors speak of `run`.

    Raises:
        ValueError: there is no default session, or the session is one of another graph.
    """
    given = session is not None
    if not given:
        session = get_default_session()
    if session is not None and session.graph is graph:
        return session.run(tensors, feed_dict)
    call, noun, doing = (
        ("run", "operation", "execute operation") if is_op else ("eval", "tensor", "evaluate tensor")
    )
    if session is None:
        colon = ":" if is_op else ""
        raise ValueError(
            f"Cannot {doing} using `{call}()`: No default session is registered. Use `with "
            f"sess.as_default(){colon}` or pass an explicit session to `{call}(session=sess)`"
        )
    which = "given" if given else "default"
    text = (
        f"Cannot use the {which} session to {doing}: "
        f"the {noun}'s graph is different from the session's graph."
    )
    if not given:
        quote = "" if is_op else "`"
        text += f" Pass an explicit session to {quote}{call}(session=sess){quote}."
    raise ValueError(text)
