"""Runs TensorFlow 1.x programs with the installed TensorFlow, and prints their first losses as JSON.

A program, not a test: `python on_tensorflow.py COUNT CALL…`, where a CALL is a JSON list of a script and its
arguments. TensorFlow is imported once; each script runs in a fork, and ends when it has printed COUNT losses.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import threading
import traceback

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import data_flow_ops  # noqa: F401

SECONDS = 120.0


def first_losses(call: list[str], count: int) -> list[str]:
    """The first lines of `call` that begin with "step"; fewer, if it ends before."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        os.dup2(writes, 1)
        sys.argv = call
        try:
            runpy.run_path(call[0], run_name="__main__")
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(writes)
    deadline = threading.Timer(SECONDS, os.kill, (child, signal.SIGKILL))
    deadline.start()
    found: list[str] = []
    try:
        with os.fdopen(reads) as lines:
            for line in lines:
                if line.startswith("step"):
                    found.append(line)
                if len(found) == count:
                    break
    finally:
        deadline.cancel()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return found


def main() -> None:
    count, calls = int(sys.argv[1]), [json.loads(text) for text in sys.argv[2:]]
    tf.disable_v2_behavior()
    # What the scripts import as "tensorflow".
    sys.modules["tensorflow"] = tf
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print(json.dumps([first_losses(call, count) for call in calls]))


if __name__ == "__main__":
    main()
