"""`tf.contrib.tensorboard`: files for TensorBoard's plugins."""

import typing as _typing

from tensorfleet.contrib.tensorboard import plugins as plugins

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("plugins",))
