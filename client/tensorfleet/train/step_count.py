"""The global step: the variable that counts the steps of training."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes, logging
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_options import VariableAggregation
from tensorfleet.ops.state.variables import Variable


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of the global step in a session (`tf.train.global_step`)."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Graph | None = None) -> Any:
    """The graph's global step: from its collection, or by the name "global_step:0"; None without one
    (`tf.train.get_global_step`).

    Raises:
        TypeError: it is not an integer scalar.
    """
    graph = graph or get_default_graph()
    collected = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(collected) > 1:
        logging.error("Multiple tensors in global_step collection.")
        return None
    if collected:
        found = collected[0]
    else:
        try:
            found = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(found)
    return found


def create_global_step(graph: Graph | None = None) -> Any:
    """Makes the graph's global step, an int64 variable of rank 0 (`tf.train.create_global_step`).

    Raises:
        ValueError: there is one already.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=zeros_initializer(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The graph's global step, made if there is none (`tf.train.get_or_create_global_step`).

    Example:
        >>> step = tf.train.get_or_create_global_step()
        >>> step.name, step is tf.train.get_global_step()
        ('global_step:0', True)
    """
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Checks that a value can be the global step (`tf.train.assert_global_step`).

    Raises:
        TypeError: it is not a tensor or variable, not an integer, or has a rank other than 0.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
