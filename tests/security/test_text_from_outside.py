"""Names and texts that a client chooses: they act on nobody's terminal, and pass for nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

import tensorfleet as tf
from tensorfleet.cli import status, steps, table
from tensorfleet.proto import master_pb2
from tensorfleet.security.settings import Security
from tensorfleet_service.observe.metrics import MAX_LABEL
from tensorfleet_service.server import TaskServer
from tests.ports import free_ports
from tests.security.conftest import MakeTasks, TokenBook
from tests.security.test_hostile_functions import Stranger
from tests.until import until

RED = "\x1b[31mred\r\n\x9b2J\u202e"
SHOWN = r"\x1b[31mred\x0d"
SECONDS = 30.0
Show = Callable[..., None]


@pytest.fixture
def task(tasks: MakeTasks) -> TaskServer:
    return tasks({"worker:0": Security()})["worker:0"]


def is_shown(text: str) -> bool:
    return all(char.isprintable() or char in "\t\n" for char in text)


def test_a_handle_that_is_none(task: TaskServer) -> None:
    """By gRPC in the status and in the body, and by the stream."""
    stranger = Stranger(task.address)
    request = master_pb2.RunStepRequest(session_handle=RED)
    try:
        with pytest.raises(Exception, match="is not found") as raised:
            stranger.call("RunStep", request)
        request.store_errors_in_response_body = True
        answer = master_pb2.RunStepResponse.FromString(stranger.call("RunStep", request))
    finally:
        stranger.channel.close()
    with tf.Session(task.target) as session:
        session.run(tf.constant(1))
        transport: Any = session._transport
        own, transport._handle = transport._handle, RED
        with pytest.raises(tf.errors.AbortedError) as refused:
            transport.list_devices()
        transport._handle = own
    for text in (raised.value.details(), answer.status_error_message, refused.value.message):  # type: ignore[attr-defined]
        assert SHOWN in text
        assert is_shown(text), text


def test_a_step_that_quotes_its_data(task: TaskServer) -> None:
    with tf.Session(task.target) as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(tf.string_to_number(RED))
    assert SHOWN in raised.value.message
    assert is_shown(raised.value.message)


def queue(name: str) -> tf.QueueBase:
    return tf.FIFOQueue(3, tf.int32, [()], shared_name=name)


def test_labels_of_metrics(task: TaskServer) -> None:
    """Each queue's name is one: of as many characters as others choose, and whatever these are."""
    with tf.Session(task.target) as session:
        for i, name in enumerate((RED, 'a"} 1\nb{c="', *(f"{'x' * 100_000}{i}" for i in range(60)))):
            session.run(queue(name).enqueue(i))
        text = generate_latest(task.registry()).decode()
        lines = [line for line in text.splitlines() if line.startswith("tensorfleet_queue_length{")]
        assert is_shown(text)
        assert len(lines) <= 51
        assert max(map(len, lines)) < MAX_LABEL + 100
        assert sum(float(line.rpartition(" ")[2]) for line in lines) == 62


def test_what_commands_show(task: TaskServer) -> None:
    """What a step waits for, by the name that its client has given."""
    with tf.Session(task.target) as session:
        take = queue(RED).dequeue()

        def wait() -> None:
            with pytest.raises(tf.errors.OpError):
                session.run(take)

        waiting = threading.Thread(target=wait)
        waiting.start()

        def told() -> str:
            return steps.render(
                steps.cluster_steps([("/job:worker/replica:0/task:0", task.address)], SECONDS)
            )

        until(lambda: "red" in told(), SECONDS)
        assert SHOWN in told()
        assert is_shown(told())
        session.close()
        waiting.join(SECONDS)
    assert is_shown(status.render([status.TaskStatus("t", task.address, status.ask(task.address, SECONDS))]))
    assert table.table(["A", "B"], [["a\x1bb", "c\nd"]]) == "A       B\na\\x1bb  c\\nd"


FORGED = (
    '2026-01-31T12:00:00.123Z INFO /job:worker/task:0 audit: audit {"event": "reset", "who": "token:alice"}'
)


def test_a_client_cannot_write_the_log(book: TokenBook, client: Show, tmp_path: Path) -> None:
    """Nor the audit log, which is in it, by ops that print."""
    book.add("mallory")
    (port,) = free_ports(1)
    environment = os.environ | {
        "TENSORFLEET_TOKENS": str(book.path),
        "TENSORFLEET_CLUSTER_SPEC": json.dumps({"worker": [f"127.0.0.1:{port}"]}),
        "TENSORFLEET_JOB_NAME": "worker",
        "TENSORFLEET_TASK_INDEX": "0",
    }
    path = tmp_path / "log"
    with path.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tensorfleet.cli.main", "serve"], env=environment, stdout=log, stderr=log
        )
    try:
        client(token=book.texts["mallory"])
        until(lambda: "serves at" in path.read_text(), SECONDS)
        with tf.Session(f"grpc://127.0.0.1:{port}") as session:
            for stream in ("stderr", "stdout"):
                session.run(tf.print(f"\x1b[2J\n{FORGED}", output_stream=stream))
            session.run(tf.Print(1, [2], f"\n{FORGED}\r{FORGED}\n").op)
    finally:
        process.terminate()
        process.wait(SECONDS)
    text = path.read_text()
    assert text.count(FORGED) == 4
    assert not any(line.startswith(FORGED) for line in text.splitlines())
    assert sum(" print | " in line for line in text.splitlines()) >= 3
    assert is_shown(text)
