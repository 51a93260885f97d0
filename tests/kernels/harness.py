"""Runs one op's kernel, without graph and executor.

    run_op("ConcatV2", [a, b], 1)                  # a list argument is a Python list
    run_op("Cast", x, DstT=dtypes.int32)           # attributes that do not follow from the inputs
    run_op("TopKV2", x, 2, sorted=False)           # several outputs come as a tuple

Arrays keep their dtype, other values are converted as `tf.constant` would, to the dtype that the op's
signature asks for. A type attribute that only appears as an input of a reference or resource must be given.
The result of each output is checked to have the dtype that the signature declares.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

import numpy as np

import tensorfleet.ops
import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import dtypes, tensor_util
from tensorfleet.core.files import LOCAL
from tensorfleet.graph.attributes import complete, from_argument
from tensorfleet.graph.graph import lookup_op
from tensorfleet.graph.op_def import Arg
from tensorfleet_service.kernels.registry import Expression, KernelNode, make_kernel
from tensorfleet_service.state.resources import Resources

for _module in pkgutil.walk_packages(tensorfleet.ops.__path__, "tensorfleet.ops."):
    importlib.import_module(_module.name)


def run_op(
    op_type: str,
    *inputs: Any,
    resources: Any = None,
    xp: ModuleType = np,
    graph_seed: int | None = None,
    **attrs: Any,
) -> Any:
    """The outputs of one op: an array, a tuple for several outputs, None for an op without outputs."""
    node, values = make_node(op_type, *inputs, resources=resources, xp=xp, graph_seed=graph_seed, **attrs)
    with np.errstate(all="ignore"):
        result = call(make_kernel(node), values)
    if len(node.output_types) == 1:
        return _checked(node, 0, result)
    if not node.output_types:
        assert result is None, f"{op_type} has no outputs, but its kernel returned {result!r}"
        return None
    assert isinstance(result, tuple)
    assert len(result) == len(node.output_types)
    return tuple(_checked(node, i, r) for i, r in enumerate(result))


def make_node(
    op_type: str,
    *inputs: Any,
    resources: Any = None,
    xp: ModuleType = np,
    graph_seed: int | None = None,
    **attrs: Any,
) -> tuple[KernelNode, list[Any]]:
    """The node that the kernel's factory sees, and the flat list of input values."""
    opdef = lookup_op(op_type)
    assert len(inputs) == len(opdef.inputs), f"{op_type} takes {[a.name for a in opdef.inputs]}"
    values = {key: from_argument(value, opdef.attrs[key]) for key, value in attrs.items()}
    flat: list[Any] = []
    for arg, value in zip(opdef.inputs, inputs, strict=True):
        flat += _input(arg, value, values, xp)
    final = complete(opdef, op_type, values)
    node = KernelNode(
        name=op_type,
        op=op_type,
        attrs=final,
        input_types=opdef.input_types(final),
        output_types=opdef.output_types(final),
        device="/job:localhost/replica:0/task:0/device:CPU:0",
        xp=xp,
        resources=Resources(files=LOCAL) if resources is None else resources,
        graph_seed=graph_seed,
    )
    return node, flat


def call(kernel: Any, values: list[Any]) -> Any:
    """Calls a kernel, or evaluates an expression."""
    if not isinstance(kernel, Expression):
        return kernel(*values)
    names = {f"_in{i}": value for i, value in enumerate(values)}
    try:
        return eval(kernel.template.format(*names), {**kernel.names, **names})
    except Exception as e:
        error = kernel.explain(e, *values) if kernel.explain is not None else None
        if error is None:
            raise
        raise error from e


def _input(arg: Arg, value: Any, attrs: dict[str, Any], xp: ModuleType) -> list[Any]:
    if arg.type_list_attr:
        types = attrs.get(arg.type_list_attr) or [None] * len(value)
        items = [_value(item, dtype, xp) for item, dtype in zip(value, types, strict=True)]
        attrs.setdefault(arg.type_list_attr, [dtypes.from_numpy(item.dtype) for item in items])
        return items
    wanted = arg.dtype if arg.dtype is not None else attrs.get(arg.type_attr)
    items = []
    for item in value if arg.number_attr else [value]:
        items.append(item := _value(item, wanted, xp))
        if wanted is None:
            wanted = attrs[arg.type_attr] = dtypes.from_numpy(item.dtype)
    if arg.number_attr:
        attrs[arg.number_attr] = len(items)
    return items


def _value(value: Any, wanted: dtypes.DType | None, xp: ModuleType) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        array = (
            np.asarray(value)
            if value.dtype.kind not in "SU"
            else np.asarray(tensor_util.convert_value(value))
        )
        assert wanted is None or array.dtype == wanted.np, f"{wanted} wanted, got {array.dtype}"
    elif (wanted is not None and wanted.np is None) or hasattr(value, "read"):
        return value
    else:
        array = np.asarray(tensor_util.convert_value(value, wanted))
    if array.dtype.hasobject:
        return array
    return xp.asarray(array) if xp is not np else array if array.ndim else array[()]


def _checked(node: KernelNode, index: int, value: Any) -> Any:
    dtype = node.output_types[index]
    if dtype.np is None or dtype.is_ref:
        return value
    if isinstance(value, bytes):
        value = np.array(value, object)
    assert isinstance(value, (node.xp.ndarray, np.ndarray, np.generic)), f"{node.op} returned {type(value)}"
    assert value.dtype == dtype.np, f"{node.op} declares {dtype.name}, its kernel returned {value.dtype}"
    if not isinstance(value, (np.ndarray, np.generic)):
        value = value.get()
    return np.asarray(value)
