"""`tf.contrib.graph_editor.edit`: parts of a graph detached, connected, left out."""

import typing as _typing

from tensorfleet.contrib.graph_edits.rerouting import (
    bypass as bypass,
    connect as connect,
    detach_inputs as detach_inputs,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["bypass", "connect", "detach_inputs"]
