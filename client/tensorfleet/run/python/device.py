"""What `tensorflow.python.framework.device` has beside the names of `tf`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.device import DeviceSpec


def is_device_spec(obj: Any) -> bool:
    """Whether an object is a DeviceSpec."""
    return isinstance(obj, DeviceSpec)


def check_valid(spec: str) -> None:
    """Raises ValueError if the text names no device."""
    DeviceSpec.from_string(spec)
