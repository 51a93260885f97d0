"""SaveV2, RestoreV2, MergeV2Checkpoints, ShardedFilename: checkpoints in this task's file system."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tensorfleet.checkpoint import merge
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.bundle_writer import BundleWriter
from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid, results


def _text(value: Any) -> str:
    """A scalar string."""
    if not isinstance(value, bytes):
        if value.ndim:
            raise invalid(f"A file name must be a scalar, got shape {list(value.shape)}")
        value = value[()]
    return os.fsdecode(value)


def _texts(value: Any, count: int | None, what: str) -> list[str]:
    """A vector of strings."""
    if value.ndim != 1 or count not in (None, value.size):
        raise invalid(f"{what} must be a vector of {count} strings, got shape {list(value.shape)}")
    return [item.decode() for item in value.tolist()]


@kernel("SaveV2")
def save_v2(node: KernelNode) -> Kernel:
    count, files = len(node.attrs["dtypes"]), node.resources.files

    def run(prefix: Any, tensor_names: Any, shape_and_slices: Any, *tensors: Any) -> None:
        names = _texts(tensor_names, count, "tensor_names")
        specs = _texts(shape_and_slices, count, "shape_and_slices")
        with BundleWriter(_text(prefix), files) as writer:
            for name, spec, tensor in zip(names, specs, tensors, strict=True):
                writer.add(name, host_array(tensor), spec)

    return run


@kernel("RestoreV2")
def restore_v2(node: KernelNode) -> Kernel:
    dtypes, xp = node.attrs["dtypes"], node.xp
    count, files = len(dtypes), node.resources.files

    def run(prefix: Any, tensor_names: Any, shape_and_slices: Any) -> Any:
        names = _texts(tensor_names, count, "tensor_names")
        specs = _texts(shape_and_slices, count, "shape_and_slices")
        restored = []
        with BundleReader(_text(prefix), files) as reader:
            for name, wanted in zip(names, dtypes, strict=True):
                found = reader.dtype(name)
                if found is not wanted:
                    raise errors.InvalidArgumentError(
                        None,
                        None,
                        f"tensor_name = {name}; expected dtype {wanted.name} does not equal original dtype "
                        f"{found.name} (in {reader.prefix})",
                    )
            for name, spec in zip(names, specs, strict=True):
                value = reader.read(name, spec)
                if not value.dtype.hasobject:
                    value = xp.asarray(value)
                    value = value if value.ndim else value[()]
                restored.append(value)
        return results(restored)

    return run


@kernel("MergeV2Checkpoints")
def merge_v2_checkpoints(node: KernelNode) -> Kernel:
    delete, allow_missing = node.attrs["delete_old_dirs"], node.attrs["allow_missing_files"]
    files = node.resources.files

    def run(checkpoint_prefixes: Any, destination_prefix: Any) -> None:
        prefixes = _texts(checkpoint_prefixes, None, "checkpoint_prefixes")
        merge.merge(prefixes, _text(destination_prefix), allow_missing, files)
        if delete:
            merge.remove_empty_directories(prefixes, files)

    return run


@kernel("ShardedFilespec")
def sharded_filespec(node: KernelNode) -> Kernel:
    def run(basename: Any, shards: Any) -> bytes:
        if np.ndim(basename) or np.ndim(shards):
            raise invalid("basename and num_shards must be scalars")
        return os.fsencode(f"{_text(basename)}-?????-of-{int(shards):05d}")

    return run


@kernel("ShardedFilename")
def sharded_filename(node: KernelNode) -> Kernel:
    def run(basename: Any, shard: Any, shards: Any) -> bytes:
        if np.ndim(basename) or np.ndim(shard) or np.ndim(shards):
            raise invalid("basename, shard and num_shards must be scalars")
        return os.fsencode(f"{_text(basename)}-{int(shard):05d}-of-{int(shards):05d}")

    return run
