"""`tensorflow.python.framework.op_def_registry`: the signatures of all op types, as messages."""

from __future__ import annotations

from functools import cache

from tensorfleet.graph import op_def, op_def_proto
from tensorfleet.proto.op_def_pb2 import OpDef


@cache
def get(name: str) -> OpDef | None:
    """The signature of an op type; None if there is no such type."""
    found = op_def.lookup(name)
    return None if found is None else op_def_proto.to_proto(found)


def get_registered_ops() -> dict[str, OpDef]:
    """The signatures of all op types by their names."""
    op_def.load()
    return {name: found for name in op_def.registered() if (found := get(name)) is not None}
