"""`tensorfleet completion`: a script for completion of the command in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from tensorfleet.cli.commands import COMMANDS, load
from tensorfleet.core import installing
from tensorfleet.core.entry_points import NotInstalledError

SHELLS = ("bash", "zsh", "fish")

_FILES = ("script", "file")
_DIRECTORIES = ("data_dir",)


def parser() -> argparse.ArgumentParser:
    """The arguments of `tensorfleet completion`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet completion",
        description="Print a script that completes commands, flags and names of examples.",
        epilog='For this shell only: eval "$(tensorfleet completion bash)". For good, write it to where the '
        "shell looks: ~/.local/share/bash-completion/completions/tensorfleet, a file _tensorfleet in a "
        "directory of zsh's fpath, or ~/.config/fish/completions/tensorfleet.fish.",
        allow_abbrev=False,
    )
    p.add_argument("shell", choices=SHELLS)
    return p


def main(argv: Sequence[str]) -> int:
    """Prints the script; returns 1 if the package that makes it is missing."""
    flags = parser().parse_args(argv)
    try:
        import shtab
    except ModuleNotFoundError as error:
        if error.name != "shtab":
            raise
        how = installing.the_extra("completion", "shtab")
        print(f"tensorfleet completion takes the package shtab: {how}", file=sys.stderr)
        return 1
    whole = whole_parser()
    for action in _actions(whole):
        if action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks
        elif action.dest in _DIRECTORIES:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    print(shtab.complete(whole, shell=flags.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """One parser for all commands, except those whose package is not installed."""
    whole = argparse.ArgumentParser(prog="tensorfleet")
    commands = whole.add_subparsers()
    for name, text in COMMANDS.items():
        try:
            module = import_module(load(name).__module__)
        except NotInstalledError:
            continue
        make: Any = getattr(module, "parser", None)
        parents = [] if make is None else [make()]
        commands.add_parser(name, help=text, parents=parents, add_help=not parents)
    return whole


def _actions(p: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in p._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
