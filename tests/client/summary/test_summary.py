"""Summaries and event files, read back by TensorBoard."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.summary import event_file_writer

accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def accumulated(directory: Path) -> Any:
    result = accumulators.EventAccumulator(
        str(directory), {name: 0 for name in accumulators.DEFAULT_SIZE_GUIDANCE}
    )
    result.Reload()
    return result


def evaluated(session: Any, summary: Any) -> Any:
    return tf.summary.Summary.FromString(session.run(summary))


def test_tensorboard_reads_everything(session: Any, tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    tf.summary.scalar("average", tf.reduce_mean(x))
    tf.summary.histogram("values", x)
    tf.summary.image("picture", tf.reshape(x, [1, 2, 2, 1]))
    tf.summary.audio("sound", tf.reshape(x, [1, 4]), 8000)
    tf.summary.text("words", tf.constant(["one", "two"]))
    merged = tf.summary.merge_all()
    metadata = tf.RunMetadata()
    with tf.summary.FileWriter(str(tmp_path), session.graph) as writer:
        # TensorBoard forgets what is later than a start.
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 0)
        for step in range(3):
            writer.add_summary(session.run(merged, {x: [step, 0, 0, -step]}), 2 * step)
            writer.add_summary(session.run(merged, {x: np.full(4, step)}), np.int64(2 * step + 1))
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(merged, {x: np.ones(4)}, options=options, run_metadata=metadata)
        writer.add_run_metadata(metadata, "traced", 7)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(metadata, "traced", 8)
    found = accumulated(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("average")] == [
        *((0, 0.0), (1, 0.0), (2, 0.0), (3, 1.0), (4, 0.0), (5, 2.0)),
    ]
    histogram = found.Histograms("values")[3].histogram_value
    assert (histogram.min, histogram.max, histogram.num, histogram.sum_squares) == (1, 1, 4, 4)
    assert (found.Images("picture/image/0")[0].width, found.Images("picture/image/0")[0].height) == (2, 2)
    assert found.Audio("sound/audio/0")[0].sample_rate == 8000
    assert [list(e.tensor_proto.string_val) for e in found.Tensors("words")] == [[b"one", b"two"]] * 6
    assert found.SummaryMetadata("words").plugin_data.plugin_name == "text"
    assert [node.name for node in found.Graph().node] == [op.name for op in session.graph.get_operations()]
    assert found.RunMetadata("traced").step_stats.dev_stats


def test_tags_and_names(session: Any) -> None:
    one = tf.summary.scalar("a b", 1.0)
    other = tf.summary.scalar("x", 2.0, family="f", collections=["mine"])
    assert (one.name, other.name) == ("a_b:0", "f/x:0")
    assert [value.tag for value in evaluated(session, one).value] == ["a_b"]
    assert [value.tag for value in evaluated(session, other).value] == ["f/f/x"]
    assert tf.get_collection("mine") == [other]
    assert tf.summary.merge_all("none") is None
    merged = evaluated(session, tf.summary.merge([one, other]))
    assert [(value.tag, value.simple_value) for value in merged.value] == [("a_b", 1.0), ("f/f/x", 2.0)]


def test_wrong_values(session: Any) -> None:
    one = tf.summary.scalar("one", 1.0)
    cases = [
        (tf.summary.scalar("s", [1.0, 2.0]), r"not the same shape: \[\] != \[2\] \(tag 's'\)"),
        (tf.summary.histogram("h", [1.0, np.nan]), "Nan in summary histogram for: h"),
        (tf.summary.histogram("i", [1.0, np.inf]), "Infinity in summary histogram for: i"),
        (tf.summary.image("p", np.zeros((1, 2, 2, 2), np.float32)), r"last dim 1, 3, or 4, not \[1,2,2,2\]"),
        (tf.summary.audio("a", np.zeros(3, np.float32), 1), r"3-D or 2-D, got: \[3\]"),
        (tf.summary.audio("r", np.zeros((1, 3), np.float32), 0), "sample_rate must be > 0"),
        (tf.summary.merge([one, one]), "Duplicate tag one found"),
    ]
    for summary, text in cases:
        with pytest.raises(errors.InvalidArgumentError, match=text):
            session.run(summary)
    with pytest.raises(ValueError, match="to have dtype string"):
        tf.summary.text("t", tf.constant(1))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_of_bytes_come_back(channels: int, session: Any) -> None:
    image_module = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (2, 5, 7, channels), np.uint8)
    values = evaluated(session, tf.summary.image("p", pixels, max_outputs=1)).value
    assert [value.tag for value in values] == ["p/image"]
    found = np.asarray(image_module.open(io.BytesIO(values[0].image.encoded_image_string)))
    np.testing.assert_array_equal(found.reshape(5, 7, channels), pixels[0])


def events(directory: Path) -> list[Any]:
    (path,) = directory.glob("events.out.tfevents.*")
    return list(tf.train.summary_iterator(str(path)))


def test_closing_ends_the_thread_and_reopening_starts_another_file(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    writer = tf.summary.FileWriter(str(tmp_path / "new"), filename_suffix=".end")
    assert writer.get_logdir() == str(tmp_path / "new")
    writer.add_event(tf.Event(step=1))
    writer.flush()
    assert [event.step for event in events(tmp_path / "new")] == [0, 1]
    writer.close()
    writer.close()
    assert not set(threading.enumerate()) - before
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_event(tf.Event(step=2))
    writer.reopen()
    writer.add_event(tf.Event(step=3))
    writer.close()
    paths = sorted((tmp_path / "new").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert [[e.step for e in tf.train.summary_iterator(p)] for p in paths] == [[0, 1], [0, 3]]
    assert all(path.name.endswith(".end") for path in paths)
    assert not set(threading.enumerate()) - before


def test_a_full_queue_makes_writers_wait_and_loses_nothing(tmp_path: Path) -> None:
    with tf.summary.FileWriter(str(tmp_path), max_queue=2) as writer:

        def add(start: int) -> None:
            for i in range(200):
                writer.add_event(tf.Event(step=start + i))

        threads = [threading.Thread(target=add, args=(1000 * k,)) for k in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    steps = [event.step for event in events(tmp_path)]
    assert sorted(steps[1:]) == [1000 * k + i for k in range(1, 5) for i in range(200)]


def test_errors_of_the_thread_are_raised(tmp_path: Path) -> None:
    writer = event_file_writer.EventFileWriter(str(tmp_path), 10, 120, None)
    writer._file.close()
    writer._file = open("/dev/full", "wb")  # noqa: SIM115
    writer.add_event(tf.Event(step=1))
    with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
        writer.flush()
    with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
        writer.add_event(tf.Event(step=2))
    writer._file = io.BytesIO()  # type: ignore[assignment]
    with pytest.raises(errors.ResourceExhaustedError):
        writer.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.OpError, match="file"):
        tf.summary.FileWriter(str(tmp_path / "file" / "below"))


def test_damaged_event_files(tmp_path: Path) -> None:
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_event(tf.Event(step=1))
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    for i in range(len(content)):
        broken = bytearray(content)
        broken[i] ^= 0x10
        path.write_bytes(broken)
        with pytest.raises(errors.DataLossError, match="record"):
            list(tf.train.summary_iterator(path))
    path.write_bytes(content[:-1])
    with pytest.raises(errors.DataLossError, match="truncated record at"):
        list(tf.train.summary_iterator(path))
    with pytest.raises(errors.NotFoundError):
        list(tf.train.summary_iterator(tmp_path / "none"))


def test_the_cache_has_one_writer_for_a_directory(tmp_path: Path) -> None:
    writer = tf.summary.FileWriterCache.get(str(tmp_path))
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is writer
    tf.summary.FileWriterCache.clear()
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is not writer
    tf.summary.FileWriterCache.clear()
    with pytest.raises(TypeError, match="must be an instance of `Graph`"):
        tf.summary.FileWriter(str(tmp_path), graph="graph")
