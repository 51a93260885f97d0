"""Datasets: TensorSliceDataset, MapDataset, BatchDatasetV2 and their like make the datasets of `data`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
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
from tensorfleet_service.kernels.values import invalid, own, shape_text

Make = Callable[..., Dataset]


def dataset_kernel(*op_types: str) -> Callable[[Callable[[KernelNode], Make]], None]:
    """Registers a factory of functions that make a dataset of a node's inputs; sets its types and shapes."""

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


def on_host(value: Any) -> Any:
    """A value that stays as it is, in the host's memory."""
    return own(value.get() if hasattr(value, "get") else value)


def number(value: Any) -> int:
    """An input that must be a scalar integer.

    Raises:
        InvalidArgumentError: it is none.
    """
    if getattr(value, "ndim", 0):
        raise invalid(f"Expected a scalar, got a tensor of shape {shape_text(value.shape)}.")
    return int(value)


@dataset_kernel("TensorDataset")
def tensors(node: KernelNode) -> Make:
    return lambda *components: Tensors(tuple(map(on_host, components)))


@dataset_kernel("TensorSliceDataset")
def slices(node: KernelNode) -> Make:
    return lambda *components: Slices(list(map(on_host, components)))


@dataset_kernel("RangeDataset")
def numbers(node: KernelNode) -> Make:
    dtype = np.dtype(node.attrs["output_types"][0].as_numpy_dtype)
    return lambda start, stop, step: Range(number(start), number(stop), number(step), dtype)


@dataset_kernel("GeneratorDataset")
def generator(node: KernelNode) -> Make:
    parts = ("init_func", "next_func", "finalize_func")
    calls = calls_of(node, parts, "T{}_args")
    return lambda *captured: Generator(*calls(captured))


def callee_of(node: KernelNode, attr: str) -> Callee:
    return Callee(library_of(node), node.attrs[attr], node.device)


def calls_of(node: KernelNode, parts: Sequence[str], arguments: str) -> Callable[[Sequence[Any]], list[Call]]:
    """The function from what a node's functions have captured, one after the other, to their calls.

    Args:
        parts: the attributes with the functions.
        arguments: the attribute with the dtypes of what one has captured; "{}" stands for the function's.
    """
    callees = [callee_of(node, part) for part in parts]
    counts = [len(node.attrs[arguments.format(part)]) for part in parts]

    def calls(captured: Sequence[Any]) -> list[Call]:
        left = iter(captured)
        return [
            Call(callee, tuple(itertools.islice(left, count)))
            for callee, count in zip(callees, counts, strict=True)
        ]

    return calls


@dataset_kernel("RepeatDataset")
def repeat(node: KernelNode) -> Make:
    return lambda source, count: Repeat(source, number(count))


@dataset_kernel("TakeDataset")
def take(node: KernelNode) -> Make:
    return lambda source, count: Take(source, number(count))


@dataset_kernel("SkipDataset")
def skip(node: KernelNode) -> Make:
    return lambda source, count: Skip(source, number(count))


@dataset_kernel("ShardDataset")
def shard(node: KernelNode) -> Make:
    return lambda source, count, index: Shard(source, number(count), number(index))


@dataset_kernel("ZipDataset")
def zip_(node: KernelNode) -> Make:
    return Zip


@dataset_kernel("ConcatenateDataset")
def concatenate(node: KernelNode) -> Make:
    return Concatenate


@dataset_kernel("CacheDataset")
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


@dataset_kernel("ShuffleDataset")
def shuffle(node: KernelNode) -> Make:
    reshuffle = node.attrs["reshuffle_each_iteration"]

    def make(source: Dataset, size: Any, seed: Any, seed2: Any) -> Dataset:
        return Shuffle(source, number(size), number(seed), number(seed2), reshuffle)

    return make


@dataset_kernel("ShuffleAndRepeatDataset")
def shuffle_and_repeat(node: KernelNode) -> Make:
    reshuffle = node.attrs["reshuffle_each_iteration"]

    def make(source: Dataset, size: Any, seed: Any, seed2: Any, count: Any) -> Dataset:
        return Repeat(Shuffle(source, number(size), number(seed), number(seed2), reshuffle), number(count))

    return make


@dataset_kernel("PrefetchDataset")
def prefetch(node: KernelNode) -> Make:
    return lambda source, size: Prefetch(source, number(size))


@dataset_kernel("OptionsDataset", "ModelDataset", "OptimizeDataset")
def as_it_is(node: KernelNode) -> Make:
    return lambda source, *_: source


@dataset_kernel("BatchDataset", "BatchDatasetV2")
def batch(node: KernelNode) -> Make:
    return lambda source, size, drop=False: Batch(source, number(size), bool(drop))


@dataset_kernel("PaddedBatchDataset", "PaddedBatchDatasetV2")
def padded_batch(node: KernelNode) -> Make:
    count = node.attrs["N"]

    def make(source: Dataset, size: Any, *rest: Any) -> Dataset:
        shapes = [[int(d) for d in shape] for shape in rest[:count]]
        values = tuple(map(on_host, rest[count : 2 * count]))
        return PaddedBatch(source, number(size), shapes, values, bool(rest[2 * count :] and rest[-1]))

    return make


# Datasets that call functions


def _parallel(value: Any) -> int:
    """A number of parallel calls, or of datasets in turn; for AUTOTUNE the number of cores."""
    count = number(value)
    return (os.cpu_count() or 1) if count == AUTOTUNE else count


@dataset_kernel("MapDataset")
def map_(node: KernelNode) -> Make:
    callee, keep_count = callee_of(node, "f"), node.attrs["preserve_cardinality"]
    return lambda source, *captured: Map(source, Call(callee, captured), keep_count)


@dataset_kernel("ParallelMapDataset", "ParallelMapDatasetV2")
def parallel_map(node: KernelNode) -> Make:
    callee, keep_count = callee_of(node, "f"), node.attrs["preserve_cardinality"]

    def make(source: Dataset, *rest: Any) -> Dataset:
        return ParallelMap(source, Call(callee, rest[:-1]), keep_count, _parallel(rest[-1]))

    return make


@dataset_kernel("MapAndBatchDataset")
def map_and_batch(node: KernelNode) -> Make:
    callee, keep_count = callee_of(node, "f"), node.attrs["preserve_cardinality"]

    def make(source: Dataset, *rest: Any) -> Dataset:
        *captured, size, parallel, drop = rest
        mapped = ParallelMap(source, Call(callee, captured), keep_count, _parallel(parallel))
        return Batch(mapped, number(size), bool(drop))

    return make


@dataset_kernel("FilterDataset")
def filter_(node: KernelNode) -> Make:
    callee = callee_of(node, "predicate")
    return lambda source, *captured: Filter(source, Call(callee, captured))


@dataset_kernel("FlatMapDataset")
def flat_map(node: KernelNode) -> Make:
    callee = callee_of(node, "f")
    return lambda source, *captured: FlatMap(source, Call(callee, captured))


@dataset_kernel("InterleaveDataset")
def interleave(node: KernelNode) -> Make:
    callee = callee_of(node, "f")

    def make(source: Dataset, *rest: Any) -> Dataset:
        *captured, cycle, block = rest
        return Interleave(source, Call(callee, captured), _parallel(cycle), number(block))

    return make


@dataset_kernel("ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV4")
def parallel_interleave(node: KernelNode) -> Make:
    callee = callee_of(node, "f")
    extra = 3 if node.op.endswith("4") else 1  # inputs that follow cycle_length and block_length

    def make(source: Dataset, *rest: Any) -> Dataset:
        *captured, cycle, block = rest[:-extra]
        length = _parallel(cycle)
        return Interleave(source, Call(callee, captured), length, number(block), ahead=2 * number(block))

    return make
