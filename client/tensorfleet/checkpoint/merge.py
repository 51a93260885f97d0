"""Several checkpoints into one: their data files are renamed, their indexes merged."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tensorfleet.checkpoint import files
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.bundle_writer import write_index
from tensorfleet.core import errors
from tensorfleet.core.files import LOCAL, Files
from tensorfleet.proto.tensor_bundle_pb2 import BundleEntryProto


def merge(prefixes: Sequence[str], destination: str, allow_missing: bool = False, way: Files = LOCAL) -> None:
    """Makes the checkpoint `destination` of those called `prefixes`, which are no more after it.

    Raises:
        NotFoundError: a checkpoint is not there; all others are as they were.
        InvalidArgumentError: two of them have the same tensor.
        DataLossError: an index is damaged.
    """
    readers = []
    for prefix in dict.fromkeys(prefixes):
        try:
            readers.append(BundleReader(prefix, way))
        except errors.NotFoundError as e:
            if not allow_missing:
                raise errors.NotFoundError(None, None, _explain(prefix, destination)) from e
    shards = sum(reader.shards for reader in readers)
    entries: dict[bytes, BundleEntryProto] = {}
    moves: list[tuple[str, str]] = []
    for reader in readers:
        first = len(moves)
        for shard in range(reader.shards):
            source = files.data_path(reader.prefix, shard, reader.shards)
            if not way.exists(source):
                raise errors.NotFoundError(None, None, _explain(source, destination))
            moves.append((source, files.data_path(destination, first + shard, shards)))
        for key, entry in reader._entries.items():
            entry.shard_id += first
            known = entries.setdefault(key, entry)
            if known is entry:
                continue
            if not entry.slices or not known.slices or known.shape != entry.shape:
                name = key.decode("utf-8", "backslashreplace")
                raise errors.InvalidArgumentError(
                    None, None, f"Duplicate tensor keyed by {name} encountered, when merging {reader.prefix}"
                )
            known.slices.extend(entry.slices)
    for entry in entries.values():
        if entry.slices:
            entry.shard_id = 0
    with files.reported(destination):
        for source, target in moves:
            way.replace(source, target)
        files.remove_abandoned(os.path.dirname(destination), way)
        write_index(destination, shards, entries, [], way)
        for reader in readers:
            way.remove(files.index_path(reader.prefix))


def remove_empty_directories(prefixes: Sequence[str], way: Files = LOCAL) -> None:
    """Removes the directories that the checkpoints were in, where nothing else is in them."""
    for directory in {os.path.dirname(prefix) for prefix in prefixes}:
        try:
            way.remove_directory(directory)
        except OSError:
            # Not empty, or gone already: another save may be using it.
            continue


def _explain(missing: str, destination: str) -> str:
    return (
        f"{missing} did not exist where the parts of checkpoint {destination} are put together. With "
        "Saver(sharded=True) each task writes the variables that it has to its own file system, and one task "
        "puts the parts together: all of them must see the same directory. Where they do not share one, use "
        "Saver(sharded=False), with which the session's task gathers the variables and writes them itself."
    )
