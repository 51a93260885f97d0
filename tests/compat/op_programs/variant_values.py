"""Lists of tensors, optional values and maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, program

F = np.float32
MATRIX = np.arange(6, dtype=F).reshape(3, 2)
I = np.int32  # noqa: E741


def made(make: Maker, rows: Any = MATRIX, dims: Any = (2,)) -> Any:
    return make("TensorListFromTensor", rows, np.array(dims, I) if dims != -1 else I(-1))


def empty(make: Maker, dims: Any = (2,), limit: int = -1, dtype: str = "float32") -> Any:
    return make("EmptyTensorList", I(-1) if dims == -1 else np.array(dims, I), I(limit), element_dtype=dtype)


def reserved(make: Maker, count: int, dims: Any = (2,), dtype: str = "float32") -> Any:
    shape = I(-1) if dims == -1 else np.array(dims, I)
    return make("TensorListReserve", shape, I(count), element_dtype=dtype)


def stacked(make: Maker, handle: Any, dims: Any = (2,), dtype: str = "float32", count: int = -1) -> Any:
    shape = I(-1) if dims == -1 else np.array(dims, I)
    return make("TensorListStack", handle, shape, element_dtype=dtype, num_elements=count)


@program("EmptyTensorList", "TensorListPushBack", "TensorListPopBack", "TensorListLength")
def pushes_and_pops(make: Maker) -> Any:
    first = make("TensorListPushBack", empty(make), F([1, 2]))
    second = make("TensorListPushBack", first, F([3, 4]))
    other = make("TensorListPushBack", first, F([5, 6]))
    rest, popped = make("TensorListPopBack", second, np.array([2], I), element_dtype="float32")
    again = make("TensorListPushBack", rest, F([7, 8]))
    lengths = [make("TensorListLength", handle) for handle in (first, second, other, rest)]
    return [popped, *lengths, *(stacked(make, handle) for handle in (first, second, other, rest, again))]


@program("EmptyTensorList")
def list_of_strings(make: Maker) -> Any:
    handle = make("TensorListPushBack", empty(make, (), dtype="string"), b"a")
    handle = make("TensorListPushBack", handle, b"bc")
    _, last = make("TensorListPopBack", handle, np.array([], I), element_dtype="string")
    return stacked(make, handle, (), "string"), last


@program("EmptyTensorList")
def push_into_a_full_list(make: Maker) -> Any:
    handle = make("TensorListPushBack", empty(make, limit=1), F([1, 2]))
    return stacked(make, make("TensorListPushBack", handle, F([1, 2])))


@program("TensorListPushBack")
def push_of_another_shape(make: Maker) -> Any:
    return stacked(make, make("TensorListPushBack", empty(make), make.fed(F([1, 2, 3]))), -1)


@program("TensorListPushBack")
def push_of_another_dtype(make: Maker) -> Any:
    return stacked(make, make("TensorListPushBack", empty(make, -1), make.fed(I([1, 2]))), -1)


@program("TensorListPopBack")
def pop_from_an_empty_list(make: Maker) -> Any:
    return make("TensorListPopBack", empty(make), np.array([2], I), element_dtype="float32")[1]


@program("TensorListReserve", "TensorListSetItem", "TensorListGetItem")
def items_by_number(make: Maker) -> Any:
    handle = make("TensorListSetItem", reserved(make, 3), I(1), F([1, 2]))
    shape = np.array([-1], I)
    items = [make("TensorListGetItem", handle, I(i), shape, element_dtype="float32") for i in (0, 1)]
    return [*items, stacked(make, handle)]


@program("TensorListSetItem")
def item_beyond_the_end(make: Maker) -> Any:
    handle = make("TensorListSetItem", reserved(make, 1), I(3), F([1, 2]), resize_if_index_out_of_bounds=True)
    return stacked(make, handle)


@program("TensorListSetItem")
def item_beyond_the_end_of_a_fixed_list(make: Maker) -> Any:
    return stacked(make, make("TensorListSetItem", reserved(make, 1), I(3), F([1, 2])))


@program("TensorListSetItem")
def item_of_another_shape(make: Maker) -> Any:
    return stacked(make, make("TensorListSetItem", reserved(make, 1), I(0), make.fed(F([1, 2, 3]))), -1)


@program("TensorListGetItem")
def item_that_is_not_there(make: Maker) -> Any:
    return make("TensorListGetItem", made(make), I(3), np.array([2], I), element_dtype="float32")


@program("TensorListGetItem")
def item_of_unknown_shape_not_set(make: Maker) -> Any:
    return make("TensorListGetItem", reserved(make, 1, -1), I(0), I(-1), element_dtype="float32")


@program("TensorListGetItem")
def item_of_another_dtype(make: Maker) -> Any:
    return make("TensorListGetItem", made(make), I(0), np.array([2], I), element_dtype="int32")


@program("TensorListReserve")
def negative_number_of_elements(make: Maker) -> Any:
    return make("TensorListLength", reserved(make, -2))


@program("TensorListReserve")
def scalar_shape_that_is_not_minus_one(make: Maker) -> Any:
    return make("TensorListLength", make("TensorListReserve", make.fed(I(3)), I(1), element_dtype="float32"))


@program("TensorListStack")
def stack_of_another_length(make: Maker) -> Any:
    return stacked(make, made(make), count=2)


@program("TensorListStack")
def stack_of_an_empty_list(make: Maker) -> Any:
    return stacked(make, empty(make))


@program("TensorListStack")
def stack_of_an_empty_list_of_unknown_shape(make: Maker) -> Any:
    return stacked(make, empty(make, -1), -1)


@program("TensorListStack")
def stack_of_different_shapes(make: Maker) -> Any:
    handle = make("TensorListPushBack", empty(make, -1), F([1]))
    return stacked(make, make("TensorListPushBack", handle, F([1, 2])), -1)


@program("TensorListStack")
def stack_of_unset_elements_beside_set_ones(make: Maker) -> Any:
    return stacked(make, make("TensorListSetItem", reserved(make, 3, -1), I(1), F([1, 2])), -1)


@program("TensorListFromTensor")
def from_tensor_of_another_shape(make: Maker) -> Any:
    return stacked(make, make("TensorListFromTensor", make.fed(MATRIX), np.array([3], I)))


@program("TensorListFromTensor")
def from_scalar(make: Maker) -> Any:
    return make("TensorListLength", make("TensorListFromTensor", make.fed(F(1)), I(-1)))


@program("TensorListGather")
def gathers(make: Maker) -> Any:
    handle = made(make)
    return [
        make("TensorListGather", handle, np.array(indices, I), np.array([2], I), element_dtype="float32")
        for indices in ([2, 0, 0], [])
    ]


@program("TensorListGather")
def gather_beyond_the_end(make: Maker) -> Any:
    return make("TensorListGather", made(make), I([3]), np.array([2], I), element_dtype="float32")


@program("TensorListScatter")
def scatters(make: Maker) -> Any:
    handle = make("TensorListScatter", MATRIX, I([4, 0, 2]), np.array([2], I))
    return stacked(make, handle), make("TensorListLength", handle)


@program("TensorListScatterV2")
def scatters_into_so_many(make: Maker) -> Any:
    handles = [
        make("TensorListScatterV2", MATRIX, I([4, 0, 2]), np.array([2], I), I(count)) for count in (-1, 6)
    ]
    return [stacked(make, handle) for handle in handles]


@program("TensorListScatterV2")
def scatter_into_too_few(make: Maker) -> Any:
    return stacked(make, make("TensorListScatterV2", MATRIX, I([4, 0, 2]), np.array([2], I), I(3)))


@program("TensorListScatterV2")
def scatter_to_negative_indices(make: Maker) -> Any:
    return stacked(make, make("TensorListScatterV2", MATRIX, I([4, 0, -2]), np.array([2], I), I(-1)))


@program("TensorListScatter")
def scatter_of_fewer_rows(make: Maker) -> Any:
    return stacked(make, make("TensorListScatter", MATRIX, I([4, 0]), np.array([2], I)))


@program("TensorListScatterIntoExistingList")
def scatters_into_a_list(make: Maker) -> Any:
    return stacked(make, make("TensorListScatterIntoExistingList", made(make), -MATRIX[:2], I([2, 1])))


@program("TensorListSplit", "TensorListConcat")
def splits_and_concatenates(make: Maker) -> Any:
    handle = make("TensorListSplit", MATRIX, np.array([-1, 2], I), np.array([1, 2], np.int64))
    return make("TensorListConcat", handle, element_dtype="float32", element_shape=[None, 2])


@program("TensorListSplit")
def split_of_other_lengths(make: Maker) -> Any:
    handle = make("TensorListSplit", MATRIX, np.array([-1, 2], I), np.array([1, 1], np.int64))
    return make("TensorListConcat", handle, element_dtype="float32")


@program("TensorListConcatV2")
def concatenates_with_leading_dims(make: Maker) -> Any:
    handle = make("TensorListSetItem", reserved(make, 3, (-1, 2)), I(1), MATRIX)
    sizes = np.array([1, 9, 2], np.int64)
    return make("TensorListConcatV2", handle, np.array([-1, 2], I), sizes, element_dtype="float32")


@program("TensorListConcatV2")
def concatenates_unset_elements(make: Maker) -> Any:
    none = np.array([], np.int64)
    handle = reserved(make, 2, (-1, 2))
    return make("TensorListConcatV2", handle, np.array([-1, 2], I), none, element_dtype="float32")


@program("TensorListConcatV2")
def concatenates_scalars(make: Maker) -> Any:
    handle = make("TensorListPushBack", empty(make, -1), F(1))
    return make("TensorListConcatV2", handle, I(-1), np.array([], np.int64), element_dtype="float32")


@program("TensorListConcatLists")
def joins_lists(make: Maker) -> Any:
    joined = make("TensorListConcatLists", made(make), made(make, -MATRIX), element_dtype="float32")
    return stacked(make, joined), make("TensorListLength", joined)


@program("TensorListResize")
def resizes(make: Maker) -> Any:
    return [stacked(make, make("TensorListResize", made(make), I(size))) for size in (0, 2, 5)]


@program("TensorListResize")
def negative_size(make: Maker) -> Any:
    return make("TensorListLength", make("TensorListResize", made(make), I(-1)))


@program("TensorListElementShape", shapes=False)
def shapes_of_elements(make: Maker) -> Any:
    handles = [made(make), made(make, dims=-1), empty(make, (-1, 3)), empty(make, ())]
    types = ("int32", "int64")
    return [make("TensorListElementShape", handle, shape_type=t) for handle in handles for t in types]


@program("TensorListPushBackBatch")
def pushes_to_each(make: Maker) -> Any:
    handles = make.tf.stack([made(make), made(make, -MATRIX)])
    pushed = make.tf.unstack(make("TensorListPushBackBatch", handles, F([[7, 8], [9, 10]])), 2)
    return [stacked(make, handle) for handle in pushed]


@program("TensorListStack")
def zeros_and_sums(make: Maker) -> Any:
    handle = made(make)
    return (
        stacked(make, make("ZerosLike", handle)),
        stacked(make, make("AddN", [handle, made(make, MATRIX * 2), handle])),
    )


@program("TensorListStack", "TensorListFromTensor", "TensorListSetItem", "TensorListGetItem")
def gradients_of_lists(make: Maker) -> Any:
    tf = make.tf
    x = tf.constant(MATRIX)
    y = tf.constant(F([3, 4]))
    handle = make("TensorListSetItem", made(make, x), I(1), y * y)
    item = make("TensorListGetItem", handle, I(1), np.array([2], I), element_dtype="float32")
    value = tf.reduce_sum(stacked(make, handle) ** 2) + tf.reduce_sum(item**3)
    return tf.gradients(value, [x, y])


@program("TensorListPushBack", "TensorListPopBack", "TensorListGather", "TensorListScatterV2")
def gradients_of_changes(make: Maker) -> Any:
    tf = make.tf
    x, y = tf.constant(MATRIX), tf.constant(F([3, 4]))
    handle = make("TensorListPushBack", made(make, x), y)
    rest, last = make("TensorListPopBack", handle, np.array([2], I), element_dtype="float32")
    shape = np.array([2], I)
    some = make("TensorListGather", rest, I([0, 2]), shape, element_dtype="float32")
    scattered = make("TensorListScatterV2", some, I([1, 3]), shape, I(4))
    resized = make("TensorListResize", scattered, I(6))
    into = make("TensorListScatterIntoExistingList", resized, x, I([5, 1, 0]))
    value = tf.reduce_sum(stacked(make, into) ** 3) + tf.reduce_sum(last**2)
    return tf.gradients(value, [x, y])


@program("TensorListSplit", "TensorListConcat", "TensorListConcatV2")
def gradients_of_splits(make: Maker) -> Any:
    tf = make.tf
    x = tf.constant(MATRIX)
    shape = np.array([-1, 2], I)
    handle = make("TensorListSplit", x * x, shape, np.array([1, 2], np.int64))
    joined, _ = make("TensorListConcat", handle, element_dtype="float32", element_shape=[None, 2])
    again, _ = make("TensorListConcatV2", handle, shape, np.array([], np.int64), element_dtype="float32")
    return tf.gradients(tf.reduce_sum(joined**3) + tf.reduce_sum(again), x)


@program("OptionalFromValue", "OptionalHasValue", "OptionalGetValue", "OptionalNone")
def optional_values(make: Maker) -> Any:
    some, none = make("OptionalFromValue", [F([1, 2]), I(3), b"x"]), make("OptionalNone")
    shapes = [[2], [], []]
    types = ["float32", "int32", "string"]
    return (
        make("OptionalHasValue", some),
        make("OptionalHasValue", none),
        make("OptionalGetValue", some, output_types=types, output_shapes=shapes),
    )


@program("OptionalGetValue")
def value_of_none(make: Maker) -> Any:
    return make("OptionalGetValue", make("OptionalNone"), output_types=["float32"], output_shapes=[[2]])


@program("OptionalGetValue")
def value_of_another_type(make: Maker) -> Any:
    some = make("OptionalFromValue", [F([1, 2])])
    return make("OptionalGetValue", some, output_types=["int32"], output_shapes=[[2]])


@program("OptionalGetValue")
def value_of_another_shape(make: Maker) -> Any:
    some = make("OptionalFromValue", [F([1, 2])])
    return make("OptionalGetValue", some, output_types=["float32"], output_shapes=[[3]])


@program("OptionalGetValue")
def gradients_of_optional_values(make: Maker) -> Any:
    tf = make.tf
    x, y = tf.constant(F([1, 2])), tf.constant(F(3))
    some = make("OptionalFromValue", [x * x, y])
    a, b = make("OptionalGetValue", some, output_types=["float32"] * 2, output_shapes=[[2], []])
    return tf.gradients(tf.reduce_sum(a * b), [x, y])


@program(
    "EmptyTensorMap", "TensorMapSize", "TensorMapLookup", "TensorMapInsert", "TensorMapErase", shapes=False
)
def maps(make: Maker) -> Any:
    one = make("TensorMapInsert", make("EmptyTensorMap"), I(1), F([1, 2]))
    two = make("TensorMapInsert", one, I(2), F(3))
    again = make("TensorMapInsert", two, I(1), F(7))
    gone = make("TensorMapErase", again, I(1), value_dtype="float32")
    return [
        *(make("TensorMapSize", found) for found in (one, two, again, gone)),
        make("TensorMapLookup", one, I(1), value_dtype="float32"),
        make("TensorMapLookup", again, I(1), value_dtype="float32"),
        *(make("TensorMapHasKey", found, I(1)) for found in (again, gone)),
        make("TensorMapStackKeys", gone, key_dtype="int32"),
    ]


@program("TensorMapLookup", shapes=False)
def key_that_is_not_there(make: Maker) -> Any:
    return make("TensorMapLookup", make("EmptyTensorMap"), I(1), value_dtype="float32")


@program("TensorMapHasKey", "TensorMapStackKeys", shapes=False)
def keys_of_an_empty_map(make: Maker) -> Any:
    return make("TensorMapStackKeys", make("EmptyTensorMap"), key_dtype="int32")
