"""`tf.contrib.graph_editor.util`: lists of operations and tensors, placeholders."""

import typing as _typing

from tensorfleet.contrib.graph_edits.choosing import (
    get_consuming_ops as get_consuming_ops,
    get_generating_ops as get_generating_ops,
    get_tensors as get_tensors,
    get_unique_graph as get_unique_graph,
    make_list_of_op as make_list_of_op,
    make_list_of_t as make_list_of_t,
    make_placeholder_from_dtype_and_shape as make_placeholder_from_dtype_and_shape,
    make_placeholder_from_tensor as make_placeholder_from_tensor,
    placeholder_name as placeholder_name,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "get_consuming_ops",
    "get_generating_ops",
    "get_tensors",
    "get_unique_graph",
    "make_list_of_op",
    "make_list_of_t",
    "make_placeholder_from_dtype_and_shape",
    "make_placeholder_from_tensor",
    "placeholder_name",
]
