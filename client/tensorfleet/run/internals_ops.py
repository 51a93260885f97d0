"""Names of `tensorflow.python.framework` and `tensorflow.python.ops` that programs use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import tensorfleet as tf
from tensorfleet.api.raw_ops import raw_ops
from tensorfleet.core import dtypes
from tensorfleet.core.dimension import as_dimension as as_dimension
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import gradient_registry
from tensorfleet.graph.framework import graph_of
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.scopes import prepend_scope, strip_scope
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.parts import sizes_of as normalize_tuple  # noqa: F401
from tensorfleet.ops.nn.confusion import remove_squeezable_dimensions as remove_squeezable_dimensions
from tensorfleet.ops.nn.sampled_loss import _sum_rows as sum_rows  # noqa: F401
from tensorfleet.ops.state.initializers import fans as compute_fans  # noqa: F401
from tensorfleet.train.slot_creator import is_resource as is_resource_variable  # noqa: F401

F = TypeVar("F")

float16_ref, float32_ref, float64_ref, int32_ref, int64_ref = (
    dtype._as_ref for dtype in (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
)

# Graphs.

_uids = itertools.count(1)


def uid() -> int:
    """A number that is given once in a process."""
    return next(_uids)


def tensor_id(tensor: Any) -> int:
    """A number of the tensor, as long as there is the tensor."""
    return id(tensor)


class EagerTensor:
    """The class of eager tensors, of which there are none: `isinstance` with it is False."""


def RegisterShape(op_type: str) -> Callable[[F], F]:
    """A decorator without effect: shapes of results are inferred by the op's own rule."""

    def decorate(function: F) -> F:
        return function

    return decorate


class _GradientRegistry:
    """The registry of gradients, for programs that ask whether theirs is there."""

    @property
    def _registry(self) -> Mapping[str, Any]:
        return gradient_registry.registered()

    def lookup(self, name: str) -> Any:
        """The rule of the name; None if the op is declared not differentiable.

        Raises:
            LookupError: there is none.
        """
        return gradient_registry.lookup(name)

    def list(self) -> Iterable[str]:
        """The names that have a rule, or are declared not differentiable."""
        return gradient_registry.registered().keys()


_gradient_registry = _GradientRegistry()


def get_gradient_function(op: Any) -> Any:
    """The gradient's rule of an operation.

    Raises:
        LookupError: there is none.
    """
    return gradient_registry.rule_of(op)


def _get_graph_from_inputs(op_input_list: Iterable[Any], graph: Any = None) -> Any:
    """The graph to which the tensors, operations and variables belong, by default `graph` or the default."""
    found = graph_of([*op_input_list])
    return found if graph is None or found is not get_default_graph() else graph


def convert_n_to_tensor(values: Iterable[Any], dtype: Any = None, name: str | None = None) -> list[Tensor]:
    """A tensor for each value."""
    return [
        tf.convert_to_tensor(value, dtype, None if name is None else f"{name}_{at}")
        for at, value in enumerate(values)
    ]


def get_all_collection_keys() -> list[Any]:
    """The names of the default graph's collections."""
    return get_default_graph().get_all_collection_keys()


def get_name_scope() -> str:
    """The default graph's current name scope."""
    return get_default_graph().get_name_scope()


def inside_function() -> bool:
    """Whether the default graph is the body of a function."""
    return bool(get_default_graph().building_function)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """The name under a name scope."""
    return prepend_scope(name, import_scope)


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """The name as it is seen from inside of a name scope."""
    return strip_scope(name, export_scope)


# Shapes.


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """The shape that a tensor will hold, as far as the graph tells."""
    return TensorShape(static_dims(tf.convert_to_tensor(tensor)))


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: DType = dtypes.int32
) -> Tensor:
    """The shape of a tensor as a tensor (`array_ops.shape_internal`)."""
    return tf.shape(input, name=name, out_type=out_type)


def unchanged_shape(op: Any) -> list[TensorShape]:
    """The shape of the first input."""
    return [op.inputs[0].get_shape()]


def scalar_shape(op: Any = None) -> list[TensorShape]:
    """The shape of rank 0."""
    return [TensorShape([])]


def unknown_shape(op: Any) -> list[TensorShape]:
    """An unknown shape for each output."""
    return [TensorShape(None) for _ in op.outputs]


def call_cpp_shape_fn(op: Any, require_shape_fn: bool = True) -> dict[str, Any]:
    """The shapes that the op's own rule infers."""
    return {"shapes": [output.get_shape() for output in op.outputs]}


def broadcast_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that two shapes broadcast to."""
    return tf.broadcast_static_shape(TensorShape(shape_x), TensorShape(shape_y))


class CompositeTensor:
    """The base class that TensorFlow has for values of several tensors; here none derives from it."""


# Control flow.


class _Switched(NamedTuple):
    output_false: Tensor
    output_true: Tensor


class _Merged(NamedTuple):
    output: Tensor
    value_index: Tensor


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> _Switched:
    """The value, at the output that `pred` selects; the other output is dead."""
    data = tf.convert_to_tensor(data, dtype)
    return _Switched(*raw_ops.Switch(data=data, pred=tf.convert_to_tensor(pred), name=name))


def merge(inputs: Iterable[Any], name: str | None = None) -> _Merged:
    """The input that is not dead, and its number."""
    return _Merged(*raw_ops.Merge(inputs=convert_n_to_tensor(inputs), name=name))


def _no_compiler(*_: Any) -> Any:
    """None: there is no compiler, whose context an operation could be in."""
    return None


GetContainingXLAContext = GraphOrParentsInXlaContext = IsInXLAContext = _no_compiler


def GetContainingWhileContext(ctxt: Any, stop_ctxt: Any = None) -> Any:
    """The innermost loop around a context of control flow, or None."""
    while ctxt is not None and ctxt is not stop_ctxt:
        if ctxt.IsWhileContext():
            return ctxt
        ctxt = ctxt.outer_context
    return None


def IsInWhileLoop(op: Any) -> bool:
    """Whether an operation is in a loop."""
    return GetContainingWhileContext(op._get_control_flow_context()) is not None


# Arrays.


def _rows(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def changed(x: Any, i: Any, v: Any) -> Tensor:
        """The array with rows changed at the indices; without indices all of it, with a number one row."""
        x, v = tf.convert_to_tensor(x), tf.convert_to_tensor(v)
        if i is None:
            return tf.reshape(
                function(x=tf.reshape(x, [1, -1]), i=[0], v=tf.reshape(v, [1, -1])), tf.shape(x)
            )
        i = tf.cast(i, dtypes.int32)
        if i.shape.ndims == 0:
            return function(x=x, i=tf.reshape(i, [1]), v=tf.expand_dims(v, 0))
        return function(x=x, i=i, v=v)

    return changed


alias_inplace_update = inplace_update = _rows(raw_ops.InplaceUpdate)
alias_inplace_add = inplace_add = _rows(raw_ops.InplaceAdd)
alias_inplace_sub = inplace_sub = _rows(raw_ops.InplaceSub)


def empty(shape: Any, dtype: Any, init: bool = False, name: str | None = None) -> Tensor:
    """An array of a shape; its values are zeros if `init`."""
    result: Tensor = raw_ops.Empty(shape=shape, dtype=dtype, init=init, name=name)
    return result


def empty_like(x: Any, init: bool | None = None) -> Tensor:
    """An array like another; its values are zeros if `init`."""
    x = tf.convert_to_tensor(x)
    return empty(tf.shape(x), x.dtype.base, bool(init))


def bucketize(input: Any, boundaries: Any, name: str | None = None) -> Tensor:
    """The number of the bucket between the boundaries for each element (`math_ops._bucketize`)."""
    result: Tensor = raw_ops.Bucketize(input=input, boundaries=list(boundaries), name=name)
    return result


def hessian_vector_product(ys: Any, xs: list[Any], v: list[Any]) -> list[Any]:
    """The products of the Hessian of `ys` in `xs` with a vector, whose parts are like `xs`."""
    if len(xs) != len(v):
        raise ValueError("xs and v must have the same length.")
    products = [
        tf.multiply(gradient, tf.stop_gradient(part))
        for gradient, part in zip(tf.gradients(ys, xs), v, strict=True)
        if gradient is not None
    ]
    return tf.gradients(products, xs)


def jacobian(output: Any, inputs: Any, use_pfor: bool = True, parallel_iterations: int | None = None) -> Any:
    """The derivatives of each element of `output` in each of the inputs, of shape [*output, *input]."""
    flat = tf.reshape(output, [-1])
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]

    def of(x: Any) -> Tensor:
        rows = tf.map_fn(
            lambda at: tf.gradients(flat[at], [x])[0],
            tf.range(tf.shape(flat)[0]),
            dtype=x.dtype.base,
            parallel_iterations=parallel_iterations or 10,
        )
        made = tf.reshape(rows, tf.concat([tf.shape(output), tf.shape(x)], 0))
        made.set_shape(output.shape.concatenate(x.shape))
        return made

    found = [of(x) for x in given]
    return found if isinstance(inputs, (list, tuple)) else found[0]


def batch_jacobian(
    output: Any, inp: Any, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Tensor:
    """The derivatives of each row of `output` in the same row of the input: [batch, *output, *input]."""
    size = tf.shape(output)[0]
    flat = tf.reshape(output, [size, -1])
    columns = tf.map_fn(
        lambda at: tf.gradients(flat[:, at], [inp])[0],
        tf.range(tf.shape(flat)[1]),
        dtype=inp.dtype.base,
        parallel_iterations=parallel_iterations or 10,
    )
    rank = tf.rank(inp)
    by_row = tf.transpose(columns, tf.concat([[1, 0], tf.range(2, rank + 1)], 0))
    made = tf.reshape(by_row, tf.concat([tf.shape(output), tf.shape(inp)[1:]], 0))
    made.set_shape(output.shape.concatenate(inp.shape[1:]))
    return made


def assert_float_dtype(dtype: Any) -> DType:
    """The dtype. Raises ValueError if it is not floating point."""
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found


# Variables.


def variable_op(
    shape: Any,
    dtype: Any,
    name: str = "Variable",
    set_shape: bool = True,
    container: str = "",
    shared_name: str = "",
) -> Tensor:
    """The reference of a variable that no object stands for (`state_ops.variable_op_v2`)."""
    made: Tensor = raw_ops.VariableV2(
        shape=TensorShape(shape), dtype=dtype, name=name, container=container, shared_name=shared_name
    )
    return made


@contextmanager
def pure_variable_scope(name_or_scope: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
    """A variable scope that opens no name scope."""
    names = (
        *("reuse", "initializer", "regularizer", "caching_device", "partitioner", "custom_getter"),
        *("old_name_scope", "dtype", "use_resource", "constraint"),
    )
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    given.pop("old_name_scope", None)
    with tf.variable_scope(name_or_scope, auxiliary_name_scope=False, **given) as scope:
        yield scope


# Summaries.


def collect(val: Any, collections: Any, default_collections: Any) -> None:
    """Adds a value to the collections, by default to the second ones."""
    for key in default_collections if collections is None else collections:
        tf.add_to_collection(key, val)


def skip_summary() -> bool:
    """False: summaries are written by every replica."""
    return False


def clean_tag(name: str | None) -> str | None:
    """The tag with "_" for each character that names of nodes cannot have."""
    if name is None:
        return None
    allowed = "".join(c if c.isascii() and (c.isalnum() or c in "_./-") else "_" for c in name)
    return allowed.lstrip("/")


@contextmanager
def summary_scope(
    name: str, family: str | None = None, default_name: str | None = None, values: Any = None
) -> Iterator[tuple[str, str]]:
    """A name scope for a summary, and the summary's tag."""
    name = clean_tag(name) or ""
    family = clean_tag(family)
    inner = f"{family}/{name}" if family else name
    with tf.name_scope(inner, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (f"{family}/{tag}" if family else tag), scope


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of tagged numbers, as before TensorFlow 1.0 (`logging_ops.scalar_summary`)."""
    made: Tensor = raw_ops.ScalarSummary(tags=tags, values=values, name=name)
    collect(made, collections, [tf.GraphKeys.SUMMARIES])
    return made


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary with a histogram, as before TensorFlow 1.0 (`logging_ops.histogram_summary`)."""
    made: Tensor = raw_ops.HistogramSummary(tag=tag, values=values, name=name)
    collect(made, collections, [tf.GraphKeys.SUMMARIES])
    return made
