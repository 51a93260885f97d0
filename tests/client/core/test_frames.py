"""Stacks of other threads."""

from __future__ import annotations

import subprocess
import sys
import threading

from tensorfleet.core.frames import current_frames

# Collections all the time, whose finalizers let other threads run, and threads that begin and end meanwhile.
# Without the pause of the collector CPython 3.11.7 stands still after a moment.
BUSY = """
import gc, sys, threading, time
from tensorfleet.core.frames import current_frames

class Lets:
    def __init__(self):
        self.own = self

    def __del__(self):
        time.sleep(0)

def look():
    for _ in range(2000):
        Lets()
        assert threading.get_ident() in current_frames()

def begin():
    while looking.is_alive():
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()

gc.set_threshold(5)
looking = threading.Thread(target=look)
looking.start()
others = [threading.Thread(target=begin) for _ in range(2)]
for thread in others:
    thread.start()
for thread in (looking, *others):
    thread.join()
"""


def test_threads_that_begin_and_a_collection_meanwhile() -> None:
    subprocess.run([sys.executable, "-c", BUSY], check=True, timeout=120)


def test_the_frames_of_all_threads() -> None:
    inside, over = threading.Event(), threading.Event()

    def waits() -> None:
        inside.set()
        over.wait(60)

    thread = threading.Thread(target=waits)
    thread.start()
    assert inside.wait(60)
    frame = current_frames()[thread.ident or 0]
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    over.set()
    thread.join()
    assert "waits" in names
