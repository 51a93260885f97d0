"""Small programs about what the API means, which give the same numbers on TensorFlow, here and on a cluster.

Each is a function of a `Place`; what it returns is compared number by number. Only programs whose results
TensorFlow fixes, in one process, belong here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PROGRAMS: dict[str, Callable[[Place], Any]] = {}
IN_PROCESS: set[str] = set()
"""The programs that need the client's own process."""


@dataclass(frozen=True)
class Place:
    """The place where a program runs.

    Attributes:
        tf: the library.
        target: of its sessions.
        other: a device other than that of most nodes, if there is one.
        folder: an empty directory for its files.
    """

    tf: Any
    target: str
    other: str
    folder: str

    def session(self) -> Any:
        """A session on the default graph, with all variables initialized."""
        session = self.tf.Session(self.target)
        with self.tf.control_dependencies(None):  # a program may ask in the midst of a scope of its own
            made = [self.tf.global_variables_initializer(), self.tf.local_variables_initializer()]
        session.run(made)
        return session

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """One step in a session of its own."""
        with self.session() as session:
            return session.run(fetches, feed_dict)


def program(function: Callable[[Place], Any]) -> Callable[[Place], Any]:
    """Adds a program to the table."""
    assert function.__name__ not in PROGRAMS
    PROGRAMS[function.__name__] = function
    return function


def in_process(function: Callable[[Place], Any]) -> Callable[[Place], Any]:
    """Adds a program that no cluster can run."""
    IN_PROCESS.add(function.__name__)
    return program(function)


def raised(function: Callable[[], Any]) -> str:
    """The name of the exception that a call raises."""
    try:
        function()
    except Exception as error:
        return type(error).__name__
    return "nothing"
