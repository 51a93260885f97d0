"""`tf.contrib.graph_editor.subgraph`: views of parts of a graph."""

import typing as _typing

from tensorfleet.contrib.graph_edits.views import (
    SubGraphView as SubGraphView,
    make_view as make_view,
    make_view_from_scope as make_view_from_scope,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["SubGraphView", "make_view", "make_view_from_scope"]
