"""The `checkpoint` file, which names the newest checkpoint of its directory, and functions on checkpoints."""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Iterable
from typing import Any

from tensorfleet.checkpoint import files
from tensorfleet.core import logging
from tensorfleet.proto.checkpoint_state_pb2 import CheckpointState
from tensorfleet.proto.saver_pb2 import SaverDef


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """The content of a `checkpoint` file (`tf.train.generate_checkpoint_state_proto`).

    Args:
        save_dir: the directory of the file; if it is relative, relative paths are stored relative to it.
        model_checkpoint_path: the newest checkpoint; it is added to the others if it is not their last.
        all_model_checkpoint_paths: all that are kept, oldest first.
        all_model_checkpoint_timestamps: the times of their writing, in seconds since 1970.
        last_preserved_timestamp: the time of the last checkpoint that is kept for good.

    Raises:
        ValueError: the numbers of timestamps and paths differ.
    """
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        logging.info("%s is not in all_model_checkpoint_paths. Manually adding it.", model_checkpoint_path)
        paths.append(model_checkpoint_path)
    if all_model_checkpoint_timestamps and len(all_model_checkpoint_timestamps) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {all_model_checkpoint_timestamps})"
        )
    return CheckpointState(
        model_checkpoint_path=_relative(model_checkpoint_path, save_dir),
        all_model_checkpoint_paths=[_relative(path, save_dir) for path in paths],
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def _relative(path: str, directory: str) -> str:
    if os.path.isabs(directory) or os.path.isabs(path):
        return path
    return os.path.relpath(path, directory)


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the `checkpoint` file atomically (`tf.train.update_checkpoint_state`).

    Raises:
        RuntimeError: the file would overwrite the checkpoint.
        OpError: the file cannot be written; the old one is unchanged.
    """
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    write_state(_state_path(save_dir, latest_filename), state)


def update_state(
    save_dir: str, path: str, all_paths: list[str], latest_filename: str, save_relative_paths: bool
) -> None:
    """`update_checkpoint_state`, with paths relative to `save_dir` if `save_relative_paths`."""
    if save_relative_paths:
        path, *all_paths = (
            os.path.relpath(p, save_dir) if os.path.isabs(p) else p for p in (path, *all_paths)
        )
    update_checkpoint_state(save_dir, path, all_paths, latest_filename)


def write_state(path: str, state: CheckpointState) -> None:
    """Writes a `checkpoint` file."""
    from google.protobuf import text_format

    if path == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{state.model_checkpoint_path}' conflicts with path used for checkpoint state.  "
            "Please use a different save path."
        )
    with files.reported(path):
        files.replace_file(path, text_format.MessageToString(state).encode())


def _state_path(directory: str, latest_filename: str | None) -> str:
    return os.path.join(directory, latest_filename or "checkpoint")


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> CheckpointState | None:
    """The message in the `checkpoint` file of a directory, None if it cannot be read
    (`tf.train.get_checkpoint_state`). Relative paths in it are made relative to the working directory.

    Raises:
        ValueError: the file names no checkpoint.
    """
    from google.protobuf import text_format

    directory = os.fspath(checkpoint_dir)
    path = _state_path(directory, latest_filename)
    try:
        with open(path, encoding="utf-8") as file:
            state = text_format.Parse(file.read(), CheckpointState())
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, text_format.ParseError) as e:
        logging.warning("%s: %s", type(e).__name__, e)
        logging.warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError("Invalid checkpoint state loaded from " + directory)
    # os.path.join leaves absolute paths as they are.
    state.model_checkpoint_path = os.path.join(directory, state.model_checkpoint_path)
    absolute = [os.path.join(directory, p) for p in state.all_model_checkpoint_paths]
    state.all_model_checkpoint_paths[:] = absolute
    return state


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The newest checkpoint of a directory, None if there is none (`tf.train.latest_checkpoint`)."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path: str = state.model_checkpoint_path
    if checkpoint_exists(path):
        return path
    logging.error("Couldn't match files for checkpoint %s", path)
    return None


def _matches(prefix: str) -> list[str]:
    """The files that a checkpoint of format V2, or else V1, has; the prefix may be a pattern."""
    for path in (files.index_path(prefix), prefix):
        found = [path] if os.path.isfile(path) else glob.glob(path)
        if found:
            return sorted(found)
    return []


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of that name, or matching the pattern (`tf.train.checkpoint_exists`)."""
    return bool(_matches(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[str]) -> list[float]:
    """The modification times of checkpoints, in seconds since 1970; missing checkpoints are left out
    (`tf.train.get_checkpoint_mtimes`).
    """
    return [math.floor(os.stat(f[0]).st_mtime) for f in map(_matches, checkpoint_prefixes) if f]


def remove_checkpoint(
    checkpoint_prefix: str,
    checkpoint_format_version: int = SaverDef.V2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Deletes the files of a checkpoint (`tf.train.remove_checkpoint`)."""
    _delete([meta_graph_filename(checkpoint_prefix, meta_graph_suffix)])
    if checkpoint_format_version != SaverDef.V2:
        _delete([checkpoint_prefix])
        return
    _delete([files.index_path(checkpoint_prefix)])
    _delete(glob.glob(f"{glob.escape(checkpoint_prefix)}.data-?????-of-?????"))


def _delete(paths: list[str]) -> None:
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:
            # Another process may be removing the same checkpoint.
            continue


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """The file with the graph beside a checkpoint, one for all shards."""
    return re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename) + "." + meta_graph_suffix
