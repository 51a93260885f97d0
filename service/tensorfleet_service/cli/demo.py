"""`tensorfleet demo`: a real job on a small cluster, checked against NumPy."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tqdm import tqdm

import tensorfleet as tf
from tensorfleet.examples import mapreduce_mnist
from tensorfleet.examples.mapreduce_mnist import MapReduce, Result
from tensorfleet_service.local_cluster import LocalCluster

TOLERANCE = 1e-6
MARGIN = 4  # pixels of an image's border, always empty
SHADES = " .:-=+*#%@"


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet demo`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet demo",
        description="Map/reduce over handwritten digits (MNIST): the mean image of each class, the mean and "
        "the variance of all pixels, on one ps and some workers; checked against NumPy.",
        allow_abbrev=False,
    )
    p.add_argument("--workers", type=int, default=2, metavar="N", help="worker tasks (default: 2)")
    p.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="MNIST's IDX files, plain or gzip (default: the packaged sample)",
    )
    p.add_argument(
        "--address",
        metavar="ADDRESS",
        help="use the cluster of this task, in place of a new one on this machine",
    )
    p.add_argument(
        "--batch-size",
        type=int,
        default=mapreduce_mnist.BATCH_SIZE,
        metavar="N",
        help="digits for one worker in one step (default: %(default)s)",
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Runs the job; returns 0 if its result is NumPy's, else 1 (2 for wrong flags or data)."""
    p = parser()
    flags = p.parse_args(argv)
    if flags.workers < 1 or flags.batch_size < 1:
        p.error("--workers and --batch-size take 1 or more")
    try:
        images, labels = mapreduce_mnist.load(flags.data_dir)
    except (FileNotFoundError, ValueError) as error:
        p.error(f"--data-dir: {error}")
    source = flags.data_dir or "the packaged sample of MNIST"
    print(f"{len(images):,} digits of {source}, {images.shape[1]} pixels each")
    job = MapReduce(flags.workers)
    try:
        with _target(flags.address, flags.workers) as target, tf.Session(target, graph=job.graph) as session:
            print(f"Session on {target}: {', '.join(device.name for device in session.list_devices())}")
            start = time.perf_counter()
            with tqdm(total=len(images), unit=" digits", unit_scale=True, desc="map/reduce") as bar:
                result, placed = job.run(session, images, labels, flags.batch_size, bar.update)
            seconds = time.perf_counter() - start
    except (tf.errors.OpError, RuntimeError) as error:
        print(f"tensorfleet demo: {error}", file=sys.stderr)
        return 1
    print(f"\n{drawing(result)}\n")
    print(f"mean of all pixels      {result.mean:.9f}")
    print(f"variance of all pixels  {result.variance:.9f}\n")
    for part, device, ops in placed:
        print(f"{part:<8} {device}  ({ops} ops)")
    print(f"\n{seconds:.2f} s, {len(images) / seconds:,.0f} digits per second")
    return _check(result, mapreduce_mnist.with_numpy(images, labels))


def drawing(result: Result) -> str:
    """The mean images of the ten classes in characters, five side by side."""
    side = int(np.sqrt(result.class_means.shape[1]))
    images = np.nan_to_num(result.class_means).reshape(-1, side, side)[:, MARGIN:-MARGIN, MARGIN:-MARGIN]
    # A character is twice as high as it is wide.
    rows = images.reshape(len(images), -1, 2, images.shape[2]).mean(2)
    brightest = max(rows.max(), 1.0)
    shades = np.array(list(SHADES))[np.rint(rows / brightest * (len(SHADES) - 1)).astype(int)]
    halves = (shades[:5], shades[5:])
    return "\n\n".join(
        "\n".join("  ".join("".join(row) for row in line).rstrip() for line in zip(*half, strict=True))
        for half in halves
    )


@contextmanager
def _target(address: str | None, workers: int) -> Iterator[str]:
    """The target of the given cluster, or of a new one with one ps, which ends with the context."""
    if address:
        yield address if "://" in address else f"grpc://{address}"
        return
    print(f"Starting a cluster on this machine: 1 ps and {workers} workers, a process each")
    with LocalCluster({"ps": 1, "worker": workers}) as cluster:
        yield cluster.target


def _check(result: Result, expected: Result) -> int:
    difference = mapreduce_mnist.largest_difference(result, expected)
    if difference <= TOLERANCE:
        print(f"Agrees with NumPy: the largest relative difference is {difference:.1e}.")
        return 0
    print(f"DIFFERS from NumPy by {difference:.1e}, over {TOLERANCE:.0e}.", file=sys.stderr)
    return 1
