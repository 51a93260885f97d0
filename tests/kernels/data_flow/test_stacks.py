"""Stacks and tensor arrays, kernel by kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.registry import make_kernel
from tests.kernels.harness import make_node


def run(op_type: str, *inputs: Any, **attrs: Any) -> Any:
    """As `run_op`, but handles are the objects themselves."""
    node, values = make_node(op_type, *inputs, **attrs)
    kernel = make_kernel(node)
    assert callable(kernel)
    return kernel(*values)


def stack(size: int = -1) -> Any:
    return run("StackV2", size, elem_type="float32", stack_name="s")


def push(handle: Any, value: Any) -> Any:
    return run("StackPushV2", handle, np.float32(value), T="float32")


def pop(handle: Any) -> Any:
    return run("StackPopV2", handle, elem_type="float32")


def test_what_was_pushed_last_comes_first() -> None:
    handle = stack()
    assert push(handle, [1, 2]).tolist() == [1, 2]
    push(handle, 3)
    assert pop(handle) == 3
    assert pop(handle).tolist() == [1, 2]


def test_stacks_refuse_what_they_cannot_do() -> None:
    handle = stack(1)
    with pytest.raises(errors.InvalidArgumentError, match=r"Stack\[s\] is empty when calling Pop\(\)"):
        pop(handle)
    push(handle, 1)
    with pytest.raises(errors.InvalidArgumentError, match=r"Stack\[s\] overflowed its max_size \(1\)"):
        push(handle, 2)
    with pytest.raises(errors.InvalidArgumentError, match="elements of type float32, not int32"):
        run("StackPopV2", handle, elem_type="int32")
    run("StackCloseV2", handle)
    with pytest.raises(errors.InvalidArgumentError, match=r"Stack\[s\] has already been closed"):
        push(handle, 2)


FLOW = np.float32(0)


def array(size: int = 2, **attrs: Any) -> Any:
    made, _ = run("TensorArrayV3", size, dtype="float32", tensor_array_name="a", **attrs)
    return made


def write(handle: Any, index: int, value: Any) -> None:
    run("TensorArrayWriteV3", handle, index, np.float32(value), FLOW, T="float32")


def read(handle: Any, index: int) -> Any:
    return run("TensorArrayReadV3", handle, index, FLOW, dtype="float32")


def gradient(handle: Any, source: str = "gradients") -> Any:
    return run("TensorArrayGradV3", handle, FLOW, source=source)[0]


def test_gradients_of_an_element_add_up() -> None:
    forward = array()
    grad = gradient(forward)
    write(grad, 0, [1, 2])
    write(grad, 0, [10, 20])
    assert gradient(forward) is grad
    assert gradient(forward, "gradients_1") is not grad
    assert read(grad, 0).tolist() == [11, 22]


def test_gradients_have_the_shapes_of_what_was_written() -> None:
    forward = array()
    write(forward, 1, [1, 2, 3])
    assert read(forward, 1).tolist() == [1, 2, 3]
    assert read(gradient(forward), 1).tolist() == [0, 0, 0]
    with pytest.raises(errors.InvalidArgumentError, match="Could not read from TensorArray index 0"):
        read(gradient(forward), 0)
    prepended, _ = run(
        "TensorArrayGradWithShape", forward, FLOW, np.array([2], np.int32), source="with shape"
    )
    assert read(prepended, 1).shape == (2, 3)


def test_what_is_written_late_is_refused() -> None:
    grad = gradient(array(1, dynamic_size=True))
    with pytest.raises(errors.InvalidArgumentError, match="array is not resizeable and size is: 1"):
        write(grad, 1, 1)
    write(grad, 0, [1])
    with pytest.raises(errors.InvalidArgumentError, match="Could not aggregate to TensorArray index 0"):
        write(grad, 0, [1, 2])
    read(grad, 0)
    with pytest.raises(errors.InvalidArgumentError, match="index 0 because it has already been read"):
        write(grad, 0, [1])


def test_gradients_grow_with_their_array() -> None:
    forward = array(1, dynamic_size=True)
    grad = gradient(forward)
    write(forward, 2, [1, 2])
    assert run("TensorArraySizeV3", grad, FLOW) == 3
    assert read(grad, 2).tolist() == [0, 0]


def test_dtype_of_a_gradient_is_that_of_its_array() -> None:
    assert gradient(array()).dtype is dtypes.float32
