"""The `tensorfleet` command: a word for what to do, then that subcommand's own flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from tensorfleet.core.entry_points import NotInstalledError, load_entry_point
from tensorfleet.core.similar import did_you_mean

# Modules whose `main(argv)` returns an exit code; each is loaded only when it is asked for. Where none stands
# here, the service registers one by an entry point.
COMMANDS = {
    "serve": ("", "serve one task of a cluster"),
    "up": ("", "start a cluster on this machine"),
    "status": ("tensorfleet.cli.status", "show the tasks of a cluster and what they hold"),
    "top": ("tensorfleet.cli.top", "show what the tasks of a cluster do, live"),
    "stacks": ("tensorfleet.cli.stacks", "print what all threads of a task are doing"),
    "submit": ("tensorfleet.cli.submit", "run a script as a Kubernetes Job beside a release of the chart"),
    "connect": ("tensorfleet.cli.connect", "forward ports of this machine to a release of the chart"),
    "token": ("tensorfleet.cli.token", "make, list and revoke tokens for clients"),
    "certs": ("tensorfleet.cli.certs", "make a development CA, and certificates of a cluster"),
    "demo": ("", "run a map/reduce over handwritten digits on a cluster"),
    "examples": ("tensorfleet.cli.examples", "list the example programs, or run one"),
    "completion": ("tensorfleet.cli.completion", "print a script that completes this command in a shell"),
    "version": ("tensorfleet.cli.version", "print the versions of the installed packages"),
}
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
    if name not in COMMANDS:
        problem = (
            f"no such command: {name}.{did_you_mean(name, COMMANDS)}" if name else "a command is missing"
        )
        print(f"{usage()}\n\ntensorfleet: {problem}", file=sys.stderr)
        return WRONG_USAGE
    absent = f"tensorfleet {name} takes the service's package: {{how}}"
    run: Callable[[Sequence[str]], int]
    if COMMANDS[name][0]:
        run = import_module(COMMANDS[name][0]).main
    else:
        try:
            run = load_entry_point("tensorfleet.commands", name, absent)
        except NotInstalledError as error:
            print(error, file=sys.stderr)
            return 1
    try:
        return run(arguments[1:])
    except KeyboardInterrupt:
        return INTERRUPTED


def usage() -> str:
    """What `tensorfleet --help` prints."""
    lines = [f"  {name:<12}{text}" for name, (_, text) in COMMANDS.items()]
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
