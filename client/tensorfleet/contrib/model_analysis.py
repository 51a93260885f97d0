"""How many elements a model has (`slim.model_analyzer`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def tensor_description(var: Any) -> str:
    """The dtype and shape of a tensor or variable, such as "(float32_ref 3x5)"."""
    sizes = "x".join(str(size) for size in var.get_shape().as_list())
    return f"({var.dtype.name}{' ' if sizes else ''}{sizes})"


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """The elements and the bytes of variables of known shapes (`slim.model_analyzer.analyze_vars`).

    Args:
        variables: variables.
        print_info: print a line for each, and both sums.
    """
    if print_info:
        print("---------")
        print("Variables: name (type shape) [size]")
        print("---------")
    total_size = total_bytes = 0
    for variable in variables:
        # A variable without a known size counts as empty.
        size = math.prod(variable.get_shape().as_list()) if variable.get_shape().is_fully_defined() else 0
        used = size * variable.dtype.size
        total_size += size
        total_bytes += used
        if print_info:
            print(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {used}]")
    if print_info:
        print(f"Total size of variables: {total_size}")
        print(f"Total bytes of variables: {total_bytes}")
    return total_size, total_bytes


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """The elements of all operations' results of known shapes (`slim.model_analyzer.analyze_ops`)."""
    if print_info:
        print("---------")
        print("Operations: name -> (type shapes) [size]")
        print("---------")
    total_size = 0
    for op in graph.get_operations():
        known = [output for output in op.outputs if output.get_shape().is_fully_defined()]
        op_size = sum(math.prod(output.get_shape().as_list()) for output in known)
        total_size += op_size
        if print_info:
            shapes = ", ".join(tensor_description(output) for output in known)
            print(f"{op.name}\t->\t{shapes}\t[{op_size}]")
    if print_info:
        print(f"Total size: {total_size}")
    return total_size
