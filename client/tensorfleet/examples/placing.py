"""Placement of an example's parts on the ps and the workers of a cluster."""

from __future__ import annotations

from typing import NamedTuple

import tensorfleet as tf


class Places(NamedTuple):
    """Devices for `tf.device`.

    Attributes:
        ps: the device of variables: the first task of job `ps`, or else the first worker.
        workers: the devices of computations, at least one.
    """

    ps: str
    workers: list[str]


def find(target: str) -> Places:
    """The devices of the cluster of `target`: its ps and workers, or this process for an empty target.

    Raises:
        tf.errors.UnavailableError, tf.errors.DeadlineExceededError: there is no such cluster.
        ValueError: the cluster has no workers.
    """
    if not target:
        return Places("", [""])
    with tf.Graph().as_default(), tf.Session(target) as session:
        names = {device.name.rpartition("/device:")[0] for device in session.list_devices()}
    workers = sorted((name for name in names if "/job:worker/" in name), key=_task_index)
    if not workers:
        raise ValueError(f"the cluster of {target} has no job `worker`, only {', '.join(sorted(names))}")
    ps = sorted((name for name in names if "/job:ps/" in name), key=_task_index)
    return Places((ps or workers)[0], workers)


def _task_index(name: str) -> int:
    return int(name.rpartition(":")[2])
