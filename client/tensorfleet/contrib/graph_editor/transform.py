"""`tf.contrib.graph_editor.transform`: copies of parts of a graph."""

import typing as _typing

from tensorfleet.contrib.graph_edits.copying import (
    TransformerInfo as TransformerInfo,
    copy as copy,
    copy_with_input_replacements as copy_with_input_replacements,
    graph_replace as graph_replace,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["TransformerInfo", "copy", "copy_with_input_replacements", "graph_replace"]
