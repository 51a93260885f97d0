"""The command lines of the examples."""

from __future__ import annotations

import argparse

from tensorfleet.examples.idx import sample_dir


def parser(doc: str | None, target: bool = True) -> argparse.ArgumentParser:
    """A parser whose `--help` shows the program's own text.

    Args:
        doc: the docstring of the program.
        target: whether the program takes a target for its sessions, by default this process.
    """
    result = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    if target:
        result.add_argument(
            "target",
            nargs="?",
            default="",
            metavar="TARGET",
            help="a task of the cluster to use, such as grpc://127.0.0.1:2222 (default: this process)",
        )
    return result


def add_data_dir(to: argparse.ArgumentParser) -> None:
    """Adds the directory of the digits as the last positional argument."""
    to.add_argument(
        "data_dir",
        nargs="?",
        default=sample_dir(),
        metavar="DATA_DIR",
        help="the directory of MNIST's files, plain or with .gz (default: the packaged sample)",
    )


def positive(text: str) -> int:
    """A number of 1 or more, for argparse's `type`."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 1 or more")
    return int(text)
