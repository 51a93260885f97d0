"""`tf.app`: runs a program that has flags."""

import typing as _typing

from tensorfleet import flags as flags
from tensorfleet.api.app import run as run

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("flags",))
