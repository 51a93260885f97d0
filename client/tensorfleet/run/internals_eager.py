"""`tensorflow.python.eager.context`, for programs that ask for the mode: it is always that of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorfleet.core import errors
from tensorfleet.graph.graph import Graph
from tensorfleet.session.session import Session

GRAPH_MODE, EAGER_MODE = 0, 1


def executing_eagerly() -> bool:
    """False: graphs are built, and run in sessions."""
    return False


in_eager_mode = enabled = executing_eagerly


def in_graph_mode() -> bool:
    """True: graphs are built, and run in sessions."""
    return True


@contextmanager
def graph_mode() -> Iterator[None]:
    """The context in which graphs are built, which is everywhere."""
    yield


@contextmanager
def eager_mode() -> Iterator[None]:
    """Raises UnimplementedError: there is no eager mode."""
    raise errors.UnimplementedError(
        None, None, "TensorFleet has no eager mode: build a graph, and run it in a tf.Session."
    )
    yield


def num_gpus() -> int:
    """The number of this process's GPUs."""
    with Session(graph=Graph()) as session:
        return sum(device.device_type == "GPU" for device in session.list_devices())


class Context:
    """The context of a thread (`context.context()`)."""

    def executing_eagerly(self) -> bool:
        """False."""
        return False

    in_eager_mode = executing_eagerly

    def in_graph_mode(self) -> bool:
        """True."""
        return True

    def num_gpus(self) -> int:
        """The number of this process's GPUs."""
        return num_gpus()


_CONTEXT = Context()


def context() -> Context:
    """The context."""
    return _CONTEXT


def stop_recording() -> Any:
    """A context of `tape`, in which nothing would be recorded."""
    return graph_mode()
