"""The `tensorfleet` command: a word for what to do, then that subcommand's own flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

# Modules whose `main(argv)` returns an exit code; each is loaded only when it is asked for.
_COMMANDS = {
    "serve": ("tensorfleet_service.main", "serve one task of a cluster"),
    "up": ("tensorfleet.cli.up", "start a cluster on this machine"),
    "status": ("tensorfleet.cli.status", "show the tasks of a cluster and what they hold"),
    "stacks": ("tensorfleet.cli.stacks", "print what all threads of a task are doing"),
    "submit": ("tensorfleet.cli.submit", "run a script as a Kubernetes Job beside a release of the chart"),
    "connect": ("tensorfleet.cli.connect", "forward ports of this machine to a release of the chart"),
    "demo": ("tensorfleet.cli.demo", "run a map/reduce over handwritten digits on a cluster"),
    "version": ("tensorfleet.cli.version", "print the versions of the installed packages"),
}
_NEED_SERVICE = ("serve", "up", "demo")
WRONG_USAGE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code (2 for a wrong command line)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = arguments[0] if arguments else ""
    if name in ("-h", "--help", "help"):
        print(usage())
        return 0
    if name == "--version":
        name = "version"
    if name not in _COMMANDS:
        problem = f"no such command: {name}" if name else "a command is missing"
        print(f"{usage()}\n\ntensorfleet: {problem}", file=sys.stderr)
        return WRONG_USAGE
    try:
        if name in _NEED_SERVICE:
            import_module("tensorfleet_service")
        run: Callable[[Sequence[str]], int] = import_module(_COMMANDS[name][0]).main
    except ModuleNotFoundError as error:
        if error.name != "tensorfleet_service":
            raise
        print(
            f"tensorfleet {name} takes the service's package: pip install tensorfleet-service",
            file=sys.stderr,
        )
        return 1
    try:
        return run(arguments[1:])
    except KeyboardInterrupt:
        return INTERRUPTED


def usage() -> str:
    """What `tensorfleet --help` prints."""
    lines = [f"  {name:<9}{text}" for name, (_, text) in _COMMANDS.items()]
    return "\n".join(
        [
            "usage: tensorfleet COMMAND [FLAGS]",
            "",
            *lines,
            "",
            "tensorfleet COMMAND --help tells its flags.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
