"""`tensorfleet run`: programs whose imports say tensorflow, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 120

IMPORTS = """
from __future__ import print_function
import tensorflow as tf
import tensorflow.compat.v1 as v1
import tensorflow.contrib.layers as layers
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.core.framework import graph_pb2, node_def_pb2, summary_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.client import device_lib, timeline
from tensorflow.python.framework import dtypes, errors, graph_util, ops, tensor_shape, tensor_util
from tensorflow.python.lib.io import file_io
from tensorflow.python.ops import array_ops, init_ops, math_ops, nn_ops, rnn_cell_impl, variable_scope as vs
from tensorflow.python.platform import app, flags, gfile, tf_logging
from tensorflow.python.training import moving_averages, optimizer, training_util
from tensorflow.python.util import compat, nest

import tensorfleet as ours

assert v1 is tf
assert tf.__version__ == tf.VERSION == "1.15.5" and tf.__git_version__ and tf.version.COMPILER_VERSION
assert tf.Session is ours.Session and tf.python.framework.ops is ops
assert layers.flatten is tf.contrib.layers.flatten is ours.contrib.layers.flatten
assert core_rnn_cell.LSTMCell is rnn_cell_impl.LSTMCell is tf.nn.rnn_cell.LSTMCell
assert tf.newaxis is None and array_ops.newaxis is None and tf.constant([1, 2])[tf.newaxis].shape == [1, 2]
assert array_ops.concat is tf.concat and math_ops.reduce_sum is tf.reduce_sum and nn_ops.relu is tf.nn.relu
assert dtypes.float32 is tf.float32 and optimizer.Optimizer is tf.train.Optimizer
assert init_ops.Zeros is tf.zeros_initializer and vs.get_variable is tf.get_variable
assert tensor_util.constant_value(tf.constant([1, 2])).tolist() == [1, 2]
assert nest.is_sequence([1]) and nest.flatten({"b": 2, "a": [1]}) == [1, 2]
assert isinstance(tf.GraphDef(), graph_pb2.GraphDef) and isinstance(tf.ConfigProto(), config_pb2.ConfigProto)
assert device_lib.list_local_devices()[0].device_type == "CPU"
assert timeline.Timeline and pywrap_tensorflow.NewCheckpointReader and graph_util.extract_sub_graph
assert file_io.file_exists(__file__) and "import tensorflow" in file_io.read_file_to_string(__file__)
assert tf_logging.info is tf.logging.info and app.run is tf.app.run and flags.FLAGS is tf.flags.FLAGS
assert training_util.get_or_create_global_step is tf.train.get_or_create_global_step
assert tensor_shape.scalar() == tf.TensorShape([]) and issubclass(errors.AbortedError, tf.errors.OpError)
for name in ("graph", "session", "wire"):  # modules of the implementation are no names of tf
    assert not hasattr(tf, name), name
print("all is there")
"""


def run(
    *arguments: object, command: tuple[str, ...] = ("-m", "tensorfleet.run"), path: Path | None = None
) -> tuple[int, str, str]:
    """Exit code, output and errors; `path` stands first in PYTHONPATH."""
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join((str(path), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "program.py"


def test_imports_of_programs(script: Path) -> None:
    script.write_text(IMPORTS)
    assert run(script) == (0, "all is there\n", "")


def test_a_program_is_main_with_its_arguments_and_neighbours(script: Path) -> None:
    (script.parent / "beside.py").write_text("import tensorflow as tf\nTHREE = tf.constant(3)\n")
    script.write_text(
        "import pickle, sys\nimport tensorflow as tf\nfrom beside import THREE\n"
        "tf.flags.DEFINE_integer('times', 1, '')\n"
        "class Kept: pass\n"
        "def main(argv):\n"
        "    assert type(pickle.loads(pickle.dumps(Kept()))) is Kept and __file__ == sys.argv[0]\n"
        "    print(tf.Session().run(THREE * tf.flags.FLAGS.times), argv[1:])\n"
        "    return 5\n"
        "if __name__ == '__main__':\n"
        "    tf.app.run()\n"
    )
    assert run(script, "--times", "4", "rest") == (5, "12 ['rest']\n", "")
    command = ("-m", "tensorfleet.cli.main", "run")
    assert run(script, "--times=5", command=command) == (5, "15 []\n", "")


def test_the_log_is_that_of_the_name_tensorflow(script: Path) -> None:
    script.write_text(
        "import logging, sys\nimport tensorflow as tf\n"
        "log = logging.getLogger('tensorflow')\n"
        "log.addHandler(logging.StreamHandler(sys.stdout))\n"
        "log.setLevel(logging.INFO)\ntf.logging.info('seen')\n"
        "log.setLevel(logging.ERROR)\ntf.logging.warning('not seen')\n"
        "assert logging.getLogger('tensorflow.part').parent is log is tf.get_logger()\n"
    )
    assert run(script) == (0, "seen\n", "")


def test_lines_of_the_log_begin_as_those_of_tensorflow(script: Path) -> None:
    script.write_text(
        "import tensorflow as tf\ntf.logging.set_verbosity(tf.logging.INFO)\ntf.logging.info('loss')\n"
    )
    assert run(script) == (0, "", "INFO:tensorflow:loss\n")


def test_an_error_names_the_line_of_the_program(script: Path) -> None:
    script.write_text("import tensorflow as tf\n\ntf.Session().run(tf.constant([1, 2])[tf.constant(7)])\n")
    code, _, err = run(script)
    assert code == 1
    assert f'{script}", line 3' in err


def test_what_is_missing_is_said_before_the_program_starts(script: Path) -> None:
    script.write_text("import tensorflow as tf\nprint('trains')\ntf.nonsense.there()\n")
    code, out, err = run(script)
    assert (code, out) == (1, "trains\n")
    assert err.startswith(
        f"tensorfleet run: the program uses what is missing here: tf.nonsense.there ({script}:3); "
        "tensorfleet doctor"
    )
    assert "the program uses" not in run("--no-check", script)[2]


def test_what_is_missing_in_modules_on_the_path_is_said_before(script: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    (library / "nets").mkdir(parents=True)
    (library / "nets" / "__init__.py").touch()
    deep = library / "nets" / "deep.py"
    deep.write_text("import tensorflow as tf\ndef net():\n    return tf.nonsense()\n")
    program = tmp_path / "programs" / "program.py"
    program.parent.mkdir()
    program.write_text("from nets import deep\nprint('trains')\n")
    told = f"tensorfleet run: the program uses what is missing here: tf.nonsense ({deep}:3); "
    code, out, err = run(program, path=library)
    assert (code, out) == (0, "trains\n")
    assert err.startswith(f"{told}tensorfleet doctor {program} ")
    code, out, err = run("-m", "nets.deep", path=library)
    assert (code, out) == (0, "")
    assert err.startswith(f"{told}tensorfleet doctor {deep} ")
    assert run("--no-check", "-m", "nets.deep", path=library) == (0, "", "")
    # A package's module finds its package also where it is read by its file.
    (library / "nets" / "shallow.py").write_text("from nets.deep import net\n")
    assert run("-m", "nets.shallow", path=library)[2].startswith(told)


def test_tools_that_are_there_and_that_are_not(script: Path) -> None:
    script.write_text(
        "from tensorflow.python.tools import freeze_graph, inspect_checkpoint, strip_unused_lib\n"
        "from tensorflow.python.tools import optimize_for_inference_lib as lib\n"
        "print(lib.optimize_for_inference.__name__, freeze_graph.freeze_graph.__name__)\n"
        "from tensorflow.tools.graph_transforms import TransformGraph\n"
    )
    code, out, err = run("--no-check", script)
    assert (code, out) == (1, "optimize_for_inference freeze_graph\n")
    assert "no module tensorflow.tools.graph_transforms: its transforms are TensorFlow's own" in err


def test_modules_that_are_missing(script: Path) -> None:
    script.write_text(
        "try:\n    import tensorflow.contrib.nonsense\nexcept ImportError as error:\n    print(error.name)\n"
        "import tensorflow.python.nonsense\n"
    )
    code, out, err = run(script)
    assert (code, out) == (1, "tensorflow.contrib.nonsense\n")
    assert "ModuleNotFoundError: TensorFleet has no module tensorflow.python.nonsense: write it" in err


def test_tensorflow_itself_was_imported_before(script: Path) -> None:
    script.write_text(
        "import sys, types\nsys.modules['tensorflow'] = types.ModuleType('tensorflow')\n"
        "from tensorfleet.run import hook\n"
        "try:\n    hook.install()\nexcept hook.RedirectError as error:\n    print(str(error)[:38])\n"
    )
    assert run(script, command=()) == (0, "TensorFlow itself was imported before \n", "")


def test_the_process_alone_is_redirected_and_only_until_it_ends(script: Path) -> None:
    script.write_text(
        "import sys\nfrom tensorfleet.run import hook\nhook.install(); hook.install()\nimport tensorflow.nn\n"
        "hook.uninstall()\nassert not [n for n in sys.modules if n.startswith('tensorflow')], sys.modules\n"
        "assert not [f for f in sys.meta_path if isinstance(f, hook.Finder)]\nprint('gone')\n"
    )
    assert run(script, command=()) == (0, "gone\n", "")


def test_no_such_script() -> None:
    assert run("absent.py") == (
        2,
        "",
        "tensorfleet run: absent.py cannot be read: No such file or directory\n",
    )


INTERNAL_NAMES = """
import tensorflow as tf
from tensorflow.python.framework import smart_cond, tensor_shape
from tensorflow.python.layers import utils
from tensorflow.python.ops import control_flow_ops, distributions, gen_image_ops, standard_ops
from tensorflow.python.ops.distributions import normal
from tensorflow.python.training import moving_averages, slot_creator

assert tensor_shape.unknown_shape(2).as_list() == tensor_shape.matrix(None, None).as_list() == [None, None]
assert tensor_shape.vector(3) == tf.TensorShape([3])
assert utils.smart_cond(True, lambda: 1, lambda: 2) == smart_cond.smart_cond(False, lambda: 2, lambda: 1) == 1
assert normal.Normal is distributions.Normal is tf.distributions.Normal and standard_ops.add is tf.add
assert gen_image_ops.resize_bilinear(tf.zeros([1, 2, 2, 1]), [4, 4], True).shape == [1, 4, 4, 1]
v = tf.Variable(tf.zeros([2]), trainable=False)
slot = slot_creator.create_slot(v, tf.ones([2]), "slot")
x = tf.placeholder(tf.float32, [2])
with tf.variable_scope("scope"):
    plain = moving_averages.assign_moving_average(v, x, 0.9, zero_debias=False)
    debiased = moving_averages.assign_moving_average(slot, x, 0.5)
after = control_flow_ops.with_dependencies([plain], tf.reduce_sum(x))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run(after, {x: [1, 2]}) == 3
    assert abs(session.run(v) - [0.1, 0.2]).max() < 1e-6
    # Without its bias the first average is the value itself.
    assert abs(session.run(debiased, {x: [1, 2]}) - [1, 2]).max() < 1e-6
print("all is there")
"""


def test_internal_names_that_programs_use(tmp_path: Path) -> None:
    program = tmp_path / "internal.py"
    program.write_text(INTERNAL_NAMES)
    code, out, err = run(program)
    assert (code, out) == (0, "all is there\n"), err
