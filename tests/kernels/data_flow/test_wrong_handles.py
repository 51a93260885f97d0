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


MAKERS = (table, stack, barrier)
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
]


@pytest.mark.parametrize(("own", "act"), OPS)
def test_the_handle_of_another_kind(own: Callable[[], Any], act: Callable[[Any], Any]) -> None:
    with tf.Session() as session:
        for make in MAKERS:
            if make is not own:
                with pytest.raises(tf.errors.InvalidArgumentError, match="wrong type"):
                    session.run(act(make()))
