"""Calls of functions by name, rewritten to PartitionedCalls."""

from __future__ import annotations

import pytest

from tensorfleet.proto.function_pb2 import FunctionDef
from tensorfleet_service.graph.calls import rewrite_calls


@pytest.mark.parametrize("count", [1, 2, 3, 8, 20, 40])
def test_all_results_are_renamed(count: int) -> None:
    """Of however many results; the order of the entries of a map is another one in each process."""
    inner, outer = FunctionDef(), FunctionDef()
    inner.signature.name = "Inner"
    outer.node_def.add(name="call", op="Inner")
    for number in range(count):
        inner.signature.output_arg.add(name=f"out{number}", type=1)
        outer.ret[f"result{number}"] = f"call:out{number}:0"
    rewrite_calls(outer, {"Inner": inner})
    assert dict(outer.ret) == {f"result{number}": f"call:output:{number}" for number in range(count)}
    assert outer.node_def[0].op == "PartitionedCall"
