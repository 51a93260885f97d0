"""The devices that `Session.list_devices` returns."""

from __future__ import annotations


class DeviceAttributes:
    """A device that a session can use, as `Session.list_devices` gives it.

    Attributes:
        name: the full name, such as `/job:worker/replica:0/task:3/device:CPU:0`.
        device_type: such as "CPU".
        memory_limit_bytes: how much memory it offers.
        incarnation: a random number, another one after a restart of the task.
    """

    def __init__(self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int) -> None:
        self.name = name
        self.device_type = device_type
        self.memory_limit_bytes = memory_limit_bytes
        self.incarnation = incarnation

    def __repr__(self) -> str:
        parts = (self.name, self.device_type, str(self.memory_limit_bytes), str(self.incarnation))
        return f"_DeviceAttributes({', '.join(parts)})"
