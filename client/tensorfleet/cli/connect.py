"""`tensorfleet connect`: forwards ports of this machine to a release's master, until Ctrl-C."""

from __future__ import annotations

import argparse
import errno
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from tensorfleet.cli.submit import add_cluster_flags
from tensorfleet.core import errors
from tensorfleet.kube import api, release
from tensorfleet.kube.forward import Forwarder
from tensorfleet.kube.release import GRPC_PORT, STREAM_PORT


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet connect`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet connect",
        description="Forward ports of this machine to the master of a release of TensorFleet's chart, until "
        "Ctrl-C. Programs here reach the cluster at the address that is printed.",
        epilog="Several clusters at once: give each one an --address of its own, such as 127.0.0.2.",
        allow_abbrev=False,
    )
    add_cluster_flags(p)
    p.add_argument("--address", default="127.0.0.1", metavar="HOST", help="to listen at (default: 127.0.0.1)")
    p.add_argument("--port", type=_port, default=GRPC_PORT, help=f"0: any free one (default: {GRPC_PORT})")
    return p


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return int(text)


def main(argv: Sequence[str]) -> int:
    """Forwards until a signal arrives; returns 0, or 1 if forwarding is not possible."""
    flags = parser().parse_args(argv)
    over = threading.Event()

    def end(signum: int, frame: FrameType | None) -> None:
        over.set()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in signals}
    try:
        return run(flags, over)
    except errors.OpError as error:
        say(error.message)
    except ImportError as error:
        say(str(error))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 1


def run(flags: argparse.Namespace, over: threading.Event) -> int:
    """Forwards until `over` is set. Raises OpError, ImportError."""
    cluster = api.Cluster("tensorfleet connect", flags.context)
    found = release.find(cluster, flags.release, flags.namespace or cluster.namespace)

    def forward(ports: dict[int, int]) -> Forwarder:
        return Forwarder(cluster, lambda: release.master_pod(cluster, found), flags.address, ports, say)

    try:
        grpc = forward({flags.port: GRPC_PORT})
    except OSError as error:
        say(
            f"cannot listen at {flags.address}:{flags.port}: {error.strerror or error}. End what uses the "
            "port, or choose another --port (0: any free one) or --address"
        )
        return 1
    try:
        # The local port is the same, as clients use the number that the task gives.
        stream = forward({STREAM_PORT: STREAM_PORT})
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        say(
            f"{flags.address}:{STREAM_PORT} {'is taken' if taken else f'cannot be used: {error}'}: sessions "
            "go by gRPC, with smaller throughput. Another --address has both ports free"
        )
        stream = None
    try:
        grpc.check()
        print(f"export TENSORFLEET_ADDRESS=grpc://{flags.address}:{grpc.local_ports[GRPC_PORT]}", flush=True)
        say(f"forwards to /job:{found.master_job}/task:0 of the release {found.name}; Ctrl-C ends it")
        over.wait()
    finally:
        grpc.close()
        if stream is not None:
            stream.close()
    return 0


def say(text: str) -> None:
    """Prints to standard error, as standard output is for `eval`."""
    print(f"tensorfleet connect: {text}", file=sys.stderr, flush=True)
