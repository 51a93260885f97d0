"""`tf.graph_util`: GraphDefs cut down, and variables in them made constants."""

import typing as _typing

from tensorfleet.graph.graph_util import (
    convert_variables_to_constants as convert_variables_to_constants,
    extract_sub_graph as extract_sub_graph,
    must_run_on_cpu as must_run_on_cpu,
    remove_training_nodes as remove_training_nodes,
    tensor_shape_from_node_def_name as tensor_shape_from_node_def_name,
)
from tensorfleet.graph.import_graph import import_graph_def as import_graph_def

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
