"""Datasets that pick, group and take apart elements, and ops on whole datasets."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.long_texts import excerpt
from tensorfleet.records.compression import check_kind, deflater
from tensorfleet.records.options import TFRecordOptions
from tensorfleet.records.tfrecord import framed
from tensorfleet_service.data.cardinality import cardinality
from tensorfleet_service.data.dataset import Call, Dataset, Element, Run, checked
from tensorfleet_service.data.experimental import (
    Directed,
    GroupByWindow,
    IgnoreErrors,
    Scan,
    SparseBatch,
    TakeWhile,
    Unbatch,
    Unique,
)
from tensorfleet_service.data.functional import Interleave
from tensorfleet_service.data.position import Position, State
from tensorfleet_service.data.shuffle import numbers
from tensorfleet_service.data.windows import GroupByReducer, Rebatch, SparseRows, Window
from tensorfleet_service.kernels.data_flow.dataset_ops import (
    Make,
    callee_of,
    calls_of,
    dataset_kernel,
    number,
    on_host,
)
from tensorfleet_service.kernels.functions.function_ops import library_of
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, ints, results
from tensorfleet_service.records.files import ProgramFiles
from tensorfleet_service.state.tables import Table
from tensorfleet_service.threads.future import Future


@dataset_kernel("UnbatchDataset")
def unbatch(node: KernelNode) -> Make:
    return Unbatch


@dataset_kernel("UniqueDataset")
def unique(node: KernelNode) -> Make:
    return Unique


@dataset_kernel("TakeWhileDataset")
def take_while(node: KernelNode) -> Make:
    callee = callee_of(node, "predicate")
    return lambda source, *captured: TakeWhile(source, Call(callee, captured))


@dataset_kernel("ScanDataset")
def scan(node: KernelNode) -> Make:
    callee, count = callee_of(node, "f"), len(node.attrs["Tstate"])
    keep = node.attrs["preserve_cardinality"]
    return lambda source, *rest: Scan(source, rest[:count], Call(callee, rest[count:]), keep)


@dataset_kernel("IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset")
def ignore_errors(node: KernelNode) -> Make:
    return lambda source: IgnoreErrors(source, node.attrs["log_warning"])


@dataset_kernel("DirectedInterleaveDataset")
def directed_interleave(node: KernelNode) -> Make:
    return lambda selector, *datasets: Directed(selector, datasets, node.attrs["stop_on_empty_dataset"])


@dataset_kernel("GroupByWindowDataset")
def group_by_window(node: KernelNode) -> Make:
    parts = ("key_func", "reduce_func", "window_size_func")
    calls = calls_of(node, parts, "T{}_other_arguments")
    return lambda source, *captured: GroupByWindow(source, *calls(captured))


@dataset_kernel("GroupByReducerDataset")
def group_by_reducer(node: KernelNode) -> Make:
    parts = ("key_func", "init_func", "reduce_func", "finalize_func")
    calls = calls_of(node, parts, "T{}_other_arguments")
    return lambda source, *captured: GroupByReducer(source, *calls(captured))


@dataset_kernel("WindowDataset")
def window(node: KernelNode) -> Make:
    def make(source: Dataset, size: Any, shift: Any, stride: Any, drop: Any) -> Dataset:
        return Window(source, number(size), number(shift), number(stride), bool(drop))

    return make


@dataset_kernel("RebatchDatasetV2")
def rebatch(node: KernelNode) -> Make:
    return lambda source, sizes, drop: Rebatch(source, host_array(sizes).reshape(-1).tolist(), bool(drop))


@kernel("SparseTensorSliceDataset")
def sparse_tensor_slices(node: KernelNode) -> Kernel:
    types = [dtypes.int64, node.attrs["Tvalues"], dtypes.int64]

    def run(indices: Any, values: Any, dense_shape: Any) -> Dataset:
        dataset = SparseRows(*map(on_host, (indices, values, dense_shape)))
        rank = len(dense_shape) - 1
        dataset.types, dataset.shapes = types, [(None, rank), (None,), (rank,)]
        return dataset

    return run


@dataset_kernel("DenseToSparseBatchDataset")
def dense_to_sparse_batch(node: KernelNode) -> Make:
    return lambda source, size, row_shape: SparseBatch(source, number(size), ints(host_array(row_shape)))


@dataset_kernel("ParallelInterleaveDataset")
def parallel_interleave(node: KernelNode) -> Make:
    callee = callee_of(node, "f")

    def make(source: Dataset, *rest: Any) -> Dataset:
        *captured, cycle, block, _sloppy, _output, prefetch = rest
        ahead = max(number(prefetch), number(block))
        return Interleave(source, Call(callee, captured), number(cycle), number(block), ahead=ahead)

    return make


class _Random(Dataset):
    """Random integers of 32 bits (`RandomDataset`); if both seeds are 0, others each time it is made."""

    def __init__(self, seed: int, seed2: int) -> None:
        super().__init__()
        if not seed and not seed2:
            seed, seed2 = secrets.randbits(63), secrets.randbits(63)
        self._seeds = seed, seed2

    def items(self, run: Run) -> Iterator[Element]:
        return _Drawing(self._seeds)


class _Drawing(Position):
    STATE = ("_seeds", "_drawn")

    def __init__(self, seeds: tuple[int, int]) -> None:
        self._seeds = seeds
        self._drawn = 0
        self._numbers = numbers(*seeds)

    def restore(self, saved: State) -> None:
        super().restore(saved)
        self._numbers = numbers(*self._seeds, start=self._drawn)

    def __next__(self) -> Element:
        self._drawn += 1
        return (np.int64(next(self._numbers)),)


@dataset_kernel("RandomDataset")
def random(node: KernelNode) -> Make:
    return lambda seed, seed2: _Random(number(seed), number(seed2))


@dataset_kernel("AssertCardinalityDataset")
def assert_cardinality(node: KernelNode) -> Make:
    return lambda source, count: _Counted(source, number(count))


class _Counted(Dataset):
    """The input, checked to have `count` elements (`AssertCardinalityDataset`)."""

    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self.count = count

    def items(self, run: Run) -> Iterator[Element]:
        return _Counting(self.source.elements(run), self.count)


class _Counting(Position):
    PARTS = ("_elements",)
    STATE = ("_given",)

    def __init__(self, elements: Iterator[Element], wanted: int) -> None:
        self._elements = elements
        self._wanted = wanted
        self._given = 0

    def __next__(self) -> Element:
        wanted = self._wanted
        try:
            element = next(self._elements)
        except StopIteration:
            if self._given == wanted or wanted == -2:
                raise
            expected = "an infinite number of" if wanted == -1 else f"{wanted}"
            found = f"contained only {self._given} elements."
            text = f"Input dataset was expected to contain {expected} elements but {found}"
            raise errors.FailedPreconditionError(None, None, text) from None
        self._given += 1
        if 0 <= wanted < self._given:
            found = f"contained at least {self._given} elements."
            text = f"Input dataset was expected to contain {wanted} elements but {found}"
            raise errors.FailedPreconditionError(None, None, text)
        return element


@cardinality.register
def _(dataset: _Counted) -> int:
    return dataset.count


@cardinality.register
def _(dataset: _Random) -> int:
    return -1


# Ops on whole datasets


@kernel("DatasetCardinality")
def dataset_cardinality(node: KernelNode) -> Kernel:
    return lambda dataset: np.int64(cardinality(checked(dataset)))


def _in_background(node: KernelNode, work: Any) -> AsyncKernel:
    """A kernel that iterates over a dataset on the pool, as it may have to wait for elements."""
    pool = library_of(node).pool

    def run(dataset: Dataset, *inputs: Any) -> Future:
        pool.check_room()
        elements = Run(pool)
        future = Future(lambda _: elements.close())

        def compute() -> None:
            try:
                value = work(checked(dataset).unshared(), elements, *inputs)
            except Exception as e:
                elements.close()
                future.complete(None, e)
                return
            elements.close()
            future.complete(value)

        pool.submit(compute)
        return future

    return AsyncKernel(run)


@kernel("DatasetToSingleElement", blocking=True)
def to_single_element(node: KernelNode) -> AsyncKernel:
    def work(dataset: Dataset, run: Run) -> Any:
        elements = dataset.elements(run)
        found = next(elements, None)
        if found is None:
            raise errors.InvalidArgumentError(None, None, "Dataset was empty.")
        if next(elements, None) is not None:
            raise errors.InvalidArgumentError(None, None, "Dataset had more than one element.")
        return results(found)

    return _in_background(node, work)


def _text(value: Any) -> bytes:
    """A string that is an array without dimensions, or is by itself."""
    return bytes(host_array(value).reshape(())[()])


@kernel("InitializeTableFromDataset", blocking=True)
def initialize_table(node: KernelNode) -> AsyncKernel:
    def work(dataset: Dataset, run: Run, table: Table) -> None:
        keys, values = [], []
        for key, value in dataset.elements(run):
            if run.closed:
                raise errors.CancelledError(None, None, "The step has ended")
            keys.append(host_array(key).reshape(())[()])
            values.append(host_array(value).reshape(())[()])
        table.replace(
            np.array(keys, table.key_dtype.as_numpy_dtype), np.array(values, table.value_dtype.as_numpy_dtype)
        )

    in_background = _in_background(node, work)

    def run(table: Table, dataset: Dataset) -> Future:
        started: Future = in_background.function(dataset, table)
        return started

    return AsyncKernel(run)


@kernel("DatasetToTFRecord", blocking=True)
def to_records(node: KernelNode) -> AsyncKernel:
    files = ProgramFiles(node.resources.files)

    def work(dataset: Dataset, run: Run, filename: Any, compression: Any) -> None:
        kind = excerpt(_text(compression))
        deflate = deflater(TFRecordOptions(kind), kind) if check_kind(kind) else None
        with io.BufferedWriter(files.open_for_write(_text(filename))) as file:
            for (record,) in dataset.elements(run):
                if run.closed:
                    raise errors.CancelledError(None, None, "The step has ended")
                data = framed(_text(record))
                file.write(data if deflate is None else deflate.compress(data))
            if deflate is not None:
                file.write(deflate.flush())

    return _in_background(node, work)


@kernel("ReduceDataset", blocking=True)
def reduce(node: KernelNode) -> AsyncKernel:
    callee, count = callee_of(node, "f"), len(node.attrs["Tstate"])

    def work(dataset: Dataset, run: Run, *inputs: Any) -> Any:
        state = tuple(inputs[:count])
        call = Call(callee, inputs[count:]).bind(run)
        for element in dataset.elements(run):
            if run.closed:
                raise errors.CancelledError(None, None, "The step has ended")
            state = tuple(call(*state, *element))
        return results(state)

    return _in_background(node, work)
