"""`tf.contrib.compiler.jit`: blocks to be compiled, without effect."""

import typing as _typing

from tensorfleet.contrib.small_parts import experimental_jit_scope as experimental_jit_scope

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["experimental_jit_scope"]
