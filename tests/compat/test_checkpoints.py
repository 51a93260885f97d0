"""TensorFlow reads our checkpoints, and we read TensorFlow's; Savers name their nodes alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet
from tensorfleet.checkpoint import files
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.bundle_writer import BundleWriter

real.disable_v2_behavior()

NUMBERS = (
    *("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32"),
    *("int64", "uint64", "complex64", "complex128", "bool"),
)
SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (3, 0, 2), (7,), (2, 3, 4))
STRINGS = np.array([[b"", b"ab"], [b"\x00\xff", b"x" * 300]], object)


def tensors() -> dict[str, Any]:
    """Every dtype in several shapes."""
    rng = np.random.default_rng(1)
    result = {
        f"{dtype}/{i}": rng.integers(0, 100, shape).astype(real.as_dtype(dtype).as_numpy_dtype)
        for dtype in NUMBERS
        for i, shape in enumerate(SHAPES)
    }
    result |= {"strings": STRINGS, "string": np.array(b"alone", object), "none": np.empty((0, 2), object)}
    return {name: np.asarray(value) for name, value in result.items()}


def restored(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """The tensors that TensorFlow's RestoreV2 reads."""
    names = list(values)
    dtypes = [real.as_dtype(values[name].dtype) for name in names]
    with real.Graph().as_default(), real.Session() as session:
        found = session.run(real.raw_ops.RestoreV2(
            prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), dtypes=dtypes
        ))  # fmt: skip
    return dict(zip(names, found, strict=True))


def equal(found: Any, value: Any) -> None:
    assert np.asarray(found).shape == value.shape
    if value.dtype != object:
        assert found.dtype == value.dtype
    assert np.asarray(found).tolist() == value.tolist()


def test_tensorflow_reads_ours(tmp_path: Path) -> None:
    values = tensors()
    prefix = str(tmp_path / "m")
    with BundleWriter(prefix) as writer:
        for name, value in values.items():
            writer.add(name, value)
    found = restored(prefix, values)
    for name, value in values.items():
        equal(found[name], value)
    shapes = real.train.load_checkpoint(prefix).get_variable_to_shape_map()
    assert shapes == {name: list(value.shape) for name, value in values.items()}


def test_we_read_tensorflows(tmp_path: Path) -> None:
    values = tensors()
    prefix = str(tmp_path / "m")
    with real.Graph().as_default(), real.Session() as session:
        session.run(real.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=list(values),
            shape_and_slices=[""] * len(values),
            tensors=[real.constant(value, shape=value.shape) for value in values.values()],
        ))  # fmt: skip
    with BundleReader(prefix) as reader:
        assert set(reader.entries) == set(values)
        for name, value in values.items():
            equal(reader.read(name), value)


def test_many_tensors_both_ways(tmp_path: Path) -> None:
    """Indexes of several blocks."""
    values = {f"scope_{i % 7}/variable_{i:05d}{'x' * 60}": np.float32(i) for i in range(5000)}
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    with BundleWriter(ours) as writer:
        for name, value in values.items():
            writer.add(name, value)
    found = real.train.load_checkpoint(ours)
    assert found.get_variable_to_shape_map().keys() == values.keys()
    assert all(found.get_tensor(name) == value for name, value in list(values.items())[::97])
    with real.Graph().as_default(), real.Session() as session:
        names, numbers = list(values), [np.float32(value) for value in values.values()]
        session.run(real.raw_ops.SaveV2(
            prefix=theirs, tensor_names=names, shape_and_slices=[""] * len(names), tensors=numbers
        ))  # fmt: skip
    assert len(Path(theirs + ".index").read_bytes()) > 1 << 18
    with BundleReader(theirs) as reader:
        assert list(reader.entries) == sorted(values)
        assert all(reader.read(name) == value for name, value in values.items())


def test_partitioned_variables_both_ways(tmp_path: Path) -> None:
    whole = np.arange(4000, dtype=np.float32).reshape(1000, 4)
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    with real.Graph().as_default(), real.Session() as session:
        variable = real.get_variable(
            "p",
            shape=whole.shape,
            partitioner=real.fixed_size_partitioner(3),
            initializer=lambda shape, dtype, partition_info: real.constant(
                whole[partition_info.var_offset[0] :][: shape[0]]
            ),
        )
        session.run(real.global_variables_initializer())
        real.train.Saver().save(session, theirs)
        specs = [part._get_save_slice_info().spec for part in variable]
    with BundleReader(theirs) as reader:
        np.testing.assert_array_equal(reader.read("p"), whole)
        np.testing.assert_array_equal(reader.read("p", "1000 4 100,300:1,2"), whole[100:400, 1:3])
    with BundleWriter(ours) as writer:
        start = 0
        for spec in specs:
            size = int(spec.split(" ")[2].split(":")[0].split(",")[1])
            writer.add("p", whole[start : start + size], spec)
            start += size
    equal(restored(ours, {"p": whole})["p"], whole)
    # The same slices have the same keys.
    for ending in (".index", ".data-00000-of-00001"):
        assert Path(ours + ending).stat().st_size == Path(theirs + ending).stat().st_size
    assert Path(files.data_path(ours, 0, 1)).read_bytes() == Path(files.data_path(theirs, 0, 1)).read_bytes()


def test_merged_shards_both_ways(tmp_path: Path) -> None:
    with real.Graph().as_default(), real.Session() as session:
        with real.device("/cpu:0"):
            real.Variable([1.0, 2.0], name="v")
        real.Variable([b"s"], name="s")
        session.run(real.global_variables_initializer())
        theirs = real.train.Saver(sharded=True).save(session, str(tmp_path / "theirs"))
    with BundleReader(theirs) as reader:
        assert reader.shards == 2
        assert reader.read("v").tolist() == [1.0, 2.0]
        assert reader.read("s").tolist() == [b"s"]
    with fleet.Graph().as_default(), fleet.Session() as session:
        with fleet.device("/cpu:0"):
            fleet.Variable([1.0, 2.0], name="v")
        fleet.Variable([b"s"], name="s")
        session.run(fleet.global_variables_initializer())
        ours = fleet.train.Saver(sharded=True).save(session, str(tmp_path / "ours"))
    assert real.train.load_variable(ours, "v").tolist() == [1.0, 2.0]
    assert real.train.load_variable(ours, "s").tolist() == [b"s"]


def model(tf: Any) -> Any:
    """Two variables and what a program does with them."""
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable([[3]], name="w", use_resource=True)
    return [v, w]


def test_programs_change_sides(tmp_path: Path) -> None:
    """A checkpoint and its `checkpoint` file, saved by one library and found and restored by the other."""
    for number, (first, second) in enumerate(((real, fleet), (fleet, real))):
        directory = tmp_path / str(number)
        directory.mkdir()
        with first.Graph().as_default(), first.Session() as session:
            v, w = model(first)
            session.run([v.assign([5.0, 6.0]), w.assign([[7]])])
            first.train.Saver().save(session, str(directory / "m"), global_step=9)
        with second.Graph().as_default(), second.Session() as session:
            variables = model(second)
            second.train.Saver().restore(session, second.train.latest_checkpoint(str(directory)))
            assert [value.tolist() for value in session.run(variables)] == [[5.0, 6.0], [[7]]]
        # The exported graph can be read as well.
        with second.Graph().as_default(), second.Session() as session:
            saver = second.train.import_meta_graph(str(directory / "m-9.meta"))
            saver.restore(session, str(directory / "m-9"))
            values = session.run(second.global_variables())
            assert [value.tolist() for value in values] == [[5.0, 6.0], [[7]]]


def several(tf: Any) -> None:
    tf.Variable(1, name="b")
    model(tf)
    tf.train.Saver()


def reshaping(tf: Any) -> None:
    model(tf)
    tf.train.Saver(reshape=True, name="x", max_to_keep=None, filename="there")


def twice(tf: Any) -> None:
    v, w = model(tf)
    tf.train.Saver({"one": v})
    tf.train.Saver({"two": w, "one": v}, name="named")


@pytest.mark.parametrize("build", [several, reshaping, twice])
def test_graphs_of_savers(build: Callable[[Any], None]) -> None:
    nodes = []
    for tf in (real, fleet):
        with tf.Graph().as_default() as graph:
            build(tf)
        nodes.append(
            {
                node.name: (node.op, node.device, list(node.input))
                for node in graph.as_graph_def().node
                if node.name.split("/")[0] in ("save", "save_1", "x", "named")
            }
        )
    theirs, ours = nodes
    assert ours.keys() == theirs.keys()
    for name, (op, device, inputs) in theirs.items():
        assert ours[name][:2] == (op, device), name
        assert sorted(ours[name][2]) == sorted(inputs), name
        if op != "NoOp":
            assert ours[name][2] == inputs, name


def test_variants_both_ways(tmp_path: Path) -> None:
    """Lists of tensors in checkpoints, whose messages each have a checksum."""
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)

    def write(tf: Any, path: str) -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            made = tf.raw_ops.TensorListFromTensor(tensor=rows, element_shape=np.array([2], np.int32))
            session.run(
                tf.raw_ops.SaveV2(
                    prefix=path,
                    tensor_names=["list", "lists"],
                    shape_and_slices=["", ""],
                    tensors=[made, tf.stack([made, made])],
                )
            )

    def read(tf: Any, path: str) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            one, two = tf.raw_ops.RestoreV2(
                prefix=path,
                tensor_names=["list", "lists"],
                shape_and_slices=["", ""],
                dtypes=[tf.variant, tf.variant],
            )
            stacked = [
                tf.raw_ops.TensorListStack(
                    input_handle=handle,
                    element_shape=np.array([2], np.int32),
                    element_dtype=tf.float32,
                    num_elements=3,
                )
                for handle in (one, tf.gather(tf.reshape(two, [2]), 1))
            ]
            return session.run(stacked)  # type: ignore[no-any-return]

    for writer, reader in ((real, fleet), (fleet, real), (fleet, fleet)):
        path = str(tmp_path / f"{writer.__name__}-{reader.__name__}")
        write(writer, path)
        for found in read(reader, path):
            np.testing.assert_array_equal(found, rows)
