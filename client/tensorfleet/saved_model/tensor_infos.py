"""TensorInfos, the descriptions of tensors in signatures."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.scopes import prepend_scope
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.proto.meta_graph_pb2 import TensorInfo

INIT_OP_KEY = "__saved_model_init_op"


def build_tensor_info(tensor: Any) -> TensorInfo:
    """The name, dtype and static shape of a tensor (`tf.saved_model.build_tensor_info`).

    Args:
        tensor: a tensor, a variable or a SparseTensor.
    """
    info = TensorInfo(dtype=tensor.dtype.as_datatype_enum)
    info.tensor_shape.CopyFrom(tensor.get_shape().as_proto())
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The tensor that a TensorInfo names (`tf.saved_model.get_tensor_from_tensor_info`).

    Args:
        graph: the graph, by default the default graph.
        import_scope: the scope into which the graph was imported.

    Raises:
        KeyError: the graph does not have the tensor.
        ValueError: the TensorInfo has no name.
    """
    graph = graph or get_default_graph()

    def tensor(name: str) -> Any:
        return graph.get_tensor_by_name(prepend_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor(tensor_info.name)
    if encoding == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(
            tensor(parts.indices_tensor_name),
            tensor(parts.values_tensor_name),
            tensor(parts.dense_shape_tensor_name),
        )
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}. Expected `coo_sparse` or `name`.")


def operation(tensor_info: TensorInfo, graph: Graph, import_scope: str | None) -> Operation:
    """The operation that a TensorInfo names, such as the one that initializes a model."""
    element = graph.as_graph_element(prepend_scope(tensor_info.name, import_scope))
    found: Operation = element if isinstance(element, Operation) else element.op
    return found
