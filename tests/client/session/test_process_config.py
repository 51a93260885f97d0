"""The options of sessions without a ConfigProto, in several threads."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from tensorfleet.session.process_config import ProcessConfig


def test_sessions_are_made_while_devices_are_looked_for() -> None:
    process = ProcessConfig()
    looking, go_on, made = threading.Event(), threading.Event(), threading.Event()

    def find(config: Any) -> list[Any]:
        looking.set()
        assert go_on.wait(60)
        return [SimpleNamespace(device_type="CPU", memory_limit_bytes=0)]

    def make() -> None:
        process.config()
        made.set()

    look = threading.Thread(target=process.logical, args=(find,), daemon=True)
    look.start()
    try:
        assert looking.wait(60)
        threading.Thread(target=make, daemon=True).start()
        assert made.wait(20), "a session waits for devices that it does not ask for"
    finally:
        go_on.set()
        look.join(60)
    assert not look.is_alive()


def test_devices_stay_those_found_first() -> None:
    process = ProcessConfig()
    both = threading.Barrier(2, timeout=60)
    counts = iter((1, 2))

    def find(config: Any) -> list[Any]:
        count = next(counts)
        both.wait()
        return [SimpleNamespace(device_type="CPU", memory_limit_bytes=0)] * count

    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(process.physical(find)), daemon=True) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 2
    assert found[0] == found[1] == process.visible(find)
