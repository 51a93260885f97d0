"""Sets, order statistics, buffers, references, temporary variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F = np.float32
I = np.int32  # noqa: E741
random = np.random.RandomState(1)

for _operation in ("a-b", "b-a", "intersection", "UNION", "else"):
    node("DenseToDenseSetOperation", I([[1, 2, 2], [3, 4, 9]]), I([[2, 5], [3, 3]]), set_operation=_operation)
    node(
        *("DenseToSparseSetOperation", np.array([[b"x", b"y"], [b"z", b"z"]], object)),
        *(np.int64([[0, 0], [0, 1], [1, 0]]), np.array([b"y", b"a", b"b"], object), np.int64([2, 2])),
        set_operation=_operation,
    )
    node(
        *(
            "SparseToSparseSetOperation",
            np.int64([[0, 0], [0, 1], [1, 0]]),
            np.int64([7, 5, 3]),
            np.int64([2, 2]),
        ),
        *(np.int64([[1, 0], [1, 2], [2, 1]]), np.int64([3, 9, 1]), np.int64([3, 3])),
        set_operation=_operation,
    )
node("DenseToDenseSetOperation", I([[1, 2]]), I([[1], [2]]), set_operation="union")
node("DenseToDenseSetOperation", I([1, 2]), I([1]), set_operation="union")
node("DenseToDenseSetOperation", np.zeros((2, 0), I), I([[1], [2]]), set_operation="union")
for _validates in (True, False):
    node(
        *("SetSize", np.int64([[0, 1], [0, 0], [2, 0]]), I([1, 1, 4]), np.int64([3, 2])),
        validate_indices=_validates,
    )
node("SetSize", np.int64([[0, 0, 0], [0, 0, 1], [1, 1, 0]]), I([1, 1, 4]), np.int64([2, 2, 2]))

for _dtype in (F, np.float64, I, np.uint8):
    for _reverse in (False, True):
        node("NthElement", (random.uniform(0, 9, (3, 5))).astype(_dtype), I(2), reverse=_reverse)
node("NthElement", F([1, 2]), I(2))
node("NthElement", F([1, 2]), I(-1))
node("NthElement", F(1), I(0))
node("DataFormatDimMap", I([0, 1, 2, 3, -1, -4]), src_format="NHWC", dst_format="NCHW")
node("DataFormatDimMap", np.int64([[4], [-5]]), src_format="NDHWC", dst_format="NCDHW")
for _x in (
    I([7, 4, 9, 3]),
    I([7, 4]),
    I([[1, 2], [3, 4], [5, 6], [7, 8]]),
    I([[1, 2], [3, 4]]),
    I([1, 2, 3]),
):
    node("DataFormatVecPermute", _x, src_format="NHWC", dst_format="NCHW")
node("DataFormatVecPermute", I([7, 4, 9, 3]), src_format="NCHW", dst_format="HWNC")
node("Empty", I([2, 3]), dtype="float32", init=True)
node("Empty", I([-2, 3]), dtype="float32", init=True)
for _name in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
    node(_name, F([[1, 2], [3, 4], [5, 6]]), I([2, 0]), F([[1, 1], [2, 2]]))
    node(_name, F([[1, 2], [3, 4], [5, 6]]), I([-1, 4]), F([[1, 1], [2, 2]]))
    node(_name, F([[1, 2], [3, 4]]), I([1]), F([[1, 1], [2, 2]]))
node("DeepCopy", F([1, 2]))
node("DeviceIndex", device_names=["GPU", "CPU"])
node("DeviceIndex", device_names=["TPU"])


@program("NthElement", rtol=1e-6)
def gradient_of_nth_element(make: Maker) -> Any:
    x = make.tf.constant(F([[1, 2, 2, 3], [4, 1, 2, 3]]))
    y = make("NthElement", x, I(1))
    return y, make.tf.gradients(y**2, x)


@program("RefIdentity", "RefSelect")
def references(make: Maker) -> Any:
    tf = make.tf
    a, b = (tf.Variable(F([i, i + 1]), use_resource=False, name=f"v{i}") for i in (1, 5))
    passed = make("RefIdentity", a._ref() if hasattr(a, "_ref") else a.op.outputs[0])
    chosen = make("RefSelect", I(1), [v._ref() if hasattr(v, "_ref") else v.op.outputs[0] for v in (a, b)])
    first = make("AssignAdd", passed, F([10, 10]))
    with tf.control_dependencies([first]):
        second = make("AssignAdd", chosen, F([100, 100]))
    with tf.control_dependencies([second]):
        return tf.identity(a.value()) + 0.0, tf.identity(b.value()) + 0.0


@program("RefSelect")
def reference_out_of_range(make: Maker) -> Any:
    tf = make.tf
    a = tf.Variable(F([1, 2]), use_resource=False)
    return make("RefSelect", make.fed(I(1)), [a._ref() if hasattr(a, "_ref") else a.op.outputs[0]])


@program("TemporaryVariable", "DestroyTemporaryVariable")
def temporary_variable(make: Maker) -> Any:
    tf = make.tf
    ref = make("TemporaryVariable", shape=[2], dtype="float32", var_name="t")
    ref = make("Assign", ref, F([4, 5]))
    ref = make("AssignAdd", ref, F([6, 7]))
    return make("DestroyTemporaryVariable", ref, var_name="t"), tf.constant(1)


@program("ResourceCountUpTo", "DisableCopyOnRead")
def counting_resource(make: Maker) -> Any:
    tf = make.tf
    v = tf.Variable(np.int64(0), use_resource=True)
    made = []
    for _ in range(2):
        with tf.control_dependencies(made):
            made.append(make("ResourceCountUpTo", v.handle, limit=2, T="int64"))
    with tf.control_dependencies([make("DisableCopyOnRead", v.handle)]):
        return *made, tf.constant(2)


@program("ResourceCountUpTo")
def counting_beyond_the_limit(make: Maker) -> Any:
    v = make.tf.Variable(np.int64(2), use_resource=True)
    return make("ResourceCountUpTo", v.handle, limit=2, T="int64")


@program("Split")
def axis_in_a_vector(make: Maker) -> Any:
    return make("Split", make.fed(I([0])), make.fed(F([[1, 2]])), num_split=1)


@program("SplitV")
def axes_in_a_vector(make: Maker) -> Any:
    return make("SplitV", make.fed(F([[1, 2]])), make.fed(I([1, 1])), make.fed(I([1])), num_split=2)


for _x in (F(0), F(2), F([0]), np.zeros((0, 2), F), I(0), np.bool_(True)):
    node("ToBool", _x)


@program("FakeParam")
def parameter_that_nobody_reads(make: Maker) -> Any:
    return make.tf.shape(make("FakeParam", dtype="float32", shape=[2, 3]))
