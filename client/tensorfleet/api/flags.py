"""`tf.app.flags`: command-line flags as global settings.

They are read from the command line at the first look at `FLAGS`, or by `tf.app.run`; arguments that are no
flags are left alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any


class FlagValues:
    """The flags of the program (`tf.app.flags.FLAGS`): one attribute for each."""

    def __init__(self) -> None:
        vars(self).update(_definitions=[], _required=[], _values={}, _rest=None)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads the flags in `argv`, whose first item is the program's name; returns the other items.

        An unknown flag, or a value of another type, ends the program with its usage, unless `known_only`.
        """
        parser = self._parser()
        parsed, rest = parser.parse_known_args(list(argv[1:]))
        if not known_only and any(argument.startswith("--") for argument in rest):
            parser.error(f"Unknown command line flag {' '.join(rest)}")
        for name in self._required:
            if getattr(parsed, name) is None:
                parser.error(f"Flag --{name} must have a value other than None.")
        self._values.update(vars(parsed))
        vars(self)["_rest"] = [argv[0], *rest]
        return [argv[0], *rest]

    def is_parsed(self) -> bool:
        """Whether the command line has been read."""
        return self._rest is not None

    def flag_values_dict(self) -> dict[str, Any]:
        """All flags and their values."""
        self._read()
        return dict(self._values)

    def _define(self, name: str, default: Any, help: str | None, convert: Callable[[str], Any]) -> None:
        # A second definition takes the place of the first: several programs may be imported into one process.
        self._definitions[:] = [definition for definition in self._definitions if definition[0] != name]
        self._definitions.append((name, default, (help or "").replace("%", "%%"), convert))
        self._values[name] = default
        vars(self)["_rest"] = None

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            description=getattr(sys.modules.get("__main__"), "__doc__", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for name, default, text, convert in self._definitions:
            if convert is _boolean:
                parser.add_argument(
                    f"--{name}", dest=name, default=default, help=text, type=convert, nargs="?", const=True
                )
                parser.add_argument(f"--no{name}", dest=name, action="store_false", default=default)
            else:
                parser.add_argument(f"--{name}", dest=name, default=default, help=text, type=convert)
        return parser

    def _read(self) -> None:
        if self._rest is None:
            self(sys.argv, known_only=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._read()
        if name not in self._values:
            raise AttributeError(f"Unknown command line flag '{name}'")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._read()
        if name not in self._values:
            raise AttributeError(f"Unknown command line flag '{name}'")
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Any:
        return iter(self._values)


FLAGS = FlagValues()


def _boolean(text: str) -> bool:
    if text.lower() in ("true", "t", "1", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "no"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def DEFINE_string(name: str, default: str | None, help: str | None = None) -> None:
    """A flag whose value is text."""
    FLAGS._define(name, default, help, str)


def DEFINE_integer(name: str, default: int | None, help: str | None = None) -> None:
    """A flag whose value is an integer."""
    FLAGS._define(name, default, help, int)


def DEFINE_float(name: str, default: float | None, help: str | None = None) -> None:
    """A flag whose value is a float."""
    FLAGS._define(name, default, help, float)


def DEFINE_boolean(name: str, default: bool | None, help: str | None = None) -> None:
    """A flag that is `--name`, `--noname` or `--name=true`."""
    FLAGS._define(name, default, help, _boolean)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(name: str, default: str | None, enum_values: Sequence[str], help: str | None = None) -> None:
    """A flag whose value is one of a few words."""

    def one_of(text: str) -> str:
        if text not in enum_values:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(enum_values)}")
        return text

    FLAGS._define(name, default, help, one_of)


def DEFINE_list(name: str, default: Any, help: str | None = None) -> None:
    """A flag whose value is a list of words, separated by commas."""
    start = _words(default) if isinstance(default, str) else default
    FLAGS._define(name, start, help, _words)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")] if text else []


def mark_flag_as_required(flag_name: str) -> None:
    """Lets the program end with its usage where a flag is not given and has no default."""
    FLAGS._required.append(flag_name)


def mark_flags_as_required(flag_names: Sequence[str]) -> None:
    """`mark_flag_as_required` for several flags."""
    for name in flag_names:
        mark_flag_as_required(name)
