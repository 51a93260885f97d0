"""Checks a running cluster: a product of matrices over every pair of neighbouring tasks, and a training step.

    python -m tensorfleet.examples.check_cluster grpc://127.0.0.1:2222

finds the tasks by `Session.list_devices` and compares their results with NumPy's. The exit code is 0 if all
agree, else 1 with the reason. The default target is TENSORFLEET_ADDRESS. With
`--device-filter /job:worker/task:0`, which may be repeated, it checks only the tasks that match a filter.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import tensorfleet as tf

SIZE = 64
RATE = 0.1
Array = npt.NDArray[np.float32]


class CheckFailed(Exception):
    """The cluster's results differ from NumPy's; the text says where."""


def best_devices(names: Sequence[str]) -> list[str]:
    """One device of each task, a GPU if it has one: `/job:worker/task:0/device:GPU:0`, sorted."""
    best: dict[tuple[str, int], str] = {}
    for name in names:
        spec = tf.DeviceSpec.from_string(name)
        task = str(spec.job), spec.task or 0
        if task not in best or (spec.device_type == "GPU" and "/device:CPU:" in best[task]):
            best[task] = f"/job:{task[0]}/task:{task[1]}/device:{spec.device_type}:{spec.device_index}"
    return [best[task] for task in sorted(best)]


def job_of(device: str) -> str:
    """The job of a device's name."""
    return str(tf.DeviceSpec.from_string(device).job)


def check_products(target: str, config: tf.ConfigProto, devices: Sequence[str]) -> None:
    """Lets each task multiply its own matrix by that of the next task.

    Raises:
        CheckFailed: a product differs from NumPy's.
        OpError: a task does not answer.
    """
    random = np.random.RandomState(1)
    with tf.Graph().as_default():
        matrices, operands, products = [], [], []
        for device in devices:
            matrices.append(random.standard_normal([SIZE, SIZE]).astype(np.float32))
            with tf.device(device):
                operands.append(tf.constant(matrices[-1]))
        for i, device in enumerate(devices):
            with tf.device(device):
                products.append(tf.matmul(operands[i], operands[(i + 1) % len(devices)]))
        with tf.Session(target, config=config) as session:
            found = session.run(products)
    for i, device in enumerate(devices):
        other = (i + 1) % len(devices)
        expect_close(f"{device} times {devices[other]}", found[i], matrices[i] @ matrices[other])


def check_training(target: str, config: tf.ConfigProto, devices: Sequence[str]) -> None:
    """Makes one step of gradient descent, with weights on each ps and gradients from each other task.

    Raises:
        CheckFailed: the weights after the step differ from NumPy's.
        OpError: a task does not answer.
    """
    holders = [d for d in devices if job_of(d) == "ps"] or list(devices[:1])
    replicas = [d for d in devices if job_of(d) != "ps"] or list(devices)
    random = np.random.RandomState(2)
    start = [random.standard_normal([SIZE]).astype(np.float32) for _ in holders]
    inputs = [random.standard_normal([SIZE, SIZE]).astype(np.float32) for _ in replicas]
    labels = [random.standard_normal([SIZE]).astype(np.float32) for _ in replicas]
    with tf.Graph().as_default():
        weights, gradients = [], []
        for device, value in zip(holders, start, strict=True):
            with tf.device(device):
                weights.append(tf.Variable(value))
        for device, x, y in zip(replicas, inputs, labels, strict=True):
            with tf.device(device):
                outputs = tf.linalg.matvec(tf.constant(x), tf.add_n(weights))
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(outputs - y)), weights))
        updates = []
        for i, (device, variable) in enumerate(zip(holders, weights, strict=True)):
            with tf.device(device):
                mean = tf.add_n([gradient[i] for gradient in gradients]) / len(replicas)
                updates.append(tf.assign_sub(variable, RATE * mean))
        with tf.Session(target, config=config) as session:
            session.run(tf.variables_initializer(weights))
            session.run(tf.group(*updates))
            found = session.run(weights)
    total = np.sum(start, axis=0)
    gradient = np.mean(
        [2 / SIZE * x.T @ (x @ total - y) for x, y in zip(inputs, labels, strict=True)], axis=0
    )
    for device, before, after in zip(holders, start, found, strict=True):
        expect_close(f"weights on {device}", after, before - RATE * gradient)


def expect_close(what: str, found: Array, expected: Array) -> None:
    """Raises CheckFailed if two arrays differ by more than rounding errors."""
    error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    if not error < 1e-4:
        raise CheckFailed(f"{what}: differs from NumPy by {error:.2g} of the largest element")


def check(target: str, filters: Sequence[str] = (), timeout: float = 60.0) -> list[str]:
    """Runs all checks and prints their results.

    Args:
        target: `grpc://host:port` of a task.
        filters: device filters of the sessions; none for all tasks.
        timeout: the time limit for the start of each session and for each step, in seconds.

    Returns:
        The devices that took part, one of each task.

    Raises:
        CheckFailed: the cluster's results differ from NumPy's.
        OpError: the cluster or one of its tasks does not answer.
    """
    config = tf.ConfigProto(operation_timeout_in_ms=int(timeout * 1000), allow_soft_placement=True)
    config.isolate_session_state = (
        True  # keeps its variables separate from those of other programs on the cluster
    )
    config.device_filters.extend(filters)
    with tf.Session(target, graph=tf.Graph(), config=config) as session:
        devices = best_devices([device.name for device in session.list_devices()])
    print(f"{target} has {len(devices)} tasks: {', '.join(devices)}")
    check_products(target, config, devices)
    print(f"{len(devices)} products of matrices over neighbouring tasks agree with NumPy")
    check_training(target, config, devices)
    print("a training step over all tasks agrees with NumPy")
    return devices


def main(argv: Sequence[str]) -> int:
    """Runs the checks; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="check_cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", default=os.environ.get("TENSORFLEET_ADDRESS", ""))
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--device-filter", action="append", default=[], metavar="/job:NAME/task:N")
    arguments = parser.parse_args(argv)
    if not arguments.target:
        parser.error("there is no target: give one such as grpc://host:2222, or set TENSORFLEET_ADDRESS")
    try:
        check(arguments.target, arguments.device_filter, arguments.timeout)
    except (CheckFailed, tf.errors.OpError) as error:
        print(f"the cluster at {arguments.target} is not right: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
