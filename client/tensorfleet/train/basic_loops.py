"""A simple training loop: `tf.train.basic_train_loop`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorfleet.core import errors
from tensorfleet.train.supervisor import Supervisor


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls a function repeatedly until the supervisor stops (`tf.train.basic_train_loop`).

    After the loss of the session (AbortedError) it continues in a new one.

    Args:
        supervisor: makes the sessions.
        train_step_fn: called as `train_step_fn(session, *args, **kwargs)`.
        args, kwargs: the function's other arguments.
        master: the session's target.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except errors.AbortedError:
            continue
