"""What gRPC itself writes of strangers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from tests.ports import free_ports
from tests.security.conftest import Pki
from tests.until import until


def test_handshakes_that_fail_leave_nothing_in_the_log(pki: Pki) -> None:
    port = free_ports(1)[0]
    files = pki.task("worker", 0)
    environ = {
        **{name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"},
        "TENSORFLEET_CLUSTER_SPEC": f'{{"worker": ["127.0.0.1:{port}"]}}',
        "TENSORFLEET_JOB_NAME": "worker",
        "TENSORFLEET_TASK_INDEX": "0",
        "TENSORFLEET_TLS_CERT": files.cert,
        "TENSORFLEET_TLS_KEY": files.key,
        "TENSORFLEET_TLS_CA": files.ca,
    }
    command = [sys.executable, "-m", "tensorfleet", "serve"]
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as task:
        try:

            def strange() -> bool:
                """Says something else than TLS, and waits until the task has hung up."""
                try:
                    with socket.create_connection(("127.0.0.1", port), 20) as sock:
                        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
                        while sock.recv(1024):
                            pass
                except ConnectionResetError:
                    pass
                except ConnectionRefusedError:
                    return False
                return True

            until(strange, 60)
            for _ in range(3):
                assert strange()
        finally:
            task.terminate()
            log = task.communicate(timeout=60)[0].decode()
    assert task.returncode == 0, log
    assert "andshake" not in log, log
