"""`tensorfleet status --steps`: the running steps of a cluster, and what they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tensorfleet.cli.table import human_seconds, table
from tensorfleet.core import errors
from tensorfleet.proto import fleet_pb2
from tensorfleet.proto.config_pb2 import ConfigProto

GET_STEPS = "/tensorfleet.FleetService/GetSteps"
MAX_CALLS = 32  # calls to tasks at the same time


@dataclass
class TaskSteps:
    """One task, with its running steps or its error."""

    task: str
    address: str
    reply: fleet_pb2.StepsReply | None
    error: str = ""


def cluster_steps(tasks: Sequence[tuple[str, str]], timeout: float) -> list[TaskSteps]:
    """Asks tasks, given by name and address, in parallel.

    Who may see only steps of its own asks again for their parts, by the numbers that the masters told it.
    """

    def steps(task: str, address: str) -> TaskSteps:
        try:
            return TaskSteps(task, address, _ask(address, fleet_pb2.StepsRequest(master=True), timeout))
        except errors.OpError as error:
            return TaskSteps(task, address, None, error.message)

    def add_parts(found: TaskSteps) -> None:
        try:
            reply = _ask(found.address, fleet_pb2.StepsRequest(step_id=numbers), timeout)
        except errors.OpError as error:
            found.reply, found.error = None, error.message
            return
        assert found.reply is not None
        found.reply.part.extend(reply.part)

    with ThreadPoolExecutor(min(len(tasks), MAX_CALLS)) as executor:
        found = list(executor.map(lambda task: steps(*task), tasks))
        numbers = [step.step_id for task in found if task.reply for step in task.reply.step if step.step_id]
        if numbers:
            list(executor.map(add_parts, [task for task in found if task.reply and task.reply.withheld]))
    return found


def _ask(address: str, request: fleet_pb2.StepsRequest, timeout: float) -> fleet_pb2.StepsReply:
    from tensorfleet.session import transport_grpc

    channel = transport_grpc.Channel(address, ConfigProto())
    try:
        return channel.call(GET_STEPS, request, fleet_pb2.StepsReply, timeout)
    finally:
        channel.close()


def as_rows(tasks: Sequence[TaskSteps]) -> list[dict[str, Any]]:
    """The activity of each step on each task, the oldest step first. Ages are in seconds."""
    sessions = {
        step.step_id: step.session for task in tasks if task.reply for step in task.reply.step if step.step_id
    }
    rows: list[dict[str, Any]] = []
    for task in tasks:
        if task.reply is None:
            continue
        for role, found in (("master", task.reply.step), ("worker", task.reply.part)):
            for step in found:
                rows.append(
                    {
                        "step": f"{step.step_id:x}" if step.step_id else "",
                        "session": step.session or sessions.get(step.step_id, ""),
                        "task": task.task,
                        "role": role,
                        "age_seconds": step.age_secs,
                        "activity": list(step.activity),
                    }
                )
    ages: dict[str, float] = {}
    for row in rows:
        ages[row["step"]] = max(ages.get(row["step"], 0.0), row["age_seconds"])
    return sorted(rows, key=lambda row: (-ages[row["step"]], row["step"], row["role"], row["task"]))


def render(tasks: Sequence[TaskSteps]) -> str:
    """The steps as a table."""
    rows = as_rows(tasks)
    lines = [
        [
            row["step"] if not number else "",
            row["session"] if not number else "",
            row["task"] if not number else "",
            row["role"] if not number else "",
            human_seconds(row["age_seconds"]) if not number else "",
            text,
        ]
        for row in rows
        for number, text in enumerate(row["activity"] or [""])
    ]
    head = ["STEP", "SESSION", "TASK", "ROLE", "AGE", "WAITS FOR OR DOES"]
    parts = [table(head, lines) if lines else "No step runs."]
    parts += [
        f"{task.task} ({task.address}) does not answer: {task.error}" for task in tasks if not task.reply
    ]
    return "\n\n".join(parts)
