"""Distributions and linear operators of programs, which derive from those here and use their scopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


class Extended(tf.linalg.LinearOperatorFullMatrix):
    """An operator that is also multiplied from the right."""

    def matmul_right(self, x: Any, name: str = "matmul_right") -> Any:
        with self._name_scope(name, values=[x]):
            x = tf.convert_to_tensor(x)
            self._check_input_dtype(x)
            return tf.matmul(x, self.to_dense())


def test_an_operator_with_a_method_of_its_own() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = Extended([[1.0, 2.0], [3.0, 4.0]], name="op")
        product = operator.matmul_right([[1.0, 1.0]])
        assert product.op.name.startswith("op/matmul_right/")
        with pytest.raises(TypeError, match="must have dtype"):
            operator.matmul_right(np.ones([1, 2], np.float64))
        assert session.run(product).tolist() == [[4.0, 6.0]]


class Shifted(tf.distributions.Normal):
    """A normal distribution with a statistic of its own."""

    def third_moment(self, name: str = "third_moment") -> Any:
        with self._name_scope(name, values=[self.loc]) as scope:
            assert scope.endswith(f"{name}/")
            return tf.pow(self.loc, 3) + 3 * self.loc * tf.square(self.scale)


def test_a_distribution_with_a_statistic_of_its_own() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        moment = Shifted(2.0, 3.0, name="shifted").third_moment()
        assert moment.op.name.startswith("shifted/third_moment/")
        assert session.run(moment) == 62.0
