"""Parts of tf.contrib.framework: initial zeros, functions of nested arguments, names in scopes, fused parts
of graphs, initial values of slots."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorfleet.core import nest
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.io.script import py_func as _py_func
from tensorfleet.ops.state.variable_ops import is_variable_initialized
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.train.remapping import load_and_remap_matrix_initializer


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Sets a variable that has no value yet to zeros (`tf.contrib.framework.zero_initializer`).

    Returns:
        The variable's value after that.

    Raises:
        InvalidArgumentError: in a run, if it has a value.
    """
    with framework.name_scope(name) as scope, framework.colocate_with(ref.op):
        is_new = apply_one("LogicalNot", is_variable_initialized(ref))
        with framework.control_dependencies([Assert(is_new, ["input is already initialized"])]):
            assigned = ref.assign(zeros(ref.shape, ref.dtype.base))
        return apply_one("Identity", convert_to_tensor(assigned), name=scope)


def py_func(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    output_types: Any = None,
    output_shapes: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """`tf.py_func` with keyword arguments, and with nested arguments and results
    (`tf.contrib.framework.py_func`).

    Args:
        func: called with the values of `args` and `kwargs`, in their structure.
        args, kwargs: nested structures of tensors.
        output_types: the dtypes of the results, in the structure in which `func` returns them; or a function
            that returns them, called with the tensors.
        output_shapes: the shapes of the results in the same structure, or such a function; None: unknown.
        stateful: whether equal arguments may give different results.

    Returns:
        Tensors in the structure of `output_types`.

    Raises:
        TypeError: `args` is neither a list nor a tuple, or `kwargs` no dict.
    """
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(kwargs, dict):
        raise TypeError(f"kwargs must be dict and not {type(kwargs)}. args: {kwargs}")
    types = output_types(*args, **kwargs) if callable(output_types) else output_types
    shapes = output_shapes(*args, **kwargs) if callable(output_shapes) else output_shapes
    given = args, kwargs

    def call(*values: Any) -> list[Any]:
        positional, named = nest.pack_sequence_as(given, values)
        result = func(*positional, **named)
        nest.assert_shallow_structure(types, result)
        return nest.flatten(result)

    flat = _py_func(call, nest.flatten(given), nest.flatten(types), stateful=stateful, name=name)
    if shapes is not None:
        for tensor, shape in zip(flat, nest.flatten_up_to(types, shapes), strict=True):
            tensor.set_shape(TensorShape(shape))
    return nest.pack_sequence_as(types, flat)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """A name in a scope, with `^` and `loc:@` before it (`tf.contrib.framework.prepend_name_scope`)."""
    if not import_scope:
        return name
    scope = import_scope.removesuffix("/")
    for mark in ("loc:@", "^"):
        if name.startswith(mark):
            return f"{mark}{scope}/{name.removeprefix(mark)}"
    return f"{scope}/{name}"


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """A name without the scope that it begins with; the reverse of `prepend_name_scope`
    (`tf.contrib.framework.strip_name_scope`)."""
    if not export_scope:
        return name
    scope = export_scope.removesuffix("/") + "/"
    for mark in ("loc:@", "^", ""):
        if name.startswith(mark + scope):
            return mark + name.removeprefix(mark + scope).lstrip("/")
    return name


def load_variable_slot_initializer(
    ckpt_path: Any,
    old_tensor_name: str,
    primary_partition_info: Any,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Any]:
    """`load_and_remap_matrix_initializer` for a slot (`tf.contrib.framework.load_variable_slot_initializer`).

    Args:
        primary_partition_info: which part of the whole the slot's variable is; it counts in place of what the
            slot itself is told.

    The rest is as of `load_and_remap_matrix_initializer`.
    """
    initial_value = load_and_remap_matrix_initializer(
        ckpt_path=ckpt_path,
        old_tensor_name=old_tensor_name,
        new_row_vocab_size=new_row_vocab_size,
        new_col_vocab_size=new_col_vocab_size,
        old_row_vocab_file=old_row_vocab_file,
        new_row_vocab_file=new_row_vocab_file,
        old_col_vocab_file=old_col_vocab_file,
        new_col_vocab_file=new_col_vocab_file,
        num_row_oov_buckets=num_row_oov_buckets,
        num_col_oov_buckets=num_col_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )

    def initial_value_of_slot(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        given = {} if dtype is None else {"dtype": dtype}
        return initial_value(shape, partition_info=primary_partition_info, **given)

    return initial_value_of_slot


def _node_name(name: str) -> str:
    """The node of an input: without the mark of a control edge, and the number of the output."""
    return name.removeprefix("^").partition(":")[0]


def _reached(
    starts: Iterable[str], inputs: dict[str, list[str]], ends: frozenset[str] = frozenset()
) -> set[str]:
    """The nodes on which `starts` depend, these included; what `ends` depend on is left out."""
    seen: set[str] = set()
    waiting = deque(starts)
    while waiting:
        node = waiting.popleft()
        if node not in seen:
            seen.add(node)
            if node not in ends:
                waiting.extend(inputs[node])
    return seen


def fuse_op(
    graph_def: Any,
    input_nodes: list[str],
    output_nodes: list[str],
    output_dtypes: Any,
    output_quantized: bool,
    op_name: str,
    op_type: str,
) -> Any:
    """A GraphDef in which one node stands for all between some nodes and others
    (`tf.contrib.framework.fuse_op`).

    Args:
        graph_def: a GraphDef, which is not changed.
        input_nodes: the names of the new node's inputs.
        output_nodes: the names of nodes with one input each, which is then an output of the new node's.
        output_dtypes: the new node's attribute `_output_types`: numbers of dtypes.
        output_quantized: its attribute `_output_quantized`.
        op_name, op_type: its name and type.

    Raises:
        TypeError: of other types than these; or a node between uses one that is before the inputs, and is
            none of them.
        ValueError: a node is not in the graph, or an output node has not one input.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    for what, names in (("input_nodes", input_nodes), ("output_nodes", output_nodes)):
        if isinstance(names, str):
            raise TypeError(f"{what} must be a list.")
    nodes = {_node_name(node.name): node for node in graph_def.node}
    inputs = {name: [_node_name(each) for each in node.input] for name, node in nodes.items()}
    for name in (*input_nodes, *output_nodes):
        if name not in nodes:
            raise ValueError(f"{name} is not in graph")
    before, until = _reached(input_nodes, inputs), _reached(output_nodes, inputs)
    ends = frozenset(input_nodes)
    for name in until - before - set(output_nodes):
        for used in _reached([name], inputs, ends):
            if used in before and used not in ends:
                raise TypeError(f"Node {name} uses input {used} not in input_nodes.")
    fused = GraphDef(library=graph_def.library, versions=graph_def.versions)
    fused.node.extend(node for name, node in nodes.items() if name in before)
    one = fused.node.add(name=op_name, op=op_type, input=input_nodes)
    one.attr["_output_types"].list.type[:] = output_dtypes
    one.attr["_output_quantized"].b = output_quantized
    for index, name in enumerate(output_nodes):
        if len(nodes[name].input) != 1:
            raise ValueError(f"The output node {name} must have one input, not {len(nodes[name].input)}.")
        output = fused.node.add()
        output.CopyFrom(nodes[name])
        output.input[:] = [f"{op_name}:{index}" if index else op_name]
    fused.node.extend(node for name, node in nodes.items() if name not in until and name not in before)
    return fused
