"""Programs by `tensorfleet run` whose threads go on when the main one has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.test_hook import run

PROGRAM = """
import threading
import tensorflow as tf

ended = threading.Event()

def work():
    ended.wait(60)
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        print(session.run(tf.constant(2) * 3), flush=True)

def main(_):
    threading.Thread(target=work).start()
    threading.Thread(target=lambda: (threading.main_thread().join(0.5), ended.set())).start()

END
"""


@pytest.mark.parametrize("end", ["tf.app.run()", "main(None)"])
def test_threads_serve_and_run_sessions_after_main_has_ended(tmp_path: Path, end: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("END", end))
    assert run(program) == (0, "6\n", "")
