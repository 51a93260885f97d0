"""Summaries and event files for TensorBoard (`tf.summary`)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tensorfleet.summary import file_writer, records

__all__ = ["file_writer", "records"]

_MESSAGES = {
    "Event": "event_pb2",
    "SessionLog": "event_pb2",
    "Summary": "summary_pb2",
    "SummaryDescription": "summary_pb2",
    "TaggedRunMetadata": "event_pb2",
}


def __getattr__(name: str) -> Any:
    # Only programs that use the messages pay for their import.
    if name not in _MESSAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = getattr(import_module(f"tensorfleet.proto.{_MESSAGES[name]}"), name)
    globals()[name] = message
    return message


def __dir__() -> list[str]:
    return sorted({*globals(), *_MESSAGES})
