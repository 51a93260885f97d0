"""The subcommands of `tensorfleet` and their modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from tensorfleet.core.entry_points import load_entry_point

COMMANDS = {
    "run": "run a program that imports tensorflow",
    "doctor": "list what a program, graph or checkpoint uses and is missing",
    "serve": "serve one task of a cluster",
    "up": "start a cluster on this machine",
    "status": "show the tasks of a cluster and what they hold",
    "top": "show what the tasks of a cluster do, live",
    "stacks": "print what all threads of a task are doing",
    "submit": "run a script as a Kubernetes Job beside a release of the chart",
    "connect": "lead to a release of the chart, or a secured cluster, from a local port",
    "token": "make, list and revoke tokens for clients",
    "certs": "make a development CA, and certificates of a cluster",
    "demo": "run a map/reduce over handwritten digits on a cluster",
    "examples": "list the example programs, or run one",
    "completion": "print a script that completes this command in a shell",
    "version": "print the versions of the installed packages",
}
"""A description of each command, by its name."""

_OF_THE_SERVICE = frozenset(("serve", "up", "demo"))


def load(name: str) -> Callable[[Sequence[str]], int]:
    """The function that runs a command with its arguments and returns an exit code, imported on request.

    A command of the client is the `main` of the module of its name in this folder; the service registers its
    own by entry points.

    Raises:
        NotInstalledError: the command is the service's, which is not installed.
    """
    run: Callable[[Sequence[str]], int]
    if name in _OF_THE_SERVICE:
        absent = f"tensorfleet {name} takes the service's package: {{how}}"
        run = load_entry_point("tensorfleet.commands", name, absent)
    else:
        run = import_module(f"{__package__}.{name}").main
    return run
