"""Waiting for checkpoints."""

from __future__ import annotations

import threading
from pathlib import Path

import tensorfleet as tf


def _save(folder: Path, step: int) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(step)
        session.run(variable.initializer)
        return str(tf.train.Saver().save(session, str(folder / "model"), global_step=step))


def test_each_new_checkpoint_is_given_once(tmp_path: Path) -> None:
    asked = []

    def give_up() -> bool:
        asked.append(True)
        if len(asked) == 1:
            _save(tmp_path, 2)
        return len(asked) == 2

    first = _save(tmp_path, 1)
    found = list(tf.train.checkpoints_iterator(tmp_path, timeout=0, timeout_fn=give_up))
    assert found == [first, str(tmp_path / "model-2")]
    assert len(asked) == 2


def test_a_timeout_ends_the_iterator(tmp_path: Path) -> None:
    assert list(tf.train.checkpoints_iterator(str(tmp_path), timeout=0)) == []


def test_what_another_thread_writes_is_found(tmp_path: Path) -> None:
    writer = threading.Thread(target=_save, args=(tmp_path, 3))
    writer.start()
    try:
        assert next(tf.train.checkpoints_iterator(str(tmp_path), timeout=60)) == str(tmp_path / "model-3")
    finally:
        writer.join()
