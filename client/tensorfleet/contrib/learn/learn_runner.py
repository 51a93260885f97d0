"""`tf.contrib.learn.learn_runner`: runs experiments."""

import typing as _typing

from tensorfleet.contrib.experiments import run as run

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["run"]
