"""Control flow and calls by functions of a graph's library (`tensorflow.python.ops.functional_ops`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.functions.defun import DefinedFunction, Defun
from tensorfleet.graph.apply import apply_list, apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.functional.map_fn import foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
from tensorfleet.proto.attr_value_pb2 import NameAttrList


def symbolic_gradient(input: Any, Tout: Any, f: Any, name: str | None = None) -> list[Tensor]:
    """The gradients of a function's arguments (`functional_ops.symbolic_gradient`).

    Args:
        input: the function's arguments, then the gradients of its results.
        Tout: the dtypes of the arguments.
        f: what `Defun` gives, a NameAttrList or a name.
    """
    return apply_list("SymbolicGradient", list(input), Tout=Tout, f=f, name=name)


def Gradient(inputs: Any, f: Any, name: str | None = None) -> list[Tensor]:
    """`symbolic_gradient` with the dtypes that a function of `Defun` declares (`functional_ops.Gradient`)."""
    types = [dtypes.from_enum(arg.type) for arg in f.definition.signature.input_arg]
    return symbolic_gradient(inputs, types, f, name)


def remote_call(args: Any, Tout: Any, f: Any, target: Any, name: str | None = None) -> list[Tensor]:
    """The results of a function that is called on another device (`functional_ops.remote_call`).

    Args:
        args: what the function takes, tensors that it captured at the end.
        Tout: the dtypes of its results.
        f: what `Defun` gives, a NameAttrList or a name.
        target: a device's name, with a task or not. Where it is not the device of the call itself, it is a
            constant.
    """
    with_captured = [*args, *_captured(f, len(args))]
    return apply_list("RemoteCall", target, with_captured, Tout=Tout, f=f, name=name)


def partitioned_call(
    args: Any,
    f: Any,
    tout: Any = None,
    executing_eagerly: bool | None = None,
    config: Any = None,
    executor_type: str | None = None,
    name: str | None = None,
) -> Any:
    """The results of a function; the operation, if it has none (`functional_ops.partitioned_call`).

    Args:
        f: what `Defun` or `tf.function` gives.
        tout: the dtypes of its results, by default those that it declares.
        config: a ConfigProto, or its bytes; kept as an attribute, as is `executor_type`.
        executing_eagerly: ignored.
    """
    signature = f.definition.signature
    types = tout if tout is not None else [dtypes.from_enum(arg.type) for arg in signature.output_arg]
    settings = b"" if config is None else config if isinstance(config, bytes) else config.SerializeToString()
    return apply_op(
        "StatefulPartitionedCall" if signature.is_stateful else "PartitionedCall",
        [*args, *_captured(f, len(args))],
        Tout=types,
        f=f,
        config_proto=settings,
        executor_type=executor_type or "",
        name=name,
    )


def If(cond: Any, inputs: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> list[Tensor]:
    """The results of one of two functions (`functional_ops.If`).

    Args:
        cond: a scalar: zero and the empty text are false; of another shape, whether there are elements.
        inputs: the arguments of both functions.
        then_branch, else_branch: what `Defun` gives, with the same dtypes.
    """
    types = [dtypes.from_enum(arg.type) for arg in then_branch.definition.signature.output_arg]
    return apply_list(
        "If", cond, list(inputs), Tout=types, then_branch=then_branch, else_branch=else_branch, name=name
    )


def While(input_: Any, cond: Any, body: Any, name: str | None = None, hostmem: Any = None) -> list[Tensor]:
    """The values after as many turns of `body` as `cond` is true for (`functional_ops.While`).

    Args:
        input_: the values of the first turn. What `body` captured follows them in every turn.
        cond, body: what `Defun` gives: one truth, and the values of the next turn.
        hostmem: indices of inputs that stay in the host's memory; kept as an attribute.

    Raises:
        ValueError: `cond` captured something, or the functions do not take the same arguments.
    """
    if cond.captured_inputs:
        raise ValueError(
            "The 'cond' argument can not have implicitly captured inputs. Received captured_inputs: "
            f"{cond.captured_inputs}"
        )
    declared = list(cond.declared_input_types), list(body.declared_input_types)
    if declared[0] != declared[1]:
        raise ValueError(
            f"The 'cond' and 'body' signatures do not match. Received: cond_input_types={declared[0]}, "
            f"body_input_types={declared[1]}"
        )
    count = len(declared[1])
    if not body.captured_inputs:
        return _with_host_memory(apply_list("While", input_, cond=cond, body=body, name=name), hostmem, 0)
    types = [*declared[1], *(tensor.dtype.base for tensor in body.captured_inputs)]

    @Defun(*types, func_name=f"{cond.name}_Wrapper")
    def wrapper(*args: Tensor) -> Any:
        return cond(*args[:count])

    values = [*input_, *body.captured_inputs]
    results = apply_list("While", values, cond=wrapper, body=_handing_on(body), name=name)
    return _with_host_memory(results, hostmem, 0)[:count]


def For(
    start: Any,
    limit: Any,
    delta: Any,
    inputs: Any,
    body: Any,
    name: str | None = None,
    hostmem: Any = None,
    rewrite_with_while: bool | None = None,
) -> list[Tensor]:
    """The values after a turn of `body` for each number from `start` to `limit` (`functional_ops.For`).

    Args:
        start, limit, delta: int32 scalars.
        inputs: the values of the first turn.
        body: what `Defun` gives: of the number and the values, the next values.
        hostmem: indices of inputs that stay in the host's memory; kept as an attribute.
        rewrite_with_while: build a While.
    """
    if rewrite_with_while:
        return _for_by_while(start, limit, delta, inputs, body, name, hostmem)
    if body.captured_inputs:
        values = [*inputs, *body.captured_inputs]
        results = apply_list("For", start, limit, delta, values, body=_handing_on(body), name=name)
        results = _with_host_memory(results, hostmem, 3)[: len(inputs)]
        return results
    return _with_host_memory(
        apply_list("For", start, limit, delta, list(inputs), body=body, name=name), hostmem, 3
    )


def _handing_on(body: DefinedFunction) -> DefinedFunction:
    """A loop's body that takes what it captured as arguments, and hands that on to the next turn."""
    declared = list(body.declared_input_types)
    types = [*declared, *(tensor.dtype.base for tensor in body.captured_inputs)]

    @Defun(*types, func_name=f"{body.name}_BodyWrapper")
    def wrapper(*args: Tensor) -> Any:
        return [*body.call_with_captured(args).outputs, *args[len(declared) :]]

    assert isinstance(wrapper, DefinedFunction)
    return wrapper


def _with_host_memory(results: list[Tensor], hostmem: Any, first: int) -> list[Tensor]:
    if hostmem:
        results[0].op.put_attr("_input_hostmem", [first + index for index in hostmem])
        results[0].op.put_attr("_output_hostmem", list(hostmem))
    return results


def _for_by_while(
    start: Any, limit: Any, delta: Any, inputs: Any, forbody: DefinedFunction, name: str | None, hostmem: Any
) -> list[Tensor]:
    """A For as a While that counts its turns, so that it may go down, too."""
    first, step = convert_to_tensor(start, dtypes.int32), convert_to_tensor(delta, dtypes.int32)
    size = apply_one("Abs", step)
    distance = apply_one("Abs", apply_one("Sub", convert_to_tensor(limit, dtypes.int32), first))
    turns = apply_one("FloorDiv", apply_one("Sub", apply_one("AddV2", distance, size), 1), size)
    types = [*[dtypes.int32] * 4, *list(forbody.declared_input_types)[1:]]

    @Defun(*types, func_name=f"{forbody.name}_Cond")
    def cond(i: Tensor, n: Tensor, *_: Tensor) -> Any:
        return i < n

    @Defun(*types, func_name=f"{forbody.name}_Body")
    def body(i: Tensor, n: Tensor, start: Tensor, delta: Tensor, *args: Tensor) -> Any:
        results = forbody(start + i * delta, *args)
        if isinstance(results, Operation):
            results = []
        elif isinstance(results, Tensor):
            results = [results]
        return [i + 1, n, start, delta, *results]

    kept = [0, 1, 2, 3, *(4 + index for index in hostmem)] if hostmem is not None else [0, 1, 2, 3]
    return While([0, turns, first, step, *inputs], cond, body, name, kept)[4:]


def _captured(function: Any, count: int) -> list[Tensor]:
    """What a function captured, if a caller has given only the declared arguments."""
    if isinstance(function, (str, NameAttrList)):
        return []
    captured = list(getattr(function, "captured_inputs", ()))
    return captured if count == len(function.definition.signature.input_arg) - len(captured) else []
