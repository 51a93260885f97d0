"""`tensorflow.python.eager.context`: whether operations run at once. They never do here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tensorfleet.api.behavior import executing_eagerly as executing_eagerly
from tensorfleet.core import errors
from tensorfleet.graph.graph import Graph
from tensorfleet.session.session import Session

GRAPH_MODE, EAGER_MODE = 0, 1


def in_graph_mode() -> bool:
    """Whether calls add operations to a graph: always."""
    return not executing_eagerly()


def in_eager_mode() -> bool:
    """Whether operations run at once: never."""
    return executing_eagerly()


def executing_eagerly_v1() -> bool:
    """Whether operations run at once: never."""
    return executing_eagerly()


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A scope in which calls add operations to a graph, as they do everywhere."""
    yield


def eager_mode() -> None:
    """Refuses: there is no eager mode.

    Raises:
        UnimplementedError: always.
    """
    raise errors.UnimplementedError(
        None, None, "TensorFleet has no eager mode: build a graph and run it in a tf.Session"
    )


def num_gpus() -> int:
    """The number of this process's GPUs."""
    with Session(graph=Graph()) as session:
        return sum(device.device_type == "GPU" for device in session.list_devices())


def shared_name(name: str | None = None) -> str:
    """The name under which a resource is shared; "" stands for the operation's own."""
    return name or ""


class Context:
    """The context of a thread: always that of graphs."""

    def executing_eagerly(self) -> bool:
        """Whether operations run at once: never."""
        return executing_eagerly()

    def in_eager_mode(self) -> bool:
        """Whether operations run at once: never."""
        return in_eager_mode()

    def in_graph_mode(self) -> bool:
        """Whether calls add operations to a graph: always."""
        return in_graph_mode()

    def num_gpus(self) -> int:
        """The number of this process's GPUs."""
        return num_gpus()


_CONTEXT = Context()


def context() -> Context:
    """The context, one for all threads."""
    return _CONTEXT
