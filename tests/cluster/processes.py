"""Clusters of real processes for the tests: tasks that can be killed, restarted and looked at."""

from __future__ import annotations

import multiprocessing
import tempfile
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from tests.cluster import serve
from tests.cluster.networks import Network
from tests.ports import free_ports

START_SECONDS = 30.0
STOP_SECONDS = 15.0

# Tasks are forked off a process that has imported everything and started nothing.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([serve.__name__])


class Task:
    """One task's process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.name = f"/job:{settings['job']}/replica:0/task:{settings['task']}"
        self.address: str = settings["cluster"][settings["job"]][settings["task"]]
        self.target = f"grpc://{self.address}"
        self._log = tempfile.NamedTemporaryFile(prefix="task-")  # noqa: SIM115  gone with the task
        self._process: ForkServerProcess | None = None
        self._control: Connection | None = None

    def start(self) -> None:
        """Starts the process without waiting for it."""
        self._control, control = _context.Pipe()
        self._process = _context.Process(
            target=serve.main, args=(self.settings, control, self._log.name), daemon=True
        )
        self._process.start()
        control.close()

    def wait_ready(self) -> None:
        """Returns when the task serves. Raises RuntimeError with its log if it ends instead."""
        assert self._control is not None
        try:
            if self._control.poll(START_SECONDS):
                self._control.recv()
                return
        except EOFError:
            pass
        self.kill()
        raise RuntimeError(f"{self.name} did not start:\n{self.text()}")

    @property
    def pid(self) -> int:
        """The process, while it runs."""
        assert self._process is not None
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        """Ends the process at once, as a crash of its machine would."""
        assert self._process is not None
        assert self._control is not None
        self._process.kill()
        self._process.join()
        self._control.close()
        self._process = None

    def restart(self) -> None:
        """Starts the task anew at the same address."""
        self.start()
        self.wait_ready()

    def stop(self) -> int | None:
        """Stops the task if it runs; its exit code, None if it had to be killed."""
        if self._process is None:
            return 0
        assert self._control is not None
        self._control.close()
        process, self._process = self._process, None
        process.join(STOP_SECONDS)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
        return code

    def text(self) -> str:
        """The output of the process so far."""
        with open(self._log.name, errors="replace") as file:
            return file.read()


class Cluster:
    """Tasks on free ports of the loopback.

    Args:
        jobs: how many tasks of each.
        protocols: of each job.
        absent: jobs of the ClusterSpec, with their addresses, that are not started.
        networks: of the tasks that are in one of their own.
        settings: for every TaskServer.
    """

    def __init__(
        self,
        jobs: dict[str, int],
        protocols: dict[str, str],
        absent: dict[str, list[str]] | None = None,
        networks: dict[tuple[str, int], Network] | None = None,
        **settings: Any,
    ) -> None:
        ports = iter(free_ports(sum(jobs.values())))
        networks = networks or {}
        self.spec = {
            job: [f"{_host(networks.get((job, index)))}:{next(ports)}" for index in range(count)]
            for job, count in jobs.items()
        }
        self.tasks = {
            (job, index): Task(
                {
                    "cluster": {**self.spec, **(absent or {})},
                    "job": job,
                    "task": index,
                    "protocol": protocols[job],
                    "network": networks[job, index].path if (job, index) in networks else None,
                    **settings,
                }
            )
            for job, count in jobs.items()
            for index in range(count)
        }

    def start(self) -> None:
        for task in self.tasks.values():
            task.start()
        for task in self.tasks.values():
            task.wait_ready()

    def __getitem__(self, key: tuple[str, int]) -> Task:
        return self.tasks[key]

    def target(self, job: str = "worker", index: int = 0) -> str:
        return self.tasks[job, index].target

    def stop(self) -> None:
        """Stops what runs. Raises AssertionError for a task that failed to end by itself."""
        for task in self.tasks.values():
            code = task.stop()
            assert code == 0, f"{task.name} ended with {code}:\n{task.text()[-3000:]}"


def _host(network: Network | None) -> str:
    return "127.0.0.1" if network is None else network.host
