"""Checks of numbers, scattering without an alias, SparseTensors that are kept between ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F = np.float32
I = np.int32  # noqa: E741
L = np.int64
PLACES = L([[0, 1], [0, 2], [2, 0]])
ITEMS = np.array([b"a", b"b", b"c"], object)

node("CheckNumericsV2", F([1, 2]), message="all well")
for _value in (np.nan, np.inf, -np.inf):
    node("CheckNumericsV2", F([1, _value]), message="not well")


@program("CheckNumericsV2")
def gradient_of_checked_numbers(make: Maker) -> Any:
    x = make.tf.constant(F([1, 2]))
    return make.tf.gradients(make("CheckNumericsV2", x, message="m") ** 2, x)


@program("ScatterNdNonAliasingAdd")
def scattered_sums(make: Maker) -> Any:
    tf = make.tf
    x, updates = tf.constant(F([1, 2, 3, 4])), tf.constant(F([10, 20, 30]))
    y = make("ScatterNdNonAliasingAdd", x, I([[1], [3], [1]]), updates)
    return y, tf.gradients(y**2, [x, updates])


node("ScatterNdNonAliasingAdd", F([1, 2]), I([[2]]), F([3]))


@program("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap")
def sparse_tensors_kept(make: Maker) -> Any:
    tf = make.tf
    many = make("AddManySparseToTensorsMap", PLACES, ITEMS, L([3, 4]), shared_name="kept", container="c")
    with tf.control_dependencies([many]):
        one = make("AddSparseToTensorsMap", L([[4]]), ITEMS[:1], L([5]), shared_name="kept", container="c")
    handles = tf.concat([tf.gather(many, I([2, 0])), tf.expand_dims(one, 0)], 0)
    taken = make("TakeManySparseFromTensorsMap", handles, dtype="string", shared_name="kept", container="c")
    return tf.shape(many), taken


@program("TakeManySparseFromTensorsMap")
def sparse_tensors_taken_twice(make: Maker) -> Any:
    place: Any = {"shared_name": "twice", "container": "c"}
    many = make("AddManySparseToTensorsMap", PLACES, ITEMS, L([3, 4]), **place)
    return make("TakeManySparseFromTensorsMap", make.tf.gather(many, I([0, 0])), dtype="string", **place)


@program("TakeManySparseFromTensorsMap")
def sparse_tensors_of_another_type(make: Maker) -> Any:
    place: Any = {"shared_name": "types", "container": "c"}
    many = make("AddManySparseToTensorsMap", PLACES, ITEMS, L([3, 4]), **place)
    return make("TakeManySparseFromTensorsMap", many, dtype="float32", **place)


@program("AddManySparseToTensorsMap")
def rows_of_a_sparse_vector(make: Maker) -> Any:
    return make("AddManySparseToTensorsMap", make.fed(L([[1]])), make.fed(F([1])), make.fed(L([3])))
