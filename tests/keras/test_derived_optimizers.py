"""Optimizers of programs, which derive from Keras's and override its parts."""

from __future__ import annotations

from typing import Any

import pytest

import tensorfleet as tf


class Doubled(tf.keras.optimizers.Optimizer):
    """Lets another optimizer change the variables, by twice their gradients."""

    def __init__(self, inner: Any) -> None:
        super().__init__(name="Doubled")
        self.inner = inner
        self.prepared: list[Any] = []

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> Any:
        pairs = super()._compute_gradients(loss, var_list=var_list, grad_loss=grad_loss)
        return [(None if gradient is None else gradient * 2.0, variable) for gradient, variable in pairs]

    def _create_hypers(self) -> None:
        self.inner._create_hypers()

    def _create_slots(self, var_list: Any) -> None:
        self.inner._create_slots(var_list)

    def _prepare(self, var_list: Any) -> None:
        self.prepared = list(var_list)
        self.inner._prepare(var_list)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self.inner._resource_apply_dense(grad, var)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "inner": self.inner}


def test_a_derived_optimizer_computes_prepares_and_applies_itself() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, unused = (tf.Variable(1.0, use_resource=True) for _ in range(2))
        optimizer = Doubled(tf.keras.optimizers.SGD(0.25))
        train = optimizer.minimize(lambda: x * x, [x, unused])
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(x) == 0.0  # 1 - 0.25 · 2 · 2
        assert optimizer.prepared == [x]


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_an_optimizer_that_prepares_otherwise_keeps_its_rate(kind: str) -> None:
    base = getattr(tf.keras.optimizers, kind)
    seen: list[int] = []

    class Counting(base):  # type: ignore[misc, valid-type]
        def _prepare(self, var_list: Any) -> None:
            super()._prepare(var_list)
            seen.append(len(var_list))

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(1.0, use_resource=True)
        train = Counting(0.5).minimize(lambda: x * x, [x])
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(x) < 1.0
    assert seen == [1]
