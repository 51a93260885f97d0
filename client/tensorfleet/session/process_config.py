"""The options of sessions that are made without a ConfigProto, which `tf.config` sets for the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tensorfleet.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence


class PhysicalDevice(NamedTuple):
    """A device of this machine (`tf.config.PhysicalDevice`), such as `/physical_device:GPU:0`."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as graphs name it (`tf.config.LogicalDevice`), such as `/device:GPU:0`."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """A logical device to be made of a physical one (`tf.config.LogicalDeviceConfiguration`).

    Attributes:
        memory_limit: megabytes of a GPU's memory.
        experimental_priority, experimental_device_ordinal: not used here.
    """

    memory_limit: Any = None
    experimental_priority: Any = None
    experimental_device_ordinal: Any = None


class _Found(NamedTuple):
    device: PhysicalDevice
    memory: int
    """In bytes."""


Find = Callable[[config_pb2.ConfigProto], "Sequence[Any]"]
"""Gives the DeviceAttributes of the devices of a session in this process; none where it has no service."""


class ProcessConfig:
    """What was set for sessions without a ConfigProto of their own; safe for several threads.

    Attributes:
        options: the options beside those of devices.
    """

    def __init__(self) -> None:
        self.options = config_pb2.ConfigProto()
        self._lock = threading.Lock()
        self._found: list[_Found] | None = None
        self._visible: list[PhysicalDevice] = []
        self._growth: dict[PhysicalDevice, Any] = {}
        self._logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self._listed: list[LogicalDevice] | None = None
        self._changed = False

    def physical(self, find: Find) -> list[PhysicalDevice]:
        """The devices of this machine, which stay those that were found first."""
        found = self._found
        if found is None:
            numbers: dict[str, int] = {}
            found = []
            for each in find(config_pb2.ConfigProto()):  # makes a session: not under the lock
                number = numbers[each.device_type] = numbers.get(each.device_type, -1) + 1
                device = PhysicalDevice(f"/physical_device:{each.device_type}:{number}", each.device_type)
                found.append(_Found(device, each.memory_limit_bytes))
            if not found:  # a client alone
                found.append(_Found(PhysicalDevice("/physical_device:CPU:0", "CPU"), 0))
            with self._lock:
                if self._found is None:
                    self._visible = [each.device for each in found]
                    self._found = found
                found = self._found
        return [each.device for each in found]

    def visible(self, find: Find) -> list[PhysicalDevice]:
        """The devices that sessions use."""
        self.physical(find)
        with self._lock:
            return list(self._visible)

    def set_visible(self, devices: Any, kind: str | None, find: Find) -> None:
        """Chooses the devices that sessions use, of one type alone if that is given.

        Raises:
            ValueError: a device that is not there, or of another type.
            RuntimeError: logical devices were listed already.
        """
        self.physical(find)
        with self._lock:
            listed = devices if isinstance(devices, list) else [devices]
            for device in listed:
                self._check(device)
                if kind is not None and device.device_type != kind:
                    raise ValueError(f"Unrecognized device: {device!r}")
            kept = [] if kind is None else [each for each in self._visible if each.device_type != kind]
            if [*kept, *listed] != self._visible:
                self._change("Visible devices")
                self._visible = [*kept, *listed]

    def growth(self, device: Any, find: Find) -> Any:
        """Whether a GPU's memory is taken as it is needed; None where nobody has said."""
        self.physical(find)
        with self._lock:
            self._check(device)
            if device.device_type == "CPU":
                raise KeyError(device)
            return self._growth.get(device)

    def set_growth(self, device: Any, enable: Any, find: Find) -> None:
        """Sets whether a GPU's memory is taken as it is needed, as it is here in any case.

        Raises:
            ValueError: a device that is not there, is no GPU, or has logical devices.
            RuntimeError: logical devices were listed already.
        """
        self.physical(find)
        with self._lock:
            self._check(device)
            if device in self._logical:
                raise ValueError("Cannot set memory growth on device when virtual devices configured")
            if device.device_type != "GPU":
                raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
            if self._growth.get(device) != enable:
                self._change("Physical devices")
                self._growth[device] = enable

    def logical_configuration(self, device: Any, find: Find) -> list[LogicalDeviceConfiguration] | None:
        """The logical devices to be made of a device; None where nobody has said."""
        self.physical(find)
        with self._lock:
            self._check(device)
            return self._logical.get(device)

    def set_logical(self, device: Any, logical: Any, find: Find) -> None:
        """Sets the logical devices to be made of a device: any number of a CPU, one of a GPU.

        Raises:
            ValueError: a device that is not there, a limit of a CPU's memory, or none of a GPU's.
            NotImplementedError: several logical devices of one GPU.
            RuntimeError: logical devices were listed already.
        """
        self.physical(find)
        with self._lock:
            self._check(device)
            for each in logical:
                if device.device_type == "GPU":
                    if each.memory_limit is None:
                        raise ValueError("Setting memory limit is required for GPU virtual devices")
                    continue
                for field in each._fields:
                    if getattr(each, field) is not None:
                        text = field.replace("memory_limit", "memory limit")
                        raise ValueError(f"Setting {text} on CPU virtual devices is currently not supported")
            if device.device_type == "GPU" and len(logical) != 1:
                raise NotImplementedError("A GPU is one logical device here: give one configuration.")
            if self._logical.get(device) != logical:
                self._change("Virtual devices")
                self._logical[device] = list(logical)

    def logical(self, find: Find) -> list[LogicalDevice]:
        """The devices of sessions, which cannot be changed any more from then on."""
        self.physical(find)
        with self._lock:
            if self._listed is None:
                self._listed = []
                numbers: dict[str, int] = {}
                for device in self._visible:
                    kind = device.device_type
                    for _ in self._logical.get(device, [None]):
                        number = numbers[kind] = numbers.get(kind, -1) + 1
                        self._listed.append(LogicalDevice(f"/device:{kind}:{number}", kind))
            return list(self._listed)

    def set_threads(self, field: str, title: str, count: Any) -> None:
        """Sets a number of threads.

        Raises:
            RuntimeError: it changes, and logical devices were listed already.
        """
        with self._lock:
            if getattr(self.options, field) == count:
                return
            if self._listed is not None:
                raise RuntimeError(f"{title} cannot be modified after initialization.")
            setattr(self.options, field, count)

    def config(self) -> config_pb2.ConfigProto:
        """The options as a new message."""
        made = config_pb2.ConfigProto()
        with self._lock:
            made.CopyFrom(self.options)
            if not self._changed or self._found is None:
                return made
            gpus = [each for each in self._found if each.device.device_type == "GPU"]
            seen = [each for each in gpus if each.device in self._visible]
            cpu = next(each.device for each in self._found if each.device.device_type == "CPU")
            made.device_count["CPU"] = len(self._logical.get(cpu, [None]))
            made.device_count["GPU"] = len(seen)
            if seen and len(seen) != len(gpus):
                made.gpu_options.visible_device_list = ",".join(str(gpus.index(each)) for each in seen)
            limits = [
                self._logical[each.device][0].memory_limit * 2**20 / each.memory
                for each in seen
                if each.device in self._logical and each.memory
            ]
            if limits:
                made.gpu_options.per_process_gpu_memory_fraction = min(1.0, *limits)
            made.gpu_options.allow_growth = any(map(self._growth.get, (each.device for each in seen)))
        return made

    def _check(self, device: Any) -> None:
        if device not in [each.device for each in self._found or ()]:
            raise ValueError(f"Unrecognized device: {device!r}")

    def _change(self, what: str) -> None:
        if self._listed is not None:
            raise RuntimeError(f"{what} cannot be modified after being initialized")
        self._changed = True


PROCESS = ProcessConfig()
