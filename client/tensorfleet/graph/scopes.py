"""The scopes under which a graph makes new operations: names, devices, colocation, control dependencies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tensorfleet.core.device import DeviceSpec, parse
from tensorfleet.graph.operation import Operation

DeviceFunction = Callable[[Operation], Any]


class Controller:
    """One `control_dependencies` scope.

    Attributes:
        ops: what operations made under it wait for.
        seen: the operations made under it. Who takes one of them as an input waits for all of `ops` already;
            who takes one of `ops` does not.
    """

    __slots__ = ("ops", "seen")

    def __init__(self, ops: list[Operation]) -> None:
        self.ops = ops
        self.seen: set[Operation] = set()


class ScopeState:
    """The scopes in force: each is replaced, never changed in place."""

    __slots__ = (
        *("attrs", "colocation", "container", "control_flow", "controls", "devices", "gradient_overrides"),
        "name",
    )

    def __init__(self) -> None:
        self.name = ""
        self.attrs: dict[str, Any] = {}
        self.devices: tuple[DeviceFunction | None, ...] = ()
        self.colocation: tuple[Operation, ...] = ()
        self.controls: tuple[Controller, ...] = ()
        self.container = ""
        self.control_flow: Any = None
        self.gradient_overrides: dict[str, str] = {}

    def copy(self) -> ScopeState:
        new = ScopeState()
        for slot in self.__slots__:
            setattr(new, slot, getattr(self, slot))
        return new


def device_string(device: Any) -> str:
    """A device as a string; strings that are not devices raise ValueError, as in TensorFlow."""
    if device is None:
        return ""
    if isinstance(device, str):
        return device
    if not hasattr(device, "to_string"):
        raise TypeError(f"A device must be a string or a DeviceSpec, got {device!r}.")
    return str(device.to_string())


def device_scope(device: Any) -> DeviceFunction | None:
    """The effect of a `tf.device` argument on an operation; the inner scope's fields win over the outer's."""
    if device is None:
        return None
    if callable(device) and not isinstance(device, (str, DeviceSpec)):
        function: DeviceFunction = device
        return function
    outer = parse(device_string(device))
    merged: dict[str, str] = {}

    def merge(op: Operation) -> str:
        result = merged.get(op._device)
        if result is None:
            result = merged[op._device] = str(outer.merge(parse(op._device)))
        return result

    return merge


def strip_scope(name: str, scope: str | None) -> str:
    """`name` as seen from inside the name scope `scope`."""
    return re.sub(rf"^{re.escape(scope.rstrip('/'))}/+", "", name) if scope else name


def prepend_scope(name: str, scope: str | None) -> str:
    """`name` under the name scope `scope`."""
    return f"{scope.rstrip('/')}/{name}" if scope and name else name
