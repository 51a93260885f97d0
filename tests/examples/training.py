"""Runs a training program of the examples, one process for each task."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.ports import free_ports

SECONDS = 90.0


@contextmanager
def _task(module: str, job: str, index: int, flags: list[str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", f"tensorfleet.examples.{module}", *flags]
    command += [f"--job_name={job}", f"--task_index={index}"]
    # The processes share their cores: one thread each.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def run(module: str, ps: int, workers: int, *flags: str) -> list[str]:
    """The output of the workers, once all have ended well, and the ps after them by SIGTERM."""
    ports = free_ports(ps + workers)
    hosts = [f"127.0.0.1:{port}" for port in ports]
    common = [f"--ps_hosts={','.join(hosts[:ps])}", f"--worker_hosts={','.join(hosts[ps:])}", *flags]
    texts = []
    with ExitStack() as stack:
        # The chief last: the others have to wait for it.
        running = [stack.enter_context(_task(module, "worker", i, common)) for i in reversed(range(workers))]
        servers = [stack.enter_context(_task(module, "ps", i, common)) for i in range(ps)]
        for process in running:
            out, err = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, err
            assert "Traceback" not in err, err
            texts.append(out)
        for process in servers:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, err
    return texts[::-1]
