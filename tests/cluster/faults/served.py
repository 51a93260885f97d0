"""Tasks as `tensorfleet serve` runs them, each a process of its own that signals and limits are for."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.networks import Network
from tests.until import until

END_SECONDS = 30.0


class Served:
    """One task.

    Args:
        spec: the cluster's addresses.
        network: the host that it is on, or None: this one.
        descriptors: the limit on its descriptors, or None: that of this process.
        settings: environment variables.
    """

    def __init__(
        self,
        spec: dict[str, list[str]],
        job: str,
        task: int,
        network: Network | None = None,
        descriptors: int | None = None,
        **settings: str,
    ) -> None:
        self.name = f"/job:{job}/replica:0/task:{task}"
        self.address = spec[job][task]
        self.network = network
        self._command = [
            *([] if network is None else ["nsenter", f"--net={network.path}"]),
            *([] if descriptors is None else ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"]),
            *(sys.executable, "-m", "tensorfleet.cli.main", "serve"),
            *("--job-name", job, "--task-index", str(task), "--cluster-spec", json.dumps(spec)),
        ]
        self._environment = {**os.environ, "no_proxy": "*", "NO_PROXY": "*", **settings}
        if network is not None:
            self._environment["TENSORFLEET_INSECURE"] = "yes"  # a host of its own, which nobody else reaches
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  gone with the task
        self.start()

    def start(self) -> None:
        self._log.truncate(0)
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=self._environment,
        )

    def wait_ready(self) -> None:
        until(lambda: "serves at" in self.text() or self._process.poll() is not None)
        assert self._process.poll() is None, self.text()

    def restart(self) -> None:
        self.start()
        self.wait_ready()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        """The exit code, once the process has ended."""
        return self._process.wait(END_SECONDS)

    def close(self) -> None:
        """Ends the process, whatever state it is in."""
        self._process.kill()
        self._process.wait(END_SECONDS)
        self._log.close()

    def text(self) -> str:
        """Its output so far."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    def files(self) -> list[str]:
        """The targets of its descriptors."""
        found = []
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                found.append(os.readlink(link))
        return found

    def shared_memory(self) -> list[str]:
        """The memory that it shares with clients and other tasks: files open, and mapped."""
        maps = Path(f"/proc/{self.pid}/maps").read_text().splitlines()
        return [name for name in [*self.files(), *maps] if "/memfd:tensorfleet (" in name]


@contextlib.contextmanager
def ended(tasks: list[Served]) -> Iterator[list[Served]]:
    """Waits until the tasks serve, and leaves none of them behind."""
    try:
        for task in tasks:
            task.wait_ready()
        yield tasks
    finally:
        for task in tasks:
            task.close()
