"""Names of NumPy and Python from TensorFlow 1's time, by `tensorfleet run`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.run.test_hook import run

PROGRAM = """
import base64, collections, fractions, inspect, threading, time
import numpy as np
import tensorflow as tf

def function(a, b=1, *c): pass

assert np.zeros(2, np.int).dtype == np.int64 and np.asarray([1], dtype=np.float).dtype == np.float64
assert np.asarray([None], np.object).dtype == object and isinstance(np.bool(1), (bool, np.bool_))
assert np.product([2, 3]) == 6 and np.in1d([1, 2], [2]).tolist() == [False, True]
assert np.isnan([np.NaN, np.NAN]).all()
assert np.Inf > 1e300 > np.NINF and np.asscalar(np.float64([2.5])) == 2.5
assert np.reshape(np.arange(4), newshape=[2, -1]).tolist() == np.reshape(np.arange(4), (2, 2)).tolist()
assert np.reshape([[1, 2], [3, 4]], 4, order="F").tolist() == [1, 3, 2, 4]
assert np.hstack(np.full((1, 1), i) for i in range(3)).tolist() == [[0, 1, 2]]
assert np.vstack(map(np.array, ([1], [2]))).tolist() == np.row_stack([[1], [2]]).tolist() == [[1], [2]]
assert np.stack((np.zeros(2) for _ in range(3)), axis=1).shape == (2, 3)
assert issubclass(dict, collections.Mapping) and issubclass(list, collections.Sequence)
assert fractions.gcd(12, 18) == 6 and time.clock() <= time.clock()
assert inspect.getargspec(function) == (["a", "b"], "c", None, (1,))
assert not threading.Thread().isAlive() and base64.encodestring(b"a") == b"YQ==\\n"
print(tf.Session().run(tf.constant(np.zeros(2, np.int))).tolist())
"""


def test_programs_find_names_that_were_taken_away(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert run(program) == (0, "[0, 0]\n", "")


def test_scalars_are_printed_without_their_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, tensorflow as tf\n"
        "with tf.Session() as session:\n"
        "    loss, step = session.run([tf.constant(0.5), tf.constant(3)])\n"
        "print([loss, step], {'loss': np.float64(loss)}, np.array([loss, 2]))\n"
        "np.set_printoptions(precision=2)\n"
        "print((np.float32(0.25),))\n"
    )
    assert run(program) == (0, "[0.5, 3] {'loss': 0.5} [0.5 2. ]\n(0.25,)\n", "")


def test_other_processes_are_left_alone() -> None:
    assert not hasattr(np, "int")
    assert "np.float32" in repr(np.float32(1))
    assert "newshape" not in str(np.reshape)
