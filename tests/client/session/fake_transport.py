"""A master that computes nothing: it records what a session asks, and answers with prepared values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.session.transport import Transport, Value


class FakeTransport(Transport):
    """Answers every fetch with `values[name]`, by default with 7.0, and every feed with itself."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.prepared: list[tuple[tuple[str, ...], ...]] = []
        self.steps: list[dict[str, Value]] = []
        self.fail: Callable[[], None] = lambda: None

    def create(self, graph_def: GraphDef, config: ConfigProto) -> None:
        self.calls.append(("create", [node.name for node in graph_def.node]))

    def extend(self, graph_def: GraphDef) -> None:
        self.calls.append(("extend", [node.name for node in graph_def.node]))

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> FakeSignature:
        self.prepared.append((feeds, fetches, targets))
        return FakeSignature(self, feeds, fetches)

    def partial_run_setup(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> str:
        self.calls.append(("partial_run_setup", feeds, fetches, targets))
        return "handle"

    def partial_run(self, handle: str, feeds: dict[str, Value], fetches: tuple[str, ...]) -> Sequence[Value]:
        self.calls.append(("partial_run", handle, feeds, fetches))
        return [self.answer(name) for name in fetches]

    def list_devices(self) -> list[DeviceAttributes]:
        return [DeviceAttributes(name="/device:CPU:0", device_type="CPU", memory_limit=5, incarnation=6)]

    def close(self) -> None:
        self.calls.append(("close",))

    def answer(self, name: str) -> Any:
        return self.values.get(name, np.float32(7))


class FakeSignature:
    def __init__(self, master: FakeTransport, feeds: tuple[str, ...], fetches: tuple[str, ...]) -> None:
        self.master = master
        self.feeds = feeds
        self.fetches = fetches

    def __call__(self, feeds: Sequence[Value], timeout: float | None = None) -> Sequence[Value]:
        self.master.fail()
        self.master.steps.append(dict(zip(self.feeds, feeds, strict=True)))
        return [self.master.answer(name) for name in self.fetches]

    def traced(
        self, feeds: Sequence[Value], options: RunOptions, metadata: RunMetadata, timeout: float | None = None
    ) -> Sequence[Value]:
        self.master.calls.append(("traced", options.trace_level, timeout))
        metadata.step_stats.dev_stats.add(device="fake")
        return self(feeds)
