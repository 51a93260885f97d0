"""`tensorfleet doctor`: missing parts of TensorFlow that a program, graph or checkpoint uses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tensorfleet.run import graph_files, program_files, reading
from tensorfleet.run.reading import Finding

MISSING = 1
WRONG_USAGE = 2
# What is read of a program before it starts: below a second, for the larger ones of public programs.
_BEFORE_START = 1_000_000


def parser() -> argparse.ArgumentParser:
    """The arguments of `tensorfleet doctor`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet doctor",
        description="Read programs (.py, with the modules that they import of those beside them, and in "
        "PYTHONPATH), graphs (.pb, .pbtxt, .meta), SavedModels (saved_model.pb, or their directory) and "
        "checkpoints without running them, and tell which names, op types and dtypes of TensorFlow are "
        "missing here, where they are used, and what to do.",
        epilog="Exit code: 0 if nothing is missing, 1 if something is, 2 if a file cannot be read.",
        allow_abbrev=False,
    )
    p.add_argument(
        "paths",
        nargs="+",
        metavar="FILE",
        help="a program, a graph, a model's directory, or a checkpoint's prefix",
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Prints what is missing; returns 0 if nothing is, 1 if something is, 2 for an unreadable file."""
    code = 0
    for text in parser().parse_args(argv).paths:
        try:
            findings, summary = examine(text)
        except (OSError, graph_files.FileError) as error:
            print(f"tensorfleet doctor: {error}", file=sys.stderr)
            code = WRONG_USAGE
            continue
        for finding in findings:
            print(f"{finding.place}: {finding.text}")
        print(f"{text}: {_count(findings)}{summary}.")
        if findings and code == 0:
            code = MISSING
    return code


def examine(text: str) -> tuple[list[Finding], str]:
    """The findings about a file, and the end of a sentence about what was read.

    Raises:
        OSError, FileError: the file cannot be read.
    """
    path = Path(text)
    if path.is_dir() and (models := sorted(path.glob("saved_model.pb*"))):
        path = models[0]
    if path.suffix in graph_files.GRAPHS:
        findings, nodes = graph_files.read_graph(path)
        return findings, f" in {nodes} nodes"
    if path.suffix == ".py":
        program = reading.read(path)
        return program.findings, f" of {len(program.names)} names in {len(program.files)} files"
    prefix = text.removesuffix(".index")
    findings, tensors = graph_files.read_checkpoint(prefix)
    return findings, f" in {tensors} tensors"


def _count(findings: Sequence[Finding]) -> str:
    names = {finding.name for finding in findings}
    return f"{len(names)} {'is' if len(names) == 1 else 'are'} missing" if names else "nothing is missing"


def sentence(script: str, module: bool = False) -> str:
    """A sentence with the missing names that a program uses; empty if there are none, or for no script.

    Args:
        script: its file, or with `module` the name of a module, as `python -m` takes it.
    """
    found = program_files.script_of(script) if module else (Path(script), Path(script).parent)
    if found is None:
        return ""
    path, root = found
    try:
        findings = reading.read(path, root, _BEFORE_START).findings
    except OSError:
        return ""
    places: dict[str, str] = {}
    for finding in findings:
        places.setdefault(finding.name, finding.place)
    if not places:
        return ""
    listed = ", ".join(f"{name} ({place})" for name, place in list(places.items())[:5])
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return f"the program uses what is missing here: {listed}{more}; tensorfleet doctor {path} says what to do"
