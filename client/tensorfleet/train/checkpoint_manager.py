"""Several checkpoints of one object, of which the newest are kept: `tf.train.CheckpointManager`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from tensorfleet.core.file_io import makedirs
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.train import checkpoint_management
from tensorfleet.train.object_checkpoint import Checkpoint, CheckpointOptions


class CheckpointManager:
    """Writes numbered checkpoints into a directory, and deletes old ones (`tf.train.CheckpointManager`).

    What is in the directory from before, and is named in its `checkpoint` file, counts.

    Args:
        checkpoint: the `tf.train.Checkpoint` to write.
        directory: the directory; it is made if need be.
        max_to_keep: the number of checkpoints to keep; None for all.
        keep_checkpoint_every_n_hours: keep one in so many hours for good.
        checkpoint_name: what the names of checkpoints begin with.
        step_counter: a variable that counts steps, for `checkpoint_interval`.
        checkpoint_interval: the least number of steps between two checkpoints.
        init_fn: called by `restore_or_initialize` where there is no checkpoint.
        last_checkpoint_step: the step of the last checkpoint.

    Raises:
        ValueError: `max_to_keep` is not positive, or an interval comes without a counter.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"`max_to_keep` needs a positive integer or `None`. Got {max_to_keep}")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._max_to_keep, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter, self._interval = step_counter, checkpoint_interval
        self._init_fn, self._last_step = init_fn, last_checkpoint_step
        makedirs(self._directory)
        state = checkpoint_management.get_checkpoint_state(self._directory)
        paths = [] if state is None else list(state.all_model_checkpoint_paths)
        times = [] if state is None else list(state.all_model_checkpoint_timestamps)
        now = time.time()
        self._last_preserved = (state.last_preserved_timestamp if state is not None else 0) or now
        self._latest: str | None = state.model_checkpoint_path if state is not None else None
        self._kept = dict(zip(paths, times if len(times) == len(paths) else [now] * len(paths), strict=True))

    @property
    def directory(self) -> str:
        """The directory."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The object that is written."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The least number of steps between two checkpoints, or None."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The name of the newest checkpoint, or None."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The names of the checkpoints that are kept, oldest first."""
        return list(self._kept)

    def save(
        self,
        checkpoint_number: Any = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:
        """Writes a checkpoint in the default session, unless the last one is too new.

        Args:
            checkpoint_number: its number, an integer or a variable; by default one more than the last.
            check_interval: False to write it also where the last one is newer than the interval, but of
                another step.

        Returns:
            Its name, or None.

        Raises:
            RuntimeError: there is no default session.
        """
        session = get_default_session()
        if session is None:
            raise RuntimeError(
                "A CheckpointManager saves in the default session: use a `with tf.Session()` block."
            )
        if self._interval is not None:
            step = int(session.run(self._step_counter))
            if self._last_step is not None and (
                step == self._last_step or (check_interval and step < self._last_step + self._interval)
            ):
                return None
            self._last_step = step
        number = self._checkpoint._count(session)
        if checkpoint_number is not None:
            is_number = isinstance(checkpoint_number, int)
            number = checkpoint_number if is_number else int(session.run(checkpoint_number))
        path = self._checkpoint.write(f"{self._prefix}-{number}", session, options)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        # The new one is on record before an old one is deleted.
        self._record()
        self._sweep()
        self._record()
        return path

    def _record(self) -> None:
        names = [os.path.relpath(path, self._directory) for path in self._kept]
        checkpoint_management.update_checkpoint_state(
            self._directory,
            names[-1],
            names,
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._last_preserved,
        )

    def _sweep(self) -> None:
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path, written = next(iter(self._kept.items()))
            del self._kept[path]
            if self._hours and written - self._hours * 3600 >= self._last_preserved:
                self._last_preserved = written
            else:
                checkpoint_management.remove_checkpoint(path)

    def restore_or_initialize(self) -> str | None:
        """Restores the newest checkpoint in the default session, or calls `init_fn`.

        Returns:
            The name of the checkpoint, or None if there is none.
        """
        if self._latest is not None:
            self._checkpoint.restore(self._latest).run_restore_ops()
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self) -> None:
        """Does nothing: `save` returns when the checkpoint is written."""
