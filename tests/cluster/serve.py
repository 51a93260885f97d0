"""A task in a process of its own, with the tests' ops."""

from __future__ import annotations

import logging
import os
import sys
from multiprocessing.connection import Connection
from typing import Any

from google.protobuf.json_format import ParseDict

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet_service.server import TaskServer
from tests.cluster import networks, ops
from tests.gpu import strict_array, strict_cupy


def main(settings: dict[str, Any], control: Connection, log: str) -> None:
    """Serves a task until the other end of `control` is closed; what it writes goes to the file `log`."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    logging.basicConfig(level=logging.INFO)
    network = settings.pop("network", None)
    if network is not None:
        os.environ["TENSORFLEET_INSECURE"] = "yes"  # a host of its own, which nobody else reaches
    networks.enter(network)
    stand_in = settings.pop("stand_in", None)
    if stand_in is not None:
        sys.modules["cupy"] = strict_cupy.module
        sys.modules["cupy.cuda"] = strict_cupy.module.cuda
        strict_array.machine.reset(2)
        os.environ.update(stand_in)
    server = TaskServer(
        ClusterSpec(settings.pop("cluster")),
        settings.pop("job"),
        settings.pop("task"),
        config=ParseDict(settings.pop("config", {}), ConfigProto()),
        **settings,
    )
    ops.observe(server._worker)
    server.start()
    control.send("ready")
    try:
        control.recv()
    except EOFError:
        server.stop(grace=1.0)
