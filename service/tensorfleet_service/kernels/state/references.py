"""Kernels of `tensorfleet.ops.state.references`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid
from tensorfleet_service.state.variables import Variable


@kernel("RefIdentity")
def identity(node: KernelNode) -> Kernel:
    return lambda ref: ref


@kernel("RefSelect")
def select(node: KernelNode) -> Kernel:
    def run(index: Any, *refs: Any) -> Any:
        number = int(index)
        if not 0 <= number < len(refs):
            raise invalid(f"Index must be in the range [0, {len(refs)}) but got {number}")
        return refs[number]

    return run


@kernel("TemporaryVariable")
def temporary(node: KernelNode) -> Kernel:
    """A variable of a single step, which is passed along the edges and ends with the step."""
    dtype, dims = node.attrs["dtype"], node.attrs["shape"]
    name = node.attrs["var_name"].decode() or node.name
    if dims is None or None in dims:
        raise invalid("A temporary variable needs a fully defined shape")

    def run() -> Variable:
        made = Variable(name, dtype, dims)
        # The value before the first assignment is undefined in TensorFlow.
        made.assign(node.xp.zeros(dims, dtype.np)[()])
        return made

    return run


@kernel("DestroyTemporaryVariable")
def destroy(node: KernelNode) -> Kernel:
    name = node.attrs["var_name"].decode()

    def run(ref: Variable) -> Any:
        if ref.name != name:
            raise errors.NotFoundError(
                None, None, f"Temporary variable {name} is not the one that came, {ref.name}"
            )
        return ref.read()

    return run


@kernel("ResourceCountUpTo")
def count_up_to(node: KernelNode) -> Kernel:
    xp, limit = node.xp, node.attrs["limit"]
    one = node.output_types[0].as_numpy_dtype(1)

    def run(variable: Variable) -> Any:
        before: list[Any] = []

        def count(current: Any, one: Any, out: Any = None) -> Any:
            if current >= limit:
                raise errors.OutOfRangeError(None, None, f"Reached limit of {limit}")
            before.append(current.copy())
            return xp.add(current, one, out=out)

        if variable.dtype is not node.output_types[0]:
            raise invalid(f"{variable.name} is of {variable.dtype.name}, not {node.output_types[0].name}")
        variable.update(count, one)
        return before[0]

    return run


@kernel("DisableCopyOnRead")
def disable_copy_on_read(node: KernelNode) -> Kernel:
    """Has no effect, as readers always have snapshots."""
    return lambda variable: None
