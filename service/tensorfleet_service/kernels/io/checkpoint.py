"""SaveV2, RestoreV2, MergeV2Checkpoints, …: checkpoints in this task's file system; and their older form."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from tensorfleet.checkpoint import merge, slice_file
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.bundle_writer import BundleWriter
from tensorfleet.checkpoint.files import index_path, reported
from tensorfleet.core import errors
from tensorfleet.core.dtypes import DType, variant
from tensorfleet.core.files import Files, path_of
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid, name_text, results
from tensorfleet_service.kernels.variant_messages import from_messages, to_messages


def _text(value: Any, read: Callable[[bytes], str] = path_of) -> str:
    """A scalar string, by default the name of a file."""
    if not isinstance(value, bytes):
        if value.ndim:
            raise invalid(f"A file name must be a scalar, got shape {list(value.shape)}")
        value = value[()]
    return read(value)


def _texts(value: Any, count: int, what: str) -> list[str]:
    """A vector of strings."""
    if value.ndim != 1 or value.size != count:
        raise invalid(f"{what} must be a vector of {count} strings, got shape {list(value.shape)}")
    return [name_text(item) for item in value.tolist()]


@kernel("SaveV2")
def save_v2(node: KernelNode) -> Kernel:
    dtypes = node.attrs["dtypes"]
    count, files = len(dtypes), node.resources.files

    def run(prefix: Any, tensor_names: Any, shape_and_slices: Any, *tensors: Any) -> None:
        names = _texts(tensor_names, count, "tensor_names")
        specs = _texts(shape_and_slices, count, "shape_and_slices")
        with BundleWriter(_text(prefix), files) as writer:
            for name, spec, dtype, tensor in zip(names, specs, dtypes, tensors, strict=True):
                is_variant = dtype.base is variant
                writer.add(name, to_messages(tensor) if is_variant else host_array(tensor), spec, dtype.base)

    return run


@kernel("RestoreV2")
def restore_v2(node: KernelNode) -> Kernel:
    dtypes, xp = node.attrs["dtypes"], node.xp
    count, files = len(dtypes), node.resources.files

    def run(prefix: Any, tensor_names: Any, shape_and_slices: Any) -> Any:
        names = _texts(tensor_names, count, "tensor_names")
        specs = _texts(shape_and_slices, count, "shape_and_slices")
        restored = []
        with _reader(_text(prefix), files) as reader:
            for name, wanted in zip(names, dtypes, strict=True):
                found = reader.dtype(name)
                if found is not wanted:
                    raise errors.InvalidArgumentError(
                        None,
                        None,
                        f"tensor_name = {name}; expected dtype {wanted.name} does not equal original dtype "
                        f"{found.name} (in {_text(prefix)})",
                    )
            for name, spec in zip(names, specs, strict=True):
                value = reader.read(name, spec)
                if reader.dtype(name) is variant:
                    try:
                        restored.append(from_messages(value))
                    except ValueError as e:
                        raise errors.DataLossError(None, None, f"{name} in {_text(prefix)}: {e}") from None
                else:
                    restored.append(_on_device(value, xp))
        return results(restored)

    return run


def _reader(prefix: str, files: Files) -> Any:
    """The reader of a checkpoint, which may be a file of the first format."""
    with reported(prefix):
        is_first = not files.exists(index_path(prefix)) and bool(files.match(prefix))
    if is_first:
        return nullcontext(slice_file.SliceReader(prefix, files.match(prefix), files))
    return BundleReader(prefix, files)


@kernel("Save", "SaveSlices")
def save(node: KernelNode) -> Kernel:
    count, files, has_slices = len(node.attrs["T"]), node.resources.files, node.op == "SaveSlices"

    def run(filename: Any, tensor_names: Any, *rest: Any) -> None:
        names = _texts(tensor_names, count, "tensor_names")
        specs = _texts(rest[0], count, "shapes_and_slices") if has_slices else [""] * count
        tensors = map(host_array, rest[has_slices:])
        slice_file.write(_text(filename), zip(names, tensors, specs, strict=True), files)

    return run


@kernel("Restore", "RestoreSlice")
def restore(node: KernelNode) -> Kernel:
    wanted: DType = node.attrs["dt"]
    files, xp = node.resources.files, node.xp

    def run(file_pattern: Any, tensor_name: Any, shape_and_slice: Any = b"") -> Any:
        pattern = _text(file_pattern)
        name, spec = _text(tensor_name, name_text), _text(shape_and_slice, name_text)
        with reported(pattern):
            paths = files.match(pattern)
        reader = slice_file.SliceReader(pattern, paths, files)
        found = reader.dtype(name)
        if found is not wanted:
            raise invalid(
                f"Expected to restore a tensor of type {wanted.name}, got a tensor of type {found.name} "
                f"instead: tensor_name = {name}"
            )
        return _on_device(reader.read(name, spec), xp)

    return run


def _on_device(value: Any, xp: Any) -> Any:
    if value.dtype.hasobject:
        return value
    value = xp.asarray(value)
    return value if value.ndim else value[()]


@kernel("MergeV2Checkpoints")
def merge_v2_checkpoints(node: KernelNode) -> Kernel:
    delete, allow_missing = node.attrs["delete_old_dirs"], node.attrs["allow_missing_files"]
    files = node.resources.files

    def run(checkpoint_prefixes: Any, destination_prefix: Any) -> None:
        if checkpoint_prefixes.ndim != 1:
            raise invalid(
                f"checkpoint_prefixes must be a vector, got shape {list(checkpoint_prefixes.shape)}"
            )
        prefixes = [path_of(prefix) for prefix in checkpoint_prefixes.tolist()]
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
