"""`tensorfleet connect`: ports of this machine that lead to a cluster, until Ctrl-C: forwarded to a release's
master, or a proxy that adds TLS and the token for clients that know neither.
"""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType

from tensorfleet.cli.submit import add_cluster_flags
from tensorfleet.core import errors
from tensorfleet.core.signals import wait_for
from tensorfleet.kube import access, api, release
from tensorfleet.kube.forward import Forwarder
from tensorfleet.kube.release import GRPC_PORT, STREAM_PORT
from tensorfleet.security.calls import for_client
from tensorfleet.session.proxy import Proxy

PROXY = f"127.0.0.1:{GRPC_PORT}"


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet connect`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet connect",
        description="Forward ports of this machine to the master of a release of TensorFleet's chart, or "
        "have a local gRPC port add TLS and the token for TensorFlow's own client, which knows neither, "
        "until Ctrl-C. Programs here reach the cluster at the address that is printed; with a release, "
        "credentials are in the files beside it, which go when it ends.",
        epilog="Several clusters at once: give each one an --address or --listen of its own, such as "
        "127.0.0.2:2222. For an ADDRESS, certificates and token are those of the environment "
        "(TENSORFLEET_TLS_CERT, TENSORFLEET_TOKEN_FILE and so on).",
        allow_abbrev=False,
    )
    p.add_argument(
        "target",
        nargs="?",
        metavar="ADDRESS",
        help="of a task, host:port or grpc://host:port, that a proxy leads to (default without --release: "
        "TENSORFLEET_ADDRESS)",
    )
    add_cluster_flags(p, required=False)
    p.add_argument("--address", default="127.0.0.1", metavar="HOST", help="to listen at (default: 127.0.0.1)")
    p.add_argument("--port", type=_port, default=GRPC_PORT, help=f"0: any free one (default: {GRPC_PORT})")
    p.add_argument(
        "--listen",
        type=_place,
        metavar="HOST:PORT",
        help=f"add TLS and the token for what connects here (default with ADDRESS: {PROXY}; port 0: any free "
        "one). Only for connections of your own processes, unless --open-to-others",
    )
    p.add_argument(
        "--open-to-others",
        action="store_true",
        help="let other users and, where --listen is no loopback address, other machines use the cluster "
        "with your token",
    )
    p.add_argument("--stop-with-stdin", action="store_true", help="end when standard input ends, too")
    return p


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as {PROXY}")
    return host, _port(port)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return int(text)


def main(argv: Sequence[str]) -> int:
    """Forwards until a signal arrives; returns 0, or 1 if forwarding is not possible."""
    p = parser()
    flags = p.parse_args(argv)
    if flags.release and flags.target:
        p.error("give an ADDRESS or a --release, not both")
    if not flags.release:
        flags.target = flags.target or os.environ.get("TENSORFLEET_ADDRESS")
        flags.listen = flags.listen or _place(PROXY)
        if not flags.target:
            p.error("which cluster? Give the ADDRESS of one of its tasks, or a --release of the chart")
        flags.target = flags.target.rpartition("://")[2]
        if not flags.target.rpartition(":")[2].isdecimal():
            p.error(f"{flags.target} has no port: write host:port, such as ps-0.example.org:2222")
    over = threading.Event()

    def end(signum: int, frame: FrameType | None) -> None:
        over.set()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in signals}
    if flags.stop_with_stdin:
        threading.Thread(target=_wait_for_stdin, args=(over,), daemon=True).start()
    try:
        return run(flags, over) if flags.target is None else proxy(flags, flags.target, flags.target, over)
    except errors.OpError as error:
        say(error.message)
    except ImportError as error:
        say(str(error))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 1


def _wait_for_stdin(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def run(flags: argparse.Namespace, over: threading.Event) -> int:
    """Forwards until `over` is set. Raises OpError, ImportError."""
    cluster = api.Cluster("tensorfleet connect", flags.context)
    if flags.listen:
        flags.address, flags.port = "127.0.0.1", 0  # for the proxy alone
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
    if flags.listen:
        try:
            grpc.check()
            master = f"/job:{found.master_job}/task:0 of the release {found.name}"
            target = f"127.0.0.1:{grpc.local_ports[GRPC_PORT]}"
            return proxy(flags, target, master, over, os.environ | variables)
        finally:
            grpc.close()
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
        address = f"grpc://{flags.address}:{grpc.local_ports[GRPC_PORT]}"
        shown = {"TENSORFLEET_ADDRESS": address, **variables}
        print("export " + " ".join(f"{key}={shlex.quote(text)}" for key, text in shown.items()), flush=True)
        say(f"forwards to /job:{found.master_job}/task:0 of the release {found.name}; Ctrl-C ends it")
        wait_for(over)
    finally:
        grpc.close()
        if stream is not None:
            stream.close()
    return 0


def proxy(
    flags: argparse.Namespace,
    target: str,
    name: str,
    over: threading.Event,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Adds TLS and the token for what connects, until `over` is set. Raises OpError."""
    host, port = flags.listen
    try:
        found = Proxy(target, flags.listen, for_client(target, environ), say, flags.open_to_others)
    except OSError as error:
        say(
            f"cannot listen at {host}:{port}: {error.strerror or error}. End what uses the port, or choose "
            "another one with --listen (port 0: any free one)"
        )
        return 1
    try:
        found.check()
        found.start()
        print(f"grpc://{host}:{found.port}", flush=True)
        say(f"leads to {name}; Ctrl-C ends it")
        wait_for(over)
    finally:
        found.close()
    return 0


def say(text: str) -> None:
    """Prints to standard error, as standard output is for `eval`."""
    print(f"tensorfleet connect: {text}", file=sys.stderr, flush=True)
