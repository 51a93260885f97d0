"""Every op definition of ours is TensorFlow's."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow
from tensorflow.core.framework import op_def_pb2 as tensorflow_op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import op_def_registry

from tensorfleet.graph import op_def, op_def_proto


def _attr(attr: Any) -> tuple[Any, ...]:
    """An attribute's definition, in a form that compares: allowed values as a set."""
    allowed = attr.allowed_values.list
    default = attr.default_value
    if default.HasField("tensor"):
        # One tensor has several messages.
        array = tensorflow.make_ndarray(default.tensor)
        default.tensor.CopyFrom(tensorflow.make_tensor_proto(array.tolist(), array.dtype))
    return (
        attr.name,
        attr.type,
        default.SerializeToString(deterministic=True) if attr.HasField("default_value") else None,
        (frozenset(allowed.type), frozenset(allowed.s)),
        attr.minimum if attr.has_minimum else None,
    )


def _arg(arg: Any) -> tuple[Any, ...]:
    return arg.name, arg.type, arg.type_attr, arg.number_attr, arg.type_list_attr, arg.is_ref


def _comparable(definition: Any) -> dict[str, Any]:
    return {
        "inputs": [_arg(arg) for arg in definition.input_arg],
        "outputs": [_arg(arg) for arg in definition.output_arg],
        "attrs": [_attr(attr) for attr in definition.attr],
        "is_stateful": definition.is_stateful,
        "is_commutative": definition.is_commutative,
        "is_aggregate": definition.is_aggregate,
        "allows_uninitialized_input": definition.allows_uninitialized_input,
    }


def _listed() -> list[str]:
    """The names and patterns of what is missing; lines that begin with # are for readers."""
    lines = (Path(__file__).parents[2] / "docs" / "missing_ops.txt").read_text().splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]


def test_the_list_of_missing_ops_is_exact() -> None:
    """Each op type of TensorFlow is here or in the list, and each entry is for one that is not here."""
    theirs = tensorflow_op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    )
    # Other tests may have loaded test ops of TensorFlow's: these are in the list.
    missing = {definition.name for definition in theirs.op} - set(op_def.registered())
    entries = _listed()
    matched = {entry: fnmatch.filter(missing, entry) for entry in entries}
    assert sorted(missing.difference(*matched.values())) == []
    assert [entry for entry, names in matched.items() if not names] == []


OURS = frozenset(("_ToHost", "_ToDevice"))
"""What a partition of a GPU is made of here alone."""


@pytest.mark.parametrize("name", sorted({*op_def.registered()} - OURS))
def test_definition_is_tensorflows(name: str) -> None:
    """Arguments in order with their types, attributes with defaults and allowed values, and the flags."""
    definition = op_def.lookup(name)
    assert definition is not None
    theirs = op_def_registry.get(name)
    assert theirs is not None, f"TensorFlow has no op type {name}"
    # Our message in TensorFlow's class, so that both serialize alike.
    ours = tensorflow_op_def_pb2.OpDef.FromString(op_def_proto.to_proto(definition).SerializeToString())
    assert _comparable(ours) == _comparable(theirs)
