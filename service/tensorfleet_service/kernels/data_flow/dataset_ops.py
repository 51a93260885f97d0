"""Datasets: TensorSliceDataset, MapDataset, BatchDatasetV2 and their like make the datasets of `data`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.data.ahead import AUTOTUNE, Prefetch
from tensorfleet_service.data.batching import Batch, PaddedBatch
from tensorfleet_service.data.dataset import Call, Callee, Dataset
from tensorfleet_service.data.functional import Filter, FlatMap, Interleave, Map, ParallelMap
from tensorfleet_service.data.sequence import Cache, Concatenate, Repeat, Shard, Skip, Take, Zip
from tensorfleet_service.data.shuffle import Shuffle
from tensorfleet_service.data.sources import Generator, Range, Slices, Tensors
from tensorfleet_service.kernels.functions.function_ops import library_of
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel

Make = Callable[..., Dataset]


def _dataset(*op_types: str) -> Callable[[Callable[[KernelNode], Make]], None]:
    """Registers what makes a dataset of a node's inputs; its types and shapes are set here."""

    def register(factory: Callable[[KernelNode], Make]) -> None:
        def made(node: KernelNode) -> Kernel:
            make = factory(node)
            attrs = node.attrs
            types = attrs["output_types"] if "output_types" in attrs else attrs["Toutput_types"]
            shapes = attrs["output_shapes"]

            def run(*inputs: Any) -> Dataset:
                dataset = make(*inputs)
                dataset.types, dataset.shapes = types, shapes
                return dataset

            return run

        kernel(*op_types)(made)

    return register


def _host(value: Any) -> Any:
    """A value that stays as it is, in the host's memory: fed arrays are the caller's."""
    if hasattr(value, "get"):
        value = value.get()
    return value.copy() if isinstance(value, np.ndarray) else value


@_dataset("TensorDataset")
def tensors(node: KernelNode) -> Make:
    return lambda *components: Tensors(tuple(map(_host, components)))


@_dataset("TensorSliceDataset")
def slices(node: KernelNode) -> Make:
    return lambda *components: Slices(list(map(_host, components)))


@_dataset("RangeDataset")
def numbers(node: KernelNode) -> Make:
    dtype = np.dtype(node.attrs["output_types"][0].as_numpy_dtype)
    return lambda start, stop, step: Range(int(start), int(stop), int(step), dtype)


@_dataset("GeneratorDataset")
def generator(node: KernelNode) -> Make:
    attrs = node.attrs
    callees = [_callee(node, f"{part}_func") for part in ("init", "next", "finalize")]
    counts = [len(attrs[f"T{part}_func_args"]) for part in ("init", "next", "finalize")]

    def make(*captured: Any) -> Dataset:
        calls = []
        start = 0
        for callee, count in zip(callees, counts, strict=True):
            calls.append(Call(callee, captured[start : start + count]))
            start += count
        return Generator(*calls)

    return make


def _callee(node: KernelNode, attr: str) -> Callee:
    return Callee(library_of(node), node.attrs[attr], node.device)


@_dataset("RepeatDataset")
def repeat(node: KernelNode) -> Make:
    return lambda source, count: Repeat(source, int(count))


@_dataset("TakeDataset")
def take(node: KernelNode) -> Make:
    return lambda source, count: Take(source, int(count))


@_dataset("SkipDataset")
def skip(node: KernelNode) -> Make:
    return lambda source, count: Skip(source, int(count))


@_dataset("ShardDataset")
def shard(node: KernelNode) -> Make:
    return lambda source, count, index: Shard(source, int(count), int(index))


@_dataset("ZipDataset")
def zip_(node: KernelNode) -> Make:
    return Zip


@_dataset("ConcatenateDataset")
def concatenate(node: KernelNode) -> Make:
    return Concatenate


@_dataset("CacheDataset")
def cache(node: KernelNode) -> Make:
    def make(source: Dataset, filename: Any) -> Dataset:
        name = bytes(filename[()] if isinstance(filename, np.ndarray) else filename)
        if name:
            text = (
                f"Dataset.cache keeps elements in memory only: call it without a file name ({name.decode()})"
            )
            raise errors.UnimplementedError(None, None, text)
        return Cache(source)

    return make


@_dataset("ShuffleDataset")
def shuffle(node: KernelNode) -> Make:
    reshuffle = node.attrs["reshuffle_each_iteration"]

    def make(source: Dataset, size: Any, seed: Any, seed2: Any) -> Dataset:
        return Shuffle(source, int(size), int(seed), int(seed2), reshuffle)

    return make


@_dataset("ShuffleAndRepeatDataset")
def shuffle_and_repeat(node: KernelNode) -> Make:
    reshuffle = node.attrs["reshuffle_each_iteration"]

    def make(source: Dataset, size: Any, seed: Any, seed2: Any, count: Any) -> Dataset:
        return Repeat(Shuffle(source, int(size), int(seed), int(seed2), reshuffle), int(count))

    return make


@_dataset("PrefetchDataset")
def prefetch(node: KernelNode) -> Make:
    return lambda source, size: Prefetch(source, int(size))


@_dataset("OptionsDataset", "ModelDataset", "OptimizeDataset")
def as_it_is(node: KernelNode) -> Make:
    return lambda source, *_: source


@_dataset("BatchDataset", "BatchDatasetV2")
def batch(node: KernelNode) -> Make:
    return lambda source, size, drop=False: Batch(source, int(size), bool(drop))


@_dataset("PaddedBatchDataset", "PaddedBatchDatasetV2")
def padded_batch(node: KernelNode) -> Make:
    count = node.attrs["N"]

    def make(source: Dataset, size: Any, *rest: Any) -> Dataset:
        shapes = [[int(d) for d in shape] for shape in rest[:count]]
        values = tuple(map(_host, rest[count : 2 * count]))
        return PaddedBatch(source, int(size), shapes, values, bool(rest[2 * count :] and rest[-1]))

    return make


# By functions


def _parallel(value: Any) -> int:
    """The number of parallel calls: that of the cores where the user leaves it to us."""
    number = int(value)
    return (os.cpu_count() or 1) if number == AUTOTUNE else number


@_dataset("MapDataset")
def map_(node: KernelNode) -> Make:
    callee, keep_count = _callee(node, "f"), node.attrs["preserve_cardinality"]
    return lambda source, *captured: Map(source, Call(callee, captured), keep_count)


@_dataset("ParallelMapDataset", "ParallelMapDatasetV2")
def parallel_map(node: KernelNode) -> Make:
    callee, keep_count = _callee(node, "f"), node.attrs["preserve_cardinality"]

    def make(source: Dataset, *rest: Any) -> Dataset:
        return ParallelMap(source, Call(callee, rest[:-1]), keep_count, _parallel(rest[-1]))

    return make


@_dataset("MapAndBatchDataset")
def map_and_batch(node: KernelNode) -> Make:
    callee, keep_count = _callee(node, "f"), node.attrs["preserve_cardinality"]

    def make(source: Dataset, *rest: Any) -> Dataset:
        *captured, size, parallel, drop = rest
        mapped = ParallelMap(source, Call(callee, captured), keep_count, _parallel(parallel))
        return Batch(mapped, int(size), bool(drop))

    return make


@_dataset("FilterDataset")
def filter_(node: KernelNode) -> Make:
    callee = _callee(node, "predicate")
    return lambda source, *captured: Filter(source, Call(callee, captured))


@_dataset("FlatMapDataset")
def flat_map(node: KernelNode) -> Make:
    callee = _callee(node, "f")
    return lambda source, *captured: FlatMap(source, Call(callee, captured))


@_dataset("InterleaveDataset")
def interleave(node: KernelNode) -> Make:
    callee = _callee(node, "f")

    def make(source: Dataset, *rest: Any) -> Dataset:
        *captured, cycle, block = rest
        return Interleave(source, Call(callee, captured), int(cycle), int(block))

    return make


@_dataset("ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV4")
def parallel_interleave(node: KernelNode) -> Make:
    callee = _callee(node, "f")
    extra = 3 if node.op.endswith("4") else 1  # inputs that follow cycle_length and block_length

    def make(source: Dataset, *rest: Any) -> Dataset:
        *captured, cycle, block = rest[:-extra]
        length = _parallel(cycle)
        return Interleave(source, Call(callee, captured), length, int(block), ahead=2 * int(block))

    return make
