"""`tf.autograph`: functions that build graphs, as they are."""

import typing as _typing

from tensorfleet.api.autograph import to_graph as to_graph
from tensorfleet.autograph import experimental as experimental

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("experimental",))
