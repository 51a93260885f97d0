"""Signals and the end of a task, with a server whose `stop` takes as long as the test wants."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from tensorfleet_service.lifecycle import wait_and_drain

PROGRAM = """
import signal, sys, threading
from tensorfleet_service.lifecycle import wait_and_drain

class Server:
    def __init__(self):
        self.stopped = threading.Event()
    def join(self):
        print("waiting", flush=True)
        self.stopped.wait(60)
    def stop(self, grace):
        print("draining", grace, flush=True)
        if "hang" in sys.argv:
            threading.Event().wait(60)
        self.stopped.set()

if "own" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: print("own handler", flush=True))
server = Server()
told = wait_and_drain(server, 7)
print("done", told, signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
"""


class Program:
    """A process that waits; lines of what it says."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self.line() == "waiting"

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def send(self, signum: int) -> None:
        self._process.send_signal(signum)

    def end(self) -> int:
        """The exit code."""
        with self._process:
            return self._process.wait(20)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_the_program_goes_on(signum: int) -> None:
    program = Program()
    program.send(signum)
    assert program.line() == "draining 7"
    assert program.line() == "done True True"
    assert program.end() == 0


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_at_once(second: int) -> None:
    program = Program("hang")
    program.send(signal.SIGTERM)
    assert program.line() == "draining 7"
    program.send(second)
    assert program.end() == 128 + second


def test_the_programs_own_handler_stays() -> None:
    program = Program("own")
    program.send(signal.SIGTERM)
    assert program.line() == "own handler"
    program.send(signal.SIGINT)
    assert program.line() == "draining 7"
    assert program.end() == 0


class Server:
    """Stops when it is told to."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.graces: list[float] = []

    def join(self) -> None:
        assert self.stopped.wait(20)

    def stop(self, grace: float) -> None:
        self.graces.append(grace)
        self.stopped.set()


def test_returns_when_somebody_stops_the_server_also_outside_the_main_thread() -> None:
    server = Server()
    told: list[bool] = []
    thread = threading.Thread(target=lambda: told.append(wait_and_drain(server, 1.0)))
    thread.start()
    server.stopped.set()
    thread.join(20)
    assert told == [False]


def test_what_follows_join_does_not_run_after_a_signal() -> None:
    """A parameter server's program may go on as a worker's, since TensorFlow's `join` never returns."""
    program = """
import signal, threading, time, tensorfleet as tf

def say_when_joined():
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.01)
    print("joined", flush=True)

server = tf.train.Server.create_local_server()
threading.Thread(target=say_when_joined, daemon=True).start()
try:
    server.join()
finally:
    print("cleaning up", flush=True)
print("training", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "joined\n"
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60)[0] == "cleaning up\n"
        assert process.returncode == 0


def test_an_event_drains_as_well() -> None:
    server, over = Server(), threading.Event()
    over.set()
    assert wait_and_drain(server, 2.5, over)
    assert server.graces == [2.5]
