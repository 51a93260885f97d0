"""The log of a task."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from tensorfleet_service.observe import log
from tensorfleet_service.state import printed

TASK = "/job:ps/task:0%s"


@pytest.fixture(autouse=True)
def _root_logger() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    printed.through()


def written(log_format: str, level: str = "info") -> str:
    """The text that three records make."""
    stream = io.StringIO()
    log.configure(TASK, log_format, level, stream)
    logger = logging.getLogger("a.b")
    logger.debug("quiet")
    logger.warning("first %d\nsecond", 1)
    try:
        raise ValueError("the reason")
    except ValueError:
        logger.exception("failed")
    return stream.getvalue()


def test_every_line_of_text_has_time_level_and_task() -> None:
    lines = written("text").splitlines()
    pattern = re.compile(
        rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z (WARNING|ERROR) {TASK} test_log(:| \|) "
    )
    assert all(pattern.match(line) for line in lines)
    texts = [pattern.sub("", line) for line in lines]
    assert texts[:3] == ["first 1", "second", "failed"]
    assert texts[-1] == "ValueError: the reason"


def test_json_is_one_object_a_record() -> None:
    first, second = map(json.loads, written("json").splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert first == {"level": "warning", "task": TASK, "logger": "a.b", "message": "first 1\nsecond"}
    assert (second["level"], second["message"]) == ("error", "failed")
    assert second["exception"].endswith("ValueError: the reason")


def about_a_step(log_format: str, message: str) -> str:
    stream = io.StringIO()
    log.configure(TASK, log_format, "info", stream)
    logging.getLogger("a").info(message, extra={"session": "4f0c", "step": 17})
    return stream.getvalue()


def test_ids_of_session_and_step_are_fields() -> None:
    record = json.loads(about_a_step("json", "failed"))
    assert (record["session"], record["step"], record["message"]) == ("4f0c", 17, "failed")
    assert about_a_step("text", "failed\ntwice").splitlines()[0].endswith(" failed [session=4f0c step=17]")
    assert about_a_step("text", "step 17 failed").endswith(" step 17 failed [session=4f0c]\n")


def test_level() -> None:
    assert "quiet" in written("text", "debug")
    assert written("json", "error").count("\n") == 1


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028"])
def test_text_from_outside_is_no_message_of_its_own(end: str) -> None:
    forged = "2026-01-31T12:00:00.123Z INFO /job:ps/task:0 server: all is well"
    text = about_a_step("text", f"no task x{end}{forged}")
    for line in text.removesuffix("\n").split("\n"):
        assert not line.startswith(forged)
        assert re.match(r"\S+ INFO \S+ test_log(: no task x| \| 2026)", line)
    assert len(about_a_step("json", f"no task x{end}{forged}").splitlines()) == 1


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_nothing_in_a_message_acts_on_a_terminal(log_format: str) -> None:
    written = about_a_step(log_format, "\x1b[2J\x1b]0;x\x07 \x9b31m \x7f \b \u202e \u2066 \ud800 \0 \r é 漢")
    assert all(char.isprintable() for char in written.removesuffix("\n"))
    assert "é 漢" in written
    written.encode()


FORGED = '2026-01-31T12:00:00.123Z INFO /job:ps/task:0 audit: audit {"who": "token:alice"}'


@pytest.mark.parametrize("output", ["stderr", "stdout", "log(error)"])
def test_what_an_op_prints_is_no_message_of_the_task(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    """However high the level of the log is."""
    stream = io.StringIO()
    log.configure(TASK, "text", "error", stream)
    printed.write(output, [f"shown\x1b[2J\n{FORGED}\n"])
    text = capsys.readouterr().out if output == "stdout" else stream.getvalue()
    level = "ERROR" if output == "log(error)" else "INFO"
    first, second = text.splitlines()
    assert first.endswith(f"Z {level} {TASK} print: shown\\x1b[2J")
    assert re.fullmatch(rf"\S+Z {level} {TASK} print \| {re.escape(FORGED)}", second)


def test_what_an_op_prints_is_one_object() -> None:
    stream = io.StringIO()
    log.configure(TASK, "json", "info", stream)
    printed.write("stderr", [json.dumps({"level": "info", "task": TASK, "logger": "audit"}), "\n"])
    found = json.loads(stream.getvalue())
    assert (found["logger"], found["level"]) == (log.PRINTED, "info")
    assert json.loads(found["message"])["logger"] == "audit"
