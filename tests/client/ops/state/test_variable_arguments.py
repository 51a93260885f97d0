"""Arguments of variables, and the names of templates' scopes."""

from __future__ import annotations

import pytest

import tensorfleet as tf
from tensorfleet.ops.state.variable_store import variable_store


def test_modes_of_synchronization() -> None:
    with tf.Graph().as_default():
        modes = tf.VariableSynchronization
        assert not tf.get_variable("a", [], synchronization=modes.ON_READ).trainable
        assert tf.get_variable("b", [], synchronization=modes.ON_READ, trainable=True).trainable
        with pytest.raises(ValueError, match="Invalid variable synchronization mode: 5"):
            tf.get_variable("c", [], synchronization=5)
        with pytest.raises(ValueError, match="Invalid variable aggregation mode: sum"):
            tf.get_variable("d", [], aggregation="sum")


def test_a_store_makes_and_finds_variables_by_full_names() -> None:
    with tf.Graph().as_default():
        store = variable_store()
        made = store.get_variable("x/v", [2])
        assert made.name == "x/v:0"
        assert store.get_variable("x/v", [2], reuse=True) is made
        with pytest.raises(ValueError, match="Variable u does not exist"):
            store.get_variable("u", [2], reuse=True)


def test_the_scope_of_a_template_is_a_prefix() -> None:
    with tf.Graph().as_default():
        template = tf.make_template("t", lambda: tf.get_variable("v", []))
        assert template.variable_scope_name is None
        template()
        assert template.variable_scope_name == "t/"
        assert template.variables[0].name == "t/v:0"
