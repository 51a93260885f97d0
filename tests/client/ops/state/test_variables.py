"""tf.Variable, tf.get_variable and tf.variable_scope as objects; tests/compat compares their graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import Graph
from tensorfleet.ops.math import operators  # noqa: F401 - sets the operators of Tensor
from tensorfleet.ops.state import variable_collections, variable_ops
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.ref_variable import RefVariable
from tensorfleet.ops.state.resource_variables import ResourceVariable
from tensorfleet.ops.state.variable_options import disable_resource_variables, enable_resource_variables
from tensorfleet.ops.state.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_variable_scope,
    variable_creator_scope,
    variable_op_scope,
    variable_scope,
)
from tensorfleet.ops.state.variables import Variable


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as made:
        yield made


def test_the_kind_follows_argument_scope_and_default() -> None:
    assert isinstance(Variable(1), RefVariable)
    assert isinstance(Variable(1, use_resource=True), ResourceVariable)
    with variable_scope("s", use_resource=True):
        assert isinstance(Variable(1), ResourceVariable)
        assert isinstance(Variable(1, use_resource=False), RefVariable)
    enable_resource_variables()
    try:
        assert isinstance(Variable(1), ResourceVariable)
        assert isinstance(get_variable("v", [1]), ResourceVariable)
    finally:
        disable_resource_variables()


@pytest.mark.parametrize("use_resource", [False, True])
def test_properties(use_resource: bool, graph: Graph) -> None:
    def clip(value: Any) -> Any:
        return value

    v = Variable([1.0, 2.0], name="v", use_resource=use_resource, constraint=clip, trainable=False)
    assert (v.name, v.op.name, v.shape.as_list(), v.graph, v.trainable) == ("v:0", "v", [2], graph, False)
    assert v.dtype.base is dtypes.float32
    assert v.dtype.is_ref is not use_resource
    assert v.constraint is clip
    assert v.initializer.inputs[1] is v.initial_value
    assert v.ref().deref() is v
    assert {v: 1}[v] == 1
    assert v == v
    assert v != 3


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_convert_and_compute(use_resource: bool) -> None:
    v = Variable(np.float32([[1, 2]]), use_resource=use_resource)
    assert convert_to_tensor(v).dtype is dtypes.float32
    for result in (v + 1, 1 - v, v * v, -v, abs(v), v[0], v > 0, np.float32(2) * v):
        assert result.op.graph is v.graph
    with pytest.raises(ValueError, match="Incompatible type conversion requested to type"):
        convert_to_tensor(v, dtypes.int32)
    with pytest.raises(TypeError, match="not iterable"):
        iter(v)
    if use_resource:
        with pytest.raises(TypeError, match="no truth value"):
            bool(v)
    else:
        assert v or None  # as any object: `global_step or tf.train.create_global_step()`


@pytest.mark.parametrize("use_resource", [False, True])
def test_control_dependencies_of_the_call_do_not_reach_the_variable(use_resource: bool) -> None:
    with framework.control_dependencies([constant(1)]):
        v = Variable(lambda: constant([1.0]), use_resource=use_resource)
        assert constant(2).op.control_inputs
    made = [v.op, v.initializer, v.initial_value.op]
    assert [op.control_inputs for op in made] == [[], [], []]


def test_the_graph_follows_the_initial_value() -> None:
    with Graph().as_default() as other:
        value = constant(1.0)
    assert Variable(value).graph is other


def test_assignments_give_references() -> None:
    v = Variable([1, 2])
    assert variable_ops.assign(v, [3, 4]).dtype.is_ref
    assert v.assign_add([1, 1], read_value=False).type == "AssignAdd"
    with pytest.raises(TypeError, match=r"requires that input 'ref' be a mutable tensor"):
        apply_op("Assign", constant([1, 2]), [3, 4])


def test_collections() -> None:
    v = Variable(1.0, trainable=False, collections=["mine"])
    w = Variable(1.0)
    assert framework.get_collection("mine") == [v]
    assert variable_collections.global_variables() == [w]
    assert variable_collections.trainable_variables() == [w]
    init = variable_collections.global_variables_initializer()
    assert init.control_inputs == [w.initializer]


def test_save_slices() -> None:
    v = Variable([1.0, 2.0], name="part")
    v._set_save_slice_info(Variable.SaveSliceInfo("whole", [4], [2], [2]))
    definition = v.to_proto()
    assert definition is not None
    info = Variable.from_proto(definition)._get_save_slice_info()
    assert info is not None
    assert (info.full_name, info.spec) == ("whole", "4 2,2")


def test_scopes_nest_and_reuse() -> None:
    with variable_scope("a") as a:
        v = get_variable("v", [1])
        assert get_variable_scope() is a
        with variable_scope("b", reuse=AUTO_REUSE):
            w = get_variable("w", [2])
            assert get_variable("w", [2]) is w
        get_variable_scope().reuse_variables()
        assert get_variable("v") is v
    with variable_scope("a", reuse=True):
        with variable_scope("b"):
            assert get_variable("w") is w
        with pytest.raises(ValueError, match="Variable a/x does not exist"):
            get_variable("x", [1])
    assert (v.name, w.name, get_variable_scope().name) == ("a/v:0", "a/b/w:0", "")
    assert isinstance(a, VariableScope)
    assert a.original_name_scope == "a/"
    with variable_op_scope([], "a", reuse=True):
        assert get_variable("v") is v


def test_a_scope_can_be_entered_twice() -> None:
    scope = variable_scope("s", reuse=AUTO_REUSE)
    with scope:
        v = get_variable("v", [1])
    with scope:
        assert get_variable("v", [1]) is v


def test_a_failed_scope_leaves_the_outer_one() -> None:
    with pytest.raises(KeyError), variable_scope("s"):
        raise KeyError
    assert get_variable_scope().name == ""


def test_getters_and_creators_wrap() -> None:
    calls: list[str] = []

    def outer(getter: Any, name: str, **kwargs: Any) -> Any:
        calls.append(f"outer {name}")
        return getter(name, **kwargs)

    def inner(getter: Any, name: str, **kwargs: Any) -> Any:
        calls.append(f"inner {name}")
        return getter(name, **kwargs)

    def creator(following: Any, **kwargs: Any) -> Any:
        calls.append("creator")
        return following(**kwargs)

    with (
        variable_creator_scope(creator),
        variable_scope("a", custom_getter=outer),
        variable_scope("b", custom_getter=inner),
    ):
        get_variable("v", [1])
    assert calls == ["inner a/b/v", "outer a/b/v", "creator"]


def test_name_scopes_take_the_graph_of_their_values() -> None:
    with Graph().as_default() as other:
        value = constant(1)
    with framework.name_scope(None, "default", [value]) as scope:
        assert scope == "default/"
        assert framework.get_default_graph() is other
    with pytest.raises(ValueError, match="At least one of name"), framework.name_scope(None, values=[value]):
        pass
    with (
        pytest.raises(ValueError, match="must be from the same graph"),
        framework.name_scope("n", None, [value, constant(1)]),
    ):
        pass
