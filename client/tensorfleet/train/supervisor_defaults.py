"""Defaults of a Supervisor's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import logging
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph

USE_DEFAULT: Any = 0


def given_or_default(given: Any, collection: str, make: Callable[[], Any]) -> Any:
    """`given`; else the first item of a collection; else a new one from `make`, which is added to it."""
    if given is not USE_DEFAULT:
        return given
    found = framework.get_collection(collection)
    if found:
        if len(found) > 1:
            logging.info("Found %d %s operations. Returning the first one.", len(found), collection)
        return found[0]
    made = make()
    if made is not None:
        framework.add_to_collection(collection, made)
    return made


def global_step() -> Any:
    """The integer tensor "global_step"; None if there is none."""
    try:
        found = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if found.dtype.base.name in ("int32", "int64"):
        return found
    logging.warning("Found 'global_step' is not an int type: %s", found.dtype)
    return None
