"""Variables that a worker keeps to itself, in programs whose others lie on parameter servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.get_variable import get_variable


class MirroringGetter:
    """A `custom_getter` that makes trainable variables the worker's own, each with a global one on the
    parameter servers and one more of the worker's.

    Args:
        worker_device: the device of the worker's own variables.

    Attributes:
        global_of, private_of: by variable, or by part of one, its global one and the worker's other one.
    """

    _private_name = ""

    def __init__(self, worker_device: str) -> None:
        self.worker_device = worker_device
        self.global_of: dict[Any, Any] = {}
        self.private_of: dict[Any, Any] = {}

    def __call__(
        self,
        getter: Callable[..., Any],
        name: str,
        trainable: Any,
        collections: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if not trainable:
            return self._untrained(
                getter, name, *args, trainable=trainable, collections=collections, **kwargs
            )
        own: dict[str, Any] = {"collections": [GraphKeys.LOCAL_VARIABLES]}
        with framework.device(self.worker_device):
            variable = getter(name, *args, trainable=True, **own, **kwargs)
        if kwargs.get("reuse") is True:
            return variable
        shared: dict[str, Any] = {"collections": [GraphKeys.GLOBAL_VARIABLES]}
        center = getter(f"global_center_variable/{name}", *args, trainable=False, **shared, **kwargs)
        with framework.device(self.worker_device):
            private = getter(f"{self._private_name}/{name}", *args, trainable=False, **own, **kwargs)
        is_whole = kwargs.get("partitioner") is None
        parts = [[each] if is_whole else list(each) for each in (variable, center, private)]
        for part, center_part, private_part in zip(*parts, strict=True):
            self.global_of[part], self.private_of[part] = center_part, private_part
        return variable

    def _untrained(self, getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        return getter(name, *args, **kwargs)


def local_step(worker_device: str) -> Any:
    """The number of steps that a worker has done, an int32 variable of its own; also where a device setter
    would put it on a ps, on which all workers would count together."""
    with framework.device(worker_device):
        return get_variable(
            "local_step", initializer=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )


def current(variable: Any) -> Any:
    """The value once what the scope waits for has run: read where the variable lies, as what another task
    gets of a reference variable may be from the beginning of the step."""
    with framework.colocate_with(variable.op):
        return variable.read_value()


def make_local(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
    """A creator (`tf.variable_creator_scope`) that puts variables which would be global among the local ones:
    the slots of a worker's own variables."""
    collections = kwargs.get("collections") or [GraphKeys.GLOBAL_VARIABLES]
    kwargs["collections"] = [
        GraphKeys.LOCAL_VARIABLES if key == GraphKeys.GLOBAL_VARIABLES else key for key in collections
    ]
    return next_creator(**kwargs)
