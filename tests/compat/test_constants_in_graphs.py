"""Constants in a GraphDef have the bytes that TensorFlow gives them."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

import tensorfleet as tf
from tests.compat.side_by_side import both, real

NUMBERS = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
FORMS = (
    *("[{0}][0]", "[{0}]", "[{0}, {1}]", "[[{0}, {1}], [{1}, {0}]]", "[{0}, {0}]", "[]", "np.zeros([0, 2])"),
    *("np.array([[{0}, {1}, {0}]]).T[::2]", "np.broadcast_to({1}, [3])"),
)
OTHERS = """
tf.constant(np.nan)
tf.constant(-0.0)
tf.constant(-1)
tf.constant(-3, tf.int16)
tf.constant(2**40)
tf.constant(1e-45)
tf.constant('abc')
tf.constant(b'')
tf.constant(['a', 'b'])
tf.constant('a', shape=[2, 2])
tf.constant(np.array(['a', 'b']))
tf.constant(np.arange(2000.0))
tf.constant(7, shape=[3, 4])
tf.constant(True, shape=[3, 4])
tf.zeros([2, 3])
tf.ones([2, 3], tf.bool)
tf.zeros([2], tf.string)
tf.placeholder_with_default(3.0, [])
"""


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("form", FORMS)
def test_numbers(dtype: str, form: str) -> None:
    values = form.format("False", "True") if dtype == "bool" else form.format("0", "3")
    # NumPy converts, as TensorFlow's own conversion refuses some of these values for some of the types.
    theirs, mine = both(f"tf.constant(np.array({values}).astype(tf.{dtype}.as_numpy_dtype))")
    assert mine.error == theirs.error == ""
    assert mine.attrs == theirs.attrs


@pytest.mark.parametrize("expression", OTHERS.split("\n")[1:-1])
def test_others(expression: str) -> None:
    theirs, mine = both(expression)
    assert mine.error == theirs.error == ""
    assert mine.attrs == theirs.attrs


def test_scripts_read_typed_fields() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(2.5, name="f")
        tf.constant(7, name="i")
        tf.constant(True, name="b")
    nodes = {node.name: node.attr["value"].tensor for node in graph.as_graph_def().node}
    assert nodes["f"].float_val[0] == 2.5
    assert nodes["i"].int_val[0] == 7
    assert nodes["b"].bool_val[0]


def test_meta_graph_says_who_wrote_it() -> None:
    with tf.Graph().as_default():
        tf.constant(1)
        info = tf.train.export_meta_graph().meta_info_def
    assert info.tensorflow_version == tf.__version__
    assert info.tensorflow_git_version
    with real.Graph().as_default():
        real.constant(1)
        assert real.train.export_meta_graph().meta_info_def.tensorflow_version == real.__version__


def test_building_function() -> None:
    for library in (tf, real):
        with library.Graph().as_default() as graph:
            seen = []

            def record(x: int, library: object = library, seen: list[bool] = seen) -> int:
                seen.append(library.get_default_graph().building_function)  # type: ignore[attr-defined]
                return x

            library.data.Dataset.range(3).map(record)
            assert not graph.building_function
            assert seen == [True]
