"""`tensorfleet serve`: one task of a cluster as a process of its own."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Sequence

from tensorfleet.core.environment import SettingsError
from tensorfleet.security.settings import SecurityError, check_server
from tensorfleet.security.tls import certificates
from tensorfleet_service.lifecycle import draining_signals, wait_and_drain
from tensorfleet_service.observe import log
from tensorfleet_service.observe.health import Health
from tensorfleet_service.observe.http_server import HttpServer
from tensorfleet_service.observe.stack_dump import STACK_DUMP
from tensorfleet_service.settings import settings as settings_module
from tensorfleet_service.settings.settings import (
    Settings,
    parser as parser,  # of the command, for its completion
)

logger = logging.getLogger(__name__)

WRONG_SETTINGS = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Serves until a signal comes.

    Returns the exit code: 0 after a drain, 1 if an address or port cannot be bound, 2 for invalid settings.
    """
    try:
        settings = settings_module.load(
            sys.argv[1:] if argv is None else argv, os.environ, socket.gethostname()
        )
        cluster = settings.cluster
        check_server(
            settings.security, settings.bind, sum(len(cluster.task_indices(j)) for j in cluster.jobs)
        )
    except (SettingsError, SecurityError) as error:
        print(f"tensorfleet serve: {error}", file=sys.stderr)
        return WRONG_SETTINGS
    log.configure(settings.task, settings.log_format, settings.log_level)
    for warning in settings.warnings:
        logger.warning("%s", warning)
    over = threading.Event()
    # A signal that comes while the server starts drains it, too.
    with draining_signals(over):
        return serve(settings, over)


def serve(settings: Settings, over: threading.Event) -> int:
    """Serves one task until `over` is set; returns the exit code."""
    health = Health(settings.drain_seconds)
    pages = None
    if settings.metrics_port is not None:
        # Before the imports below, which take a second, so that probes get an answer from the beginning.
        try:
            tls = settings.security.tls if settings.security.metrics_tls else None
            pages = HttpServer(
                settings.bind, settings.metrics_port, health, None if tls is None else certificates(tls)
            )
        except SecurityError as error:
            print(f"tensorfleet serve: {error}", file=sys.stderr)
            return WRONG_SETTINGS
        except OSError as error:
            print(
                f"tensorfleet serve: {settings.task} cannot listen at port {settings.metrics_port} for "
                f"metrics: {error}\n"
                "If another process uses the port, stop it, or set TENSORFLEET_METRICS_PORT to another one.",
                file=sys.stderr,
            )
            return 1
        pages.start()
    try:
        return _serve(settings, over, health, pages)
    finally:
        if pages is not None:
            pages.close()


def _serve(settings: Settings, over: threading.Event, health: Health, pages: HttpServer | None) -> int:
    # Importing kernels takes most of the start, so invalid settings are reported before.
    from tensorfleet.core import errors, gc_pause
    from tensorfleet_service.devices import memory
    from tensorfleet_service.net import admission, limits
    from tensorfleet_service.server import TaskServer

    memory_limit = memory.find_limit()
    admission.raise_descriptor_limit()
    try:
        server = TaskServer(
            settings.cluster,
            settings.job_name,
            settings.task_index,
            settings.protocol,
            bind_host=settings.bind_host,
            stream_port=settings.stream_port,
            gpus=settings.gpus,
            health=health,
            files=settings.files,
            max_grpc_message=limits.max_grpc_message(memory_limit),
            security=settings.security,
        )
    except errors.FailedPreconditionError as error:
        print(f"tensorfleet serve: {error.message}", file=sys.stderr)
        return WRONG_SETTINGS
    except (errors.UnknownError, OSError) as error:
        address = settings.cluster.task_address(settings.job_name, settings.task_index)
        print(
            f"tensorfleet serve: {settings.task} cannot listen at {address}: {error}\n"
            "If another process uses the port, stop it, or give the task another address in the ClusterSpec.",
            file=sys.stderr,
        )
        return 1
    if pages is not None:
        if settings.security.metrics_access == "token":
            pages.authorize = server.authorize
        pages.registry = server.registry()
    server.start()
    gc_pause.leave_out()
    memory.BUDGET.install(memory_limit)
    STACK_DUMP.install()
    if settings.stop_with_stdin:
        threading.Thread(target=_wait_for_end_of_stdin, args=(over,), name="stdin", daemon=True).start()
    wait_and_drain(server, settings.drain_seconds, over)
    return 0


def _wait_for_end_of_stdin(over: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    over.set()


if __name__ == "__main__":
    sys.exit(main())
