"""Ops on the handles of other kinds of resources: references of older graphs have no types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

KEYS = np.array([b"a", b"b"], object)
F = np.float32


def table() -> Any:
    return tf.raw_ops.HashTable(key_dtype=tf.string, value_dtype=tf.int64)


def stack() -> Any:
    return tf.raw_ops.Stack(elem_type=tf.float32)


def barrier() -> Any:
    return tf.raw_ops.Barrier(component_types=[tf.float32], shapes=[[]])


def queue() -> Any:
    return tf.raw_ops.FIFOQueue(component_types=[tf.float32])


def accumulator() -> Any:
    return tf.raw_ops.ConditionalAccumulator(dtype=tf.float32, shape=[])


def reader() -> Any:
    return tf.raw_ops.IdentityReader()


MAKERS = (table, stack, barrier, queue, accumulator, reader)
OPS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (table, lambda h: tf.raw_ops.LookupTableFind(table_handle=h, keys=KEYS, default_value=np.int64(-1))),
    (table, lambda h: tf.raw_ops.LookupTableSize(table_handle=h)),
    (stack, lambda h: tf.raw_ops.StackPush(handle=h, elem=F(1))),
    (stack, lambda h: tf.raw_ops.StackClose(handle=h)),
    (
        barrier,
        lambda h: tf.raw_ops.BarrierInsertMany(handle=h, keys=KEYS, values=F([1, 2]), component_index=0),
    ),
    (barrier, lambda h: tf.raw_ops.BarrierTakeMany(handle=h, num_elements=1, component_types=[tf.float32])),
    (barrier, lambda h: tf.raw_ops.BarrierClose(handle=h)),
    (barrier, lambda h: tf.raw_ops.BarrierReadySize(handle=h)),
    (queue, lambda h: tf.raw_ops.QueueEnqueue(handle=h, components=[F(1)])),
    (queue, lambda h: tf.raw_ops.QueueEnqueueMany(handle=h, components=[F([1])])),
    (queue, lambda h: tf.raw_ops.QueueDequeue(handle=h, component_types=[tf.float32])),
    (queue, lambda h: tf.raw_ops.QueueDequeueMany(handle=h, n=1, component_types=[tf.float32])),
    (queue, lambda h: tf.raw_ops.QueueDequeueUpTo(handle=h, n=1, component_types=[tf.float32])),
    (queue, lambda h: tf.raw_ops.QueueClose(handle=h)),
    (queue, lambda h: tf.raw_ops.QueueSize(handle=h)),
    (accumulator, lambda h: tf.raw_ops.AccumulatorNumAccumulated(handle=h)),
    (accumulator, lambda h: tf.raw_ops.AccumulatorSetGlobalStep(handle=h, new_global_step=1)),
    (accumulator, lambda h: tf.raw_ops.AccumulatorApplyGradient(handle=h, local_step=1, gradient=F(1))),
    (accumulator, lambda h: tf.raw_ops.AccumulatorTakeGradient(handle=h, num_required=1, dtype=tf.float32)),
    (reader, lambda h: tf.raw_ops.ReaderNumRecordsProduced(reader_handle=h)),
    (reader, lambda h: tf.raw_ops.ReaderReset(reader_handle=h)),
    (reader, lambda h: tf.raw_ops.ReaderRead(reader_handle=h, queue_handle=queue())),
    (queue, lambda h: tf.raw_ops.ReaderRead(reader_handle=reader(), queue_handle=h)),
]


@pytest.mark.parametrize(("own", "act"), OPS)
def test_the_handle_of_another_kind(own: Callable[[], Any], act: Callable[[Any], Any]) -> None:
    with tf.Session() as session:
        for make in MAKERS:
            if make is not own:
                with pytest.raises(tf.errors.InvalidArgumentError, match="wrong type"):
                    session.run(act(make()))


def variable() -> Any:
    return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v")


def iterator() -> Any:
    return tf.raw_ops.IteratorV2(
        shared_name="i", container="", output_types=[tf.int64], output_shapes=[tf.TensorShape([])]
    )


def range_of_three() -> Any:
    return tf.raw_ops.RangeDataset(
        start=np.int64(0),
        stop=np.int64(3),
        step=np.int64(1),
        output_types=[tf.int64],
        output_shapes=[tf.TensorShape([])],
    )


HANDLES = (
    *(variable, iterator),
    lambda: tf.raw_ops.FIFOQueueV2(component_types=[tf.float32]),
    lambda: tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64),
    lambda: tf.raw_ops.ResourceConditionalAccumulator(dtype=tf.float32, shape=[]),
    lambda: tf.raw_ops.MutexV2(),
    lambda: tf.raw_ops.StackV2(max_size=3, elem_type=tf.float32),
)
OF_RESOURCES: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (variable, lambda h: tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)),
    (variable, lambda h: tf.raw_ops.AssignVariableOp(resource=h, value=F(1))),
    (variable, lambda h: tf.raw_ops.AssignAddVariableOp(resource=h, value=F(1))),
    (variable, lambda h: tf.raw_ops.ResourceGather(resource=h, indices=[0], dtype=tf.float32)),
    (variable, lambda h: tf.raw_ops.ResourceScatterAdd(resource=h, indices=[0], updates=F([1]))),
    (variable, lambda h: tf.raw_ops.VarIsInitializedOp(resource=h)),
    (variable, lambda h: tf.raw_ops.VariableShape(input=h)),
    (variable, lambda h: tf.raw_ops.DestroyResourceOp(resource=h)),
    (variable, lambda h: tf.raw_ops.ResourceApplyGradientDescent(var=h, alpha=F(1), delta=F(1))),
    (iterator, lambda h: tf.raw_ops.IteratorToStringHandle(resource_handle=h)),
    (iterator, lambda h: tf.raw_ops.MakeIterator(dataset=range_of_three(), iterator=h)),
]


@pytest.mark.parametrize(("own", "act"), OF_RESOURCES)
def test_the_resource_of_another_kind(own: Callable[[], Any], act: Callable[[Any], Any]) -> None:
    """Before, an attribute that the resource lacks was said to be a defect of the kernel."""
    with tf.Session() as session:
        for make in HANDLES:
            if make is not own:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(act(make()))
