"""`tf.contrib.compiler.xla`: functions to be compiled, which are called as they are."""

import typing as _typing

from tensorfleet.contrib.small_parts import compile as compile

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["compile"]
