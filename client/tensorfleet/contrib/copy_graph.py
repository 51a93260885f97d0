"""`tf.contrib.copy_graph`: operations and variables of one graph in another."""

import typing as _typing

from tensorfleet.contrib.graph_copies import (
    copy_op_to_graph as copy_op_to_graph,
    copy_variable_to_graph as copy_variable_to_graph,
    get_copied_op as get_copied_op,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
