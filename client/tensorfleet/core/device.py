"""Device names: their parsing, merging and matching, and `tf.DeviceSpec`.

A name has up to five parts, `/job:NAME/replica:N/task:N/device:TYPE:N`; a missing part, or `*` for the
device's number, leaves that part open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

_SHORT_TYPES = frozenset(("CPU", "GPU", "TPU", "CUSTOM", "EPU"))  # the types that may stand without "device:"


@dataclass(frozen=True, slots=True)
class ParsedDevice:
    """A device name as its five parts; None where a part is open."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    type: str | None = None
    index: int | None = None

    def merge(self, other: ParsedDevice) -> ParsedDevice:
        """These parts with those that `other` names put in their place."""
        return _merge(self, other)

    def matches(self, full: ParsedDevice) -> bool:
        """Whether every part named here has the same value in `full`."""
        return (
            (self.job is None or self.job == full.job)
            and (self.replica is None or self.replica == full.replica)
            and (self.task is None or self.task == full.task)
            and (self.type is None or self.type == full.type)
            and (self.index is None or self.index == full.index)
        )

    def __str__(self) -> str:
        return _format(self)


@lru_cache(maxsize=4096)
def _merge(outer: ParsedDevice, inner: ParsedDevice) -> ParsedDevice:
    return ParsedDevice(
        outer.job if inner.job is None else inner.job,
        outer.replica if inner.replica is None else inner.replica,
        outer.task if inner.task is None else inner.task,
        outer.type if inner.type is None else inner.type,
        outer.index if inner.index is None else inner.index,
    )


@lru_cache(maxsize=4096)
def _format(device: ParsedDevice) -> str:
    parts = []
    if device.job is not None:
        parts.append(f"/job:{device.job}")
    if device.replica is not None:
        parts.append(f"/replica:{device.replica}")
    if device.task is not None:
        parts.append(f"/task:{device.task}")
    if device.type is not None:
        parts.append(f"/device:{device.type}:{'*' if device.index is None else device.index}")
    return "".join(parts)


@lru_cache(maxsize=4096)
def parse(spec: str | None) -> ParsedDevice:
    """The parts of a device name, in the full form or a short one ("/gpu:1", "cpu", "/device:GPU:*").

    Raises ValueError for an unknown part, a second device type, or a number that is none.
    """
    job: str | None = None
    replica: str | None = None
    task: str | None = None
    kind: str | None = None
    index: str | None = None
    for part in (spec or "").split("/"):
        fields = part.split(":")
        match fields:
            case ["job", job]:
                pass
            case ["replica", replica]:
                pass
            case ["task", task]:
                pass
            case ["device", new_kind, number]:
                kind, index = _first_type(kind, new_kind, spec), number
            case [new_kind] if new_kind.upper() in _SHORT_TYPES:
                kind, index = _first_type(kind, new_kind.upper(), spec), "*"
            case [new_kind, number] if new_kind.upper() in _SHORT_TYPES:
                kind, index = _first_type(kind, new_kind.upper(), spec), number
            case ["", *_]:
                pass
            case _:
                raise ValueError(
                    f"Unknown attribute '{fields[0]}' is encountered while parsing the device spec: '{spec}'."
                )
    return ParsedDevice(
        job, _number(replica), _number(task), _type_name(kind), None if index == "*" else _number(index)
    )


def _first_type(kind: str | None, new_kind: str, spec: str | None) -> str:
    if kind is not None:
        raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
    return new_kind


def _number(text: Any) -> int | None:
    return None if text is None else int(text)


def _type_name(kind: Any) -> str | None:
    """Old programs write "cpu" and "gpu"; every other type keeps its letters."""
    if kind is None:
        return None
    return kind.upper() if kind in ("cpu", "gpu") else str(kind)


class DeviceSpec:
    """A device name that may leave parts open (`tf.DeviceSpec` of TensorFlow 1.x, so it can change)."""

    __slots__ = ("_parsed",)

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._parsed = ParsedDevice(
            None if job is None else str(job),
            _number(replica),
            _number(task),
            _type_name(device_type),
            _number(device_index),
        )

    @classmethod
    def from_string(cls, spec: str | None) -> DeviceSpec:
        """The spec that a device name stands for. Raises ValueError as `parse` does."""
        return cls._of(parse(spec))

    @classmethod
    def _of(cls, parsed: ParsedDevice) -> DeviceSpec:
        spec = cls.__new__(cls)
        spec._parsed = parsed
        return spec

    @property
    def job(self) -> str | None:
        """Name of the job."""
        return self._parsed.job

    @job.setter
    def job(self, job: str | None) -> None:
        self._parsed = replace(self._parsed, job=None if job is None else str(job))

    @property
    def replica(self) -> int | None:
        """Number of the replica."""
        return self._parsed.replica

    @replica.setter
    def replica(self, replica: int | None) -> None:
        self._parsed = replace(self._parsed, replica=_number(replica))

    @property
    def task(self) -> int | None:
        """Number of the task in its job."""
        return self._parsed.task

    @task.setter
    def task(self, task: int | None) -> None:
        self._parsed = replace(self._parsed, task=_number(task))

    @property
    def device_type(self) -> str | None:
        """Type of the device, such as "CPU"."""
        return self._parsed.type

    @device_type.setter
    def device_type(self, device_type: str | None) -> None:
        self._parsed = replace(self._parsed, type=_type_name(device_type))

    @property
    def device_index(self) -> int | None:
        """Number of the device among those of its type in its task."""
        return self._parsed.index

    @device_index.setter
    def device_index(self, device_index: int | None) -> None:
        self._parsed = replace(self._parsed, index=_number(device_index))

    def to_string(self) -> str:
        """The name in its full form."""
        return str(self._parsed)

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Takes over the parts of `spec`, forgetting its own, and returns itself. Raises ValueError."""
        self._parsed = parse(spec)
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes over the parts that `dev` names."""
        self._parsed = self._parsed.merge(dev._parsed)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """A new spec with these parts, those that `dev` names put in their place."""
        return self._of(self._parsed.merge(dev._parsed))

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """A new spec with the parts given by name (as in the constructor) put in place of its own."""
        own = dict(
            job=self.job,
            replica=self.replica,
            task=self.task,
            device_type=self.device_type,
            device_index=self.device_index,
        )
        return type(self)(**{**own, **kwargs})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return (
            f"<DeviceSpec(job={self.job}, replica={self.replica}, task={self.task}, "
            f"device_type={self.device_type}, device_index={self.device_index})>"
        )


def canonical_name(device: DeviceSpec | str | None) -> str:
    """The full form of a device name or spec; "" for None. Raises ValueError as `parse` does."""
    return device.to_string() if isinstance(device, DeviceSpec) else str(parse(device))


class HasDevice(Protocol):
    """Anything with a device name: an operation, or its `NodeDef`."""

    @property
    def device(self) -> str: ...


class MergeDevice:
    """A device function: gives an operation this spec, save the parts that the operation already names."""

    __slots__ = ("_parsed",)

    def __init__(self, spec: DeviceSpec | str | None) -> None:
        # A DeviceSpec can change later, so only its present parts are kept.
        self._parsed = spec._parsed if isinstance(spec, DeviceSpec) else parse(spec)

    def __call__(self, node_def: HasDevice) -> DeviceSpec:
        return DeviceSpec._of(self._parsed.merge(parse(node_def.device)))

    def shortcut_string_merge(self, node_def: HasDevice) -> str:
        """The merged name itself, without a DeviceSpec."""
        return str(self._parsed.merge(parse(node_def.device)))

    @property
    def is_null_merge(self) -> bool:
        """Whether the spec names no part, so that merging changes nothing."""
        return self._parsed == ParsedDevice()

    def __repr__(self) -> str:
        return f"<MergeDevice (spec: {self._parsed})>"


def merge_device(spec: DeviceSpec | MergeDevice | str | None) -> MergeDevice:
    """The device function that `tf.device(spec)` stacks: inner scopes win over outer ones.

    Raises ValueError if `spec` is no device name.
    """
    return spec if isinstance(spec, MergeDevice) else MergeDevice(spec)
