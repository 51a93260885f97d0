"""Summaries equal TensorFlow's; event files can be read by it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

RNG = np.random.default_rng(3)
HISTOGRAMS = {
    "normal": RNG.normal(size=1000),
    "wide": np.concatenate([np.logspace(-15, 21, 50), -np.logspace(-15, 21, 50)]),
    "zeros": np.zeros(5),
    "one": np.float32(-2.5),
    "empty": np.zeros((0, 3)),
    "integers": np.arange(-5, 20).reshape(5, 5),
    "bytes": np.array([0, 255, 255], np.uint8),
    "half": np.array([0.1, 7], np.float16),
}
IMAGES = {
    "bytes": RNG.integers(0, 256, (4, 3, 5, 3), np.uint8),
    "positive": RNG.uniform(0, 7, (2, 3, 5, 1)).astype(np.float32),
    "signed": RNG.normal(size=(1, 3, 5, 4)).astype(np.float32),
    "double": RNG.normal(size=(1, 4, 4, 3)),
    "half": RNG.uniform(0, 3, (1, 4, 4, 1)).astype(np.float16),
    "black": np.zeros((1, 2, 2, 1), np.float32),
    "faint": np.full((1, 2, 2, 1), 1e-7, np.float32),
    "not finite": np.array([[[[np.nan, 1, 2], [0, 1, 2], [np.inf, 0, 0], [3, 1, 0]]]], np.float32),
    "nothing finite": np.full((1, 1, 2, 1), np.nan, np.float32),
    "none": np.zeros((0, 2, 2, 1), np.float32),
}


def both(build: Any) -> tuple[Any, Any]:
    """A summary by TensorFlow and by us, as TensorFlow's messages."""
    found = []
    for tf in (real, fleet):
        with tf.Graph().as_default(), tf.Session() as session:
            found.append(real.Summary.FromString(session.run(build(tf))))
    return found[0], found[1]


@pytest.mark.parametrize("value", [1.5, np.int64(7), np.float16(0.1), np.float64(1e300), True * 3])
def test_scalars(value: Any) -> None:
    theirs, ours = both(lambda tf: tf.summary.scalar("a b", value, family="family"))
    assert ours == theirs


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms(name: str) -> None:
    theirs, ours = both(lambda tf: tf.summary.histogram("h", tf.constant(HISTOGRAMS[name])))
    assert ours == theirs


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("limit", [1, 3])
def test_images(name: str, limit: int) -> None:
    image_module = pytest.importorskip("PIL.Image")
    theirs, ours = both(lambda tf: tf.summary.image("i", tf.constant(IMAGES[name]), limit))
    assert len(ours.value) == len(theirs.value)
    for our, their in zip(ours.value, theirs.value, strict=True):
        # Files of the same pixels differ by how they are compressed.
        pixels = [
            np.asarray(image_module.open(io.BytesIO(v.image.encoded_image_string))) for v in (our, their)
        ]
        np.testing.assert_array_equal(*pixels)
        our.image.encoded_image_string = their.image.encoded_image_string
        assert our == their


@pytest.mark.parametrize("shape", [(2, 10), (2, 10, 2), (1, 0, 1)])
def test_audio(shape: tuple[int, ...]) -> None:
    clip = RNG.uniform(-1.2, 1.2, shape).astype(np.float32)
    theirs, ours = both(lambda tf: tf.summary.audio("a", clip, 8000.0, max_outputs=2))
    assert ours == theirs


def test_tensors_text_and_merging() -> None:
    def build(tf: Any) -> Any:
        tf.summary.text("words", tf.constant([["one", "two"]]))
        tf.summary.tensor_summary("t", tf.constant([1.0, 2.0]), "a description", display_name="shown")
        tf.summary.scalar("s", 1.0)
        return tf.summary.merge_all()

    theirs, ours = both(build)
    assert ours == theirs


def names(tf: Any) -> list[tuple[str, str, list[str]]]:
    with tf.Graph().as_default() as graph:
        tf.summary.scalar("a b", 1.0)
        tf.summary.scalar("a b", 1.0, family="f/")
        tf.summary.histogram("", tf.constant([1.0]))
        tf.summary.image("/i", np.zeros((1, 2, 2, 1), np.float32))
        tf.summary.audio("sound", np.zeros((1, 2), np.float32), 100)
        tf.summary.text("t", tf.constant("x"))
        tf.summary.merge_all()
        tf.summary.merge(tf.get_collection("summaries"), name="all")
    return [(node.name, node.op, list(node.input)) for node in graph.as_graph_def().node]


def test_names_of_nodes() -> None:
    assert names(fleet) == names(real)


def test_tensorflow_reads_event_files(tmp_path: Path) -> None:
    with fleet.Graph().as_default() as graph:
        fleet.constant(1, name="c")
    with fleet.summary.FileWriter(str(tmp_path), graph) as writer:
        writer.add_summary(fleet.Summary(value=[fleet.Summary.Value(tag="t", simple_value=2.0)]), 7)
    (path,) = tmp_path.iterdir()
    version, graph_event, meta, summary = list(real.train.summary_iterator(str(path)))
    assert version.file_version == "brain.Event:2"
    assert [n.name for n in real.GraphDef.FromString(graph_event.graph_def).node] == ["c"]
    assert real.MetaGraphDef.FromString(meta.meta_graph_def).graph_def.node[0].name == "c"
    assert (summary.step, summary.summary.value[0].simple_value) == (7, 2.0)


def test_we_read_tensorflows_event_files(tmp_path: Path) -> None:
    writer = real.summary.FileWriter(str(tmp_path))
    writer.add_summary(real.Summary(value=[real.Summary.Value(tag="t", simple_value=2.0)]), 7)
    writer.close()
    (path,) = tmp_path.iterdir()
    last = list(fleet.train.summary_iterator(str(path)))[-1]
    assert (last.step, last.summary.value[0].simple_value) == (7, 2.0)
