"""The container of a program's variables: what lets several programs use one cluster without meeting.

`TENSORFLEET_CONTAINER` names it, and `tensorfleet submit` sets it to the program's name. What names no
container of its own (`tf.container`) is in it then, also what an imported graph makes; neither graphs nor
checkpoints have it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from tensorfleet.core import errors
from tensorfleet.proto import graph_pb2

CONTAINER_VARIABLE = "TENSORFLEET_CONTAINER"
_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]*")


def default_container() -> str:
    """The program's container; "" for the one that all programs share.

    Raises:
        InvalidArgumentError: the variable's text is no name of a container.
    """
    name = os.environ.get(CONTAINER_VARIABLE, "")
    if name and not _NAME.fullmatch(name):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{CONTAINER_VARIABLE} is {name!r}, which is no name of a container: letters, digits, '-', '_', "
            "'.' and '/', the first one a letter or a digit",
        )
    return name


def fill(graph_def: graph_pb2.GraphDef, container: str) -> None:
    """Puts what names no container into `container`, in place."""
    if not container:
        return
    value = container.encode()
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            if "container" in node.attr and not node.attr["container"].s:
                node.attr["container"].s = value


def to_reset(containers: Sequence[str] | None) -> list[str]:
    """The containers that `Session.reset` clears: those named, or else the program's own."""
    if containers:
        return list(containers)
    own = default_container()
    return [own] if own else []
