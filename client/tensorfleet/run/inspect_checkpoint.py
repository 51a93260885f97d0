"""The functions of `tensorflow.python.tools.inspect_checkpoint`."""

from __future__ import annotations

import math
import re
from typing import Any

from tensorfleet.core.errors import OpError
from tensorfleet.train import NewCheckpointReader


def _count_total_params(reader: Any, count_exclude_pattern: str = "") -> int:
    """How many elements the tensors of a checkpoint have, without those whose names the pattern matches."""
    sizes = {name: math.prod(shape) for name, shape in reader.get_variable_to_shape_map().items()}
    if count_exclude_pattern:
        excluded = [size for name, size in sizes.items() if re.match(count_exclude_pattern, name)]
        sizes = {name: size for name, size in sizes.items() if not re.match(count_exclude_pattern, name)}
        print(
            f"# Excluding {len(excluded)} tensors ({sum(excluded)} params) that match "
            f"{count_exclude_pattern} when counting."
        )
    return sum(sizes.values())


def print_tensors_in_checkpoint_file(
    file_name: Any,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints what is in a checkpoint: names, dtypes, shapes and values.

    Args:
        file_name: the checkpoint's prefix.
        tensor_name: the tensor whose value is printed; without one, a line for each tensor.
        all_tensors: print the values of all tensors.
        all_tensor_names: print the names of all tensors.
        count_exclude_pattern: a regular expression of names that are not counted.
    """
    try:
        reader = NewCheckpointReader(file_name)
        if all_tensors or all_tensor_names:
            types = reader.get_variable_to_dtype_map()
            for name, shape in sorted(reader.get_variable_to_shape_map().items()):
                print(f"tensor: {name} ({types[name].name}) {list(shape)}")
                if all_tensors:
                    print(reader.get_tensor(name))
        elif tensor_name:
            value = reader.get_tensor(tensor_name)
            dtype = reader.get_variable_to_dtype_map()[tensor_name]
            print(f"tensor: {tensor_name} ({dtype.name}) {list(value.shape)}")
            print(value)
        else:
            print(reader.debug_string().decode("utf-8", errors="ignore"))
        print(f"# Total number of params: {_count_total_params(reader, count_exclude_pattern)}")
    except OpError as e:
        # A report of a checkpoint, for people: what cannot be read is part of it.
        print(e.message)
