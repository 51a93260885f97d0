"""Reading checkpoints without a graph: `tf.train.load_checkpoint` and related functions."""

from __future__ import annotations

import os
from typing import Any

from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.core.dtypes import DType, as_dtype
from tensorfleet.proto.types_pb2 import DataType
from tensorfleet.train.checkpoint_management import latest_checkpoint


class CheckpointReader:
    """Reads the tensors of a checkpoint as NumPy arrays; the result of `tf.train.NewCheckpointReader`."""

    def __init__(self, filename: str) -> None:
        with BundleReader(filename) as reader:
            self._dims = {name: list(reader.shape(name)) for name in reader.entries}
            self._dtypes = {name: as_dtype(entry.dtype) for name, entry in reader.entries.items()}
        self._filename = filename

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes of the tensors, by their names."""
        return dict(self._dims)

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The dtypes of the tensors, by their names."""
        return dict(self._dtypes)

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of that name."""
        return tensor_str in self._dims

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a tensor: an array; for rank 0 a number or bytes.

        Raises:
            NotFoundError: there is no such tensor.
            DataLossError: its data are damaged.
        """
        with BundleReader(self._filename) as reader:
            value = reader.read(tensor_str)
        return value if value.ndim else value[()]

    def debug_string(self) -> bytes:
        """One line for each tensor: name, dtype, shape."""
        lines = [
            f"{name} ({DataType.Name(dtype.enum)}) [{','.join(map(str, self._dims[name]))}]\n"
            for name, dtype in self._dtypes.items()
        ]
        return "".join(lines).encode("utf-8", "surrogateescape")


def NewCheckpointReader(filepattern: Any) -> CheckpointReader:
    """The checkpoint of that name, for reading (`tf.train.NewCheckpointReader`).

    Raises:
        NotFoundError: there is none.
        DataLossError: its index is damaged.
    """
    return CheckpointReader(os.fsdecode(filepattern))


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """The checkpoint of that name, or the newest one of that directory (`tf.train.load_checkpoint`).

    Raises:
        ValueError: the directory has none.
        NotFoundError: there is no such checkpoint.
    """
    path = os.fsdecode(ckpt_dir_or_file)
    found = latest_checkpoint(path) if os.path.isdir(path) else path
    if found is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}"
        )
    return NewCheckpointReader(found)


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """The value of a variable in a checkpoint (`tf.train.load_variable`); `name` may end with ":0"."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """The names and shapes of the tensors in a checkpoint, sorted by name (`tf.train.list_variables`)."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
