"""The `tensorfleet` command: the name of a subcommand, then its flags."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tensorfleet.cli.commands import COMMANDS, load
from tensorfleet.core.entry_points import NotInstalledError
from tensorfleet.core.environment import SettingsError
from tensorfleet.core.similar import did_you_mean

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
    try:
        run = load(name)
    except NotInstalledError as error:
        print(error, file=sys.stderr)
        return 1
    except SettingsError as error:  # of a module that reads its setting when it is imported
        return _wrong_setting(name, error)
    try:
        return run(arguments[1:])
    except SettingsError as error:
        return _wrong_setting(name, error)
    except KeyboardInterrupt:
        return INTERRUPTED


def _wrong_setting(command: str, error: SettingsError) -> int:
    print(f"tensorfleet {command}: {error}", file=sys.stderr)
    return WRONG_USAGE


def usage() -> str:
    """The text of `tensorfleet --help`."""
    lines = [f"  {name:<12}{text}" for name, text in COMMANDS.items()]
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
