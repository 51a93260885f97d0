"""`tensorfleet examples`: lists the programs in the package, or runs one."""

from __future__ import annotations

import argparse
import ast
import re
import runpy
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import tensorfleet.examples
from tensorfleet.core.similar import did_you_mean

WRONG_USAGE = 2
_PACKAGE = "tensorfleet.examples"


def parser() -> argparse.ArgumentParser:
    """The arguments of `tensorfleet examples`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet examples",
        usage="tensorfleet examples [NAME [ARGUMENT…]]",
        description="List the example programs, or run one: the arguments are its own.",
        epilog="tensorfleet examples NAME --help tells what a program takes. `tensorfleet up` starts a "
        "cluster for those that use one.",
        allow_abbrev=False,
    )
    p.add_argument("name", nargs="?", metavar="NAME", choices=list(programs()))
    return p


def programs() -> dict[str, str]:
    """The first sentence of each program's docstring, by the program's name."""
    found = {}
    for path in sorted(Path(tensorfleet.examples.__path__[0]).glob("*.py")):
        source = path.read_text()
        if '\nif __name__ == "__main__":\n' in source:
            text = " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n", 1)[0].split())
            found[path.stem] = re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
    return found


def main(argv: Sequence[str]) -> int:
    """Lists the programs, or runs one as `python -m` does; returns its exit code, 2 for an unknown one."""
    if not argv or argv[0].startswith("-"):
        parser().parse_args(argv)  # handles --help and unknown flags
        print(listing())
        return 0
    name, known = argv[0], programs()
    if name not in known:
        print(
            f"tensorfleet examples: there is no example {name}.{did_you_mean(name, known)}\n\n{listing()}",
            file=sys.stderr,
        )
        return WRONG_USAGE
    before = sys.argv
    sys.argv = [name, *argv[1:]]
    try:
        runpy.run_module(f"{_PACKAGE}.{name}", run_name="__main__", alter_sys=True)
    finally:
        sys.argv = before
    return 0


def listing() -> str:
    """A line or two for each program."""
    known = programs()
    width = max(map(len, known)) + 2
    columns = max(shutil.get_terminal_size().columns, 2 * width)
    lines = [
        textwrap.fill(
            text,
            columns,
            initial_indent=f"{name:<{width}}",
            subsequent_indent=" " * width,
            break_on_hyphens=False,
        )
        for name, text in known.items()
    ]
    return "\n".join([*lines, "", "tensorfleet examples NAME --help tells what a program takes."])
