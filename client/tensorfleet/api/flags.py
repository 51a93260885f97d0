"""`tf.flags`: absl's flags, with what TensorFlow adds to them.

`FLAGS` reads the command line at the first look at a flag, and the functions that define flags also take
their arguments by the names of earlier versions.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar

from absl import flags

P = ParamSpec("P")
R = TypeVar("R")

_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}

# A flag belongs to the module that defines it, not to this one.
flags.disclaim_key_flags()


class Flags:
    """The flags of the program (`tf.flags.FLAGS`): one attribute for each, of absl's `FLAGS`.

    Raises:
        UnrecognizedFlagError: at the first look, if the command line has a flag that is not defined.
        AttributeError: there is no such flag.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # `inspect` and the like look at no flag
            raise AttributeError(name)
        if not hasattr(type(flags.FLAGS), name) and not flags.FLAGS.is_parsed():
            flags.FLAGS(sys.argv)
        return getattr(flags.FLAGS, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(flags.FLAGS, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(flags.FLAGS, name)

    def __getitem__(self, name: str) -> Any:
        return flags.FLAGS[name]

    def __setitem__(self, name: str, flag: flags.Flag[Any]) -> None:
        flags.FLAGS[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in flags.FLAGS

    def __iter__(self) -> Iterator[str]:
        return iter(flags.FLAGS)

    def __len__(self) -> int:
        return len(flags.FLAGS)

    def __dir__(self) -> list[str]:
        return dir(flags.FLAGS)

    def __str__(self) -> str:
        return str(flags.FLAGS)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads the flags in `argv`, whose first item is the program's name; returns the other items.

        Raises:
            UnrecognizedFlagError: a flag is not defined, and `known_only` is not set.
        """
        return flags.FLAGS(argv, known_only)

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Reads the known flags in `args`, by default the command line; returns the others.

        Programs of the versions up to 1.4 call it before they look at `FLAGS.__flags`.
        """
        given = sys.argv[1:] if args is None else args
        return flags.FLAGS([sys.argv[0], *given], known_only=True)[1:]


FLAGS = Flags()


def _with_old_names(define: Callable[P, R]) -> Callable[P, R]:
    """`define`, which also takes its arguments by their old names."""

    @functools.wraps(define)
    def defined(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _RENAMED.keys().isdisjoint(kwargs):
            logging.warning(
                "Use of the keyword argument names (flag_name, default_value, docstring) is deprecated, "
                "please use (name, default, help) instead."
            )
            renamed: Any = {_RENAMED.get(key, key): value for key, value in kwargs.items()}
            return define(*args, **renamed)
        return define(*args, **kwargs)

    return defined


DEFINE_string = _with_old_names(flags.DEFINE_string)
DEFINE_boolean = _with_old_names(flags.DEFINE_boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_float = _with_old_names(flags.DEFINE_float)
DEFINE_integer = _with_old_names(flags.DEFINE_integer)
