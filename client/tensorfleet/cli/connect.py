"""`tensorfleet connect`: ports of this machine that lead to a release's master, until Ctrl-C."""

from __future__ import annotations

import argparse
import errno
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from tensorfleet.cli.submit import add_cluster_flags
from tensorfleet.core import errors
from tensorfleet.kube import access, api, release
from tensorfleet.kube.forward import Forwarder
from tensorfleet.kube.release import GRPC_PORT, STREAM_PORT


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet connect`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet connect",
        description="Forward ports of this machine to the master of a release of TensorFleet's chart, until "
        "Ctrl-C. Programs here reach the cluster at the address that is printed, with the credentials "
        "in the files beside it, which go when it ends.",
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
    """Forwards until a signal comes, and returns 0 then; 1 if it cannot."""
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
    with access.on_this_machine(cluster, found) as variables:
        return _forward(flags, over, cluster, found, variables)


def _forward(
    flags: argparse.Namespace,
    over: threading.Event,
    cluster: api.Cluster,
    found: release.Release,
    variables: dict[str, str],
) -> int:
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
        # The task names this port itself, so that clients look for it at this very number.
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
        address = f"grpc://{flags.address}:{grpc.local_ports[GRPC_PORT]}"
        shown = {"TENSORFLEET_ADDRESS": address, **variables}
        print("export " + " ".join(f"{key}={shlex.quote(text)}" for key, text in shown.items()), flush=True)
        say(f"forwards to /job:{found.master_job}/task:0 of the release {found.name}; Ctrl-C ends it")
        over.wait()
    finally:
        grpc.close()
        if stream is not None:
            stream.close()
    return 0


def say(text: str) -> None:
    """Tells the user, on standard error: standard output is for `eval`."""
    print(f"tensorfleet connect: {text}", file=sys.stderr, flush=True)
