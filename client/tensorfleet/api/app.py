"""`tf.app`: the frame of a program with flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from absl import flags


def __getattr__(name: str) -> Any:
    if name != "flags":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("tensorfleet.api.flags")


def run(main: Callable[[Sequence[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Reads the flags, calls `main` with the other arguments, and exits with its result (`tf.app.run`).

    Flags that are not defined are among the other arguments. A value that does not fit its flag ends the
    program with its usage, as `--help` does.

    Args:
        main: by default the function `main` of the program.
        argv: the program's name and its arguments, by default those of the command line.
    """
    # Not absl.app: with it come flags of absl's logging, such as --log_dir, which programs define themselves.
    from absl import flags

    if "help" not in flags.FLAGS:
        flags.DEFINE_boolean("help", False, "show this help", short_name="?", allow_hide_cpp=True)
    try:
        rest = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}\n{_usage(flags.FLAGS)}", file=sys.stderr)
        sys.exit(1)
    if flags.FLAGS["help"].value:
        print(_usage(flags.FLAGS))
        sys.exit(0)
    sys.exit((main or sys.modules["__main__"].main)(rest))


def _usage(values: flags.FlagValues) -> str:
    """The docstring of the program, and its flags."""
    text = (sys.modules["__main__"].__doc__ or "").strip()
    return f"{text}\n\nusage: {sys.argv[0]} [flags]\n{values.main_module_help()}".lstrip()
