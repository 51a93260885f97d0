"""`tf.make_template`: later calls make no trainable variables."""

from __future__ import annotations

import pytest

import tensorfleet as tf


def test_a_later_call_may_not_make_a_trainable_variable() -> None:
    with tf.Graph().as_default():
        calls = []

        def made() -> tf.Variable:
            calls.append(1)
            if len(calls) == 2:
                tf.Variable(1.0, trainable=False)
            if len(calls) > 2:
                tf.Variable(1.0)
            return tf.get_variable("x", [1])

        template = tf.make_template("scope", made)
        first = template()
        assert template() is first
        with pytest.raises(
            ValueError, match="Trainable variable created when calling a template after the fi"
        ):
            template()
        assert template.var_scope is template.variable_scope
