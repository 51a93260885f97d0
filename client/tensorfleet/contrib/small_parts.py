"""`tf.contrib.compiler`, `tf.contrib.deprecated`, and the checks and scopes of `tf.contrib.framework`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorfleet.core.device import DeviceSpec
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.debugging.checks import assert_equal
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn import confusion
from tensorfleet.train.step_count import assert_global_step, get_global_step


@contextmanager
def experimental_jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """A block without effect: there is no compiler to choose
    (`tf.contrib.compiler.jit.experimental_jit_scope`)."""
    yield


def compile(computation: Callable[..., Any], inputs: Any = None) -> Any:
    """`computation(*inputs)` as it is: there is no compiler to choose (`tf.contrib.compiler.xla.compile`)."""
    return computation(*(inputs or ()))


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Any:
    """A summary of one number (`tf.contrib.deprecated.scalar_summary`)."""
    return summary.scalar(_tag(tags), values, collections)


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Any:
    """A summary of many numbers (`tf.contrib.deprecated.histogram_summary`)."""
    return summary.histogram(_tag(tag), values, collections)


def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None
) -> Any:
    """A summary of images (`tf.contrib.deprecated.image_summary`)."""
    return summary.image(_tag(tag), tensor, max_images, collections)


def _tag(tag: Any) -> str:
    if not isinstance(tag, str):
        raise NotImplementedError(
            "Summaries whose tags are tensors are not part of TensorFleet; pass a string."
        )
    return tag.replace(" ", "_")


def assert_scalar(tensor: Any, name: str | None = None) -> Any:
    """The tensor, of rank 0 (`tf.contrib.framework.assert_scalar`). Raises ValueError otherwise."""
    with framework.name_scope(name, "assert_scalar", [tensor]):
        tensor = convert_to_tensor(tensor)
        if tensor.ndim != 0:
            raise ValueError(f"Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
        return tensor


def assert_scalar_int(tensor: Any, name: str | None = None) -> Any:
    """The tensor, an integer of rank 0 (`tf.contrib.framework.assert_scalar_int`). Raises ValueError
    otherwise."""
    with framework.name_scope(name, "assert_scalar_int", [tensor]):
        tensor = convert_to_tensor(tensor)
        if not tensor.dtype.base.is_integer:
            raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
        return assert_scalar(tensor)


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """The tensor, which must have a shape (`tf.contrib.framework.with_shape`).

    Raises:
        ValueError: it is known to have another.
    """
    tensor = convert_to_tensor(tensor)
    known = static_value(expected_shape) if isinstance(expected_shape, Tensor) else expected_shape
    if known is not None:
        wanted = TensorShape(list(known))
        if not tensor.shape.is_compatible_with(wanted):
            raise ValueError(f"Incompatible shapes: {tensor.name} has {tensor.shape}, not {wanted}")
        if tensor.shape.is_fully_defined():
            return tensor
    check = assert_equal(shape(tensor), expected_shape, message="Wrong shape for tensor.")
    with framework.control_dependencies([check]):
        checked = identity(tensor)
    if known is not None:
        checked.set_shape(tensor.shape.merge_with(TensorShape(list(known))))
    return checked


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """The tensor, which must have another's shape (`tf.contrib.framework.with_same_shape`)."""
    expected = convert_to_tensor(expected_tensor)
    known = expected.shape.as_list() if expected.shape.is_fully_defined() else None
    return with_shape(known if known is not None else shape(expected), tensor)


def reduce_sum_n(tensors: Any, name: str | None = None) -> Any:
    """The sum of all elements of tensors (`tf.contrib.framework.reduce_sum_n`)."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with framework.name_scope(name, "reduce_sum_n", tensors):
        return add_n([reduce_sum(tensor) for tensor in tensors])


def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Predictions and labels without a last dimension of size 1 that one of them has too many, predictions
    first (`tf.contrib.framework.remove_squeezable_dimensions`)."""
    labels, predictions = confusion.remove_squeezable_dimensions(labels, predictions, name=name)
    return predictions, labels


def get_graph_from_inputs(op_input_list: Any, graph: Any = None) -> Any:
    """The graph of tensors (`tf.contrib.framework.get_graph_from_inputs`). Raises ValueError if they are of
    several."""
    graphs = {id(x.graph): x.graph for x in op_input_list if hasattr(x, "graph")}
    if graph is not None:
        graphs[id(graph)] = graph
    if len(graphs) > 1:
        raise ValueError("The inputs must be from the same graph.")
    return next(iter(graphs.values()), None) or get_default_graph()


def get_placeholders(graph: Any) -> list[Tensor]:
    """The results of a graph's placeholders, in the order in which they were made
    (`tf.contrib.framework.get_placeholders`). Raises TypeError if `graph` is none."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def get_name_scope() -> str:
    """The current name scope (`tf.contrib.framework.get_name_scope`)."""
    return get_default_graph().get_name_scope()


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """The given global step, checked, or that of the graph
    (`tf.contrib.framework.assert_or_get_global_step`)."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


class VariableDeviceChooser:
    """Gives variables the parameter servers in turn (`tf.contrib.framework.VariableDeviceChooser`).

    Args:
        num_tasks: how many servers; 0 for none.
        job_name: their job.
        device_type, device_index: the device in a task.
        replica: the replica.
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: Any = None,
    ) -> None:
        self._job, self._tasks, self._next = job_name, num_tasks, 0
        self._given = {"device_type": device_type, "device_index": device_index, "replica": replica}

    def __call__(self, op: Any) -> str:
        spec = DeviceSpec(**self._given)
        if self._tasks > 0:
            spec = DeviceSpec(job=self._job, task=self._next, **self._given)
            # What belongs to a variable is placed beside it anyway.
            if op.type in ("Variable", "VariableV2", "VarHandleOp"):
                self._next = (self._next + 1) % self._tasks
        return spec.to_string()
