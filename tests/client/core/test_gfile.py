"""`tf.gfile` where it does better than TensorFlow's, which tests/compat/test_gfile.py compares it with."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensorfleet as tf


def test_a_file_that_is_read_and_written_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one two")
    with tf.gfile.Open(path, "r+") as file:
        file.write("ONE")
        assert file.read() == " two"
    assert path.read_text() == "ONE two"


def test_no_directory_is_made_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(tf.errors.AlreadyExistsError, match=r"file; File exists"):
        tf.gfile.MkDir(tmp_path / "file")


def test_another_file_system_is_refused_by_its_name() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"'gs' not implemented .*gs://bucket/file"):
        tf.io.gfile.exists("gs://bucket/file")


def test_a_url_of_a_file_is_its_path(tmp_path: Path) -> None:
    tf.io.gfile.mkdir(f"file://{tmp_path}/new")
    assert (tmp_path / "new").is_dir()
