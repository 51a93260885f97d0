"""Waiting for the checkpoints that another process writes: `tf.train.checkpoints_iterator`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.core import logging
from tensorfleet.train.checkpoint_management import latest_checkpoint


def wait_for_new_checkpoint(
    checkpoint_dir: Any,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The newest checkpoint of a directory once it is another one than `last_checkpoint`.

    Args:
        seconds_to_sleep: how often to look.
        timeout: seconds after which None is returned; None waits for as long as it takes.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            logging.info("Found new checkpoint at %s", found)
            return found
        if deadline is not None and time.monotonic() + seconds_to_sleep > deadline:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The newest checkpoint of a directory, each time there is a new one (`tf.train.checkpoints_iterator`).

    Those that are replaced while the caller is at work are left out.

    Args:
        min_interval_secs: so many seconds lie between two at least.
        timeout: seconds to wait for each; None waits for as long as it takes.
        timeout_fn: called after a timeout: whether to stop. By default that is so.
    """
    path: str | None = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if found is None:
            if timeout_fn is None:
                logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        path = found
        began = time.monotonic()
        yield path
        left = began + min_interval_secs - time.monotonic()
        if left > 0:
            time.sleep(left)
