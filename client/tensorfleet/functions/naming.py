"""The names of functions that have none of their own."""

from __future__ import annotations

import base64
import hashlib
import re

from tensorfleet.proto.function_pb2 import FunctionDef

TRACED_CALL = "TracedFunctionCall"
"""The key of the rule that differentiates calls of traced functions in the table of gradients."""

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_.\\/-]")


def hashed_name(label: str, definition: FunctionDef) -> str:
    """`label` with a hash of the definition: equal functions of a program have the same name in each run."""
    digest = hashlib.sha256(definition.SerializeToString(deterministic=True)).digest()
    text = base64.b64encode(digest, b"__").decode().replace("_", "0")[:11]
    return f"{_NOT_A_NAME.sub('_', label)}_{text}"
