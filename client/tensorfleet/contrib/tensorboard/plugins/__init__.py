"""`tf.contrib.tensorboard.plugins`."""

import typing as _typing

from tensorfleet.contrib.tensorboard.plugins import projector as projector

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("projector",))
