"""The arithmetic of optimizers, on blocks of arrays; RULES has all updates.

`update_rule` says how an update is built; `proximal_updates` has those with regularization.
"""

from __future__ import annotations

from typing import Any

from tensorfleet_service.kernels.training.proximal_updates import (
    adagrad_da,
    ftrl,
    proximal_adagrad,
    proximal_gradient_descent,
)
from tensorfleet_service.kernels.training.update_rule import Prepare, Rule, Update


def _gradient_descent(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(alpha: Any) -> Update:
        def update(temporaries: Any, var: Any, delta: Any) -> None:
            (t,) = temporaries
            xp.multiply(delta, alpha, out=t)
            var -= t

        return update

    return prepare


def _momentum(xp: Any, attrs: dict[str, Any]) -> Prepare:
    nesterov = attrs["use_nesterov"]

    def prepare(lr: Any, momentum: Any) -> Update:
        nesterov_rate = momentum * lr

        def update(temporaries: Any, var: Any, accum: Any, grad: Any) -> None:
            (t,) = temporaries
            accum *= momentum
            accum += grad
            if nesterov:
                xp.multiply(grad, lr, out=t)
                var -= t
                xp.multiply(accum, nesterov_rate, out=t)
            else:
                xp.multiply(accum, lr, out=t)
            var -= t

        return update

    return prepare


def _keras_momentum(xp: Any, attrs: dict[str, Any]) -> Prepare:
    nesterov = attrs["use_nesterov"]

    def prepare(lr: Any, momentum: Any) -> Update:
        def update(temporaries: Any, var: Any, accum: Any, grad: Any) -> None:
            t, u = temporaries
            xp.multiply(grad, lr, out=t)
            accum *= momentum
            accum -= t
            if nesterov:
                xp.multiply(accum, momentum, out=u)
                u -= t
                var += u
            else:
                var += accum

        return update

    return prepare


def _adagrad(xp: Any, attrs: dict[str, Any]) -> Prepare:
    update_slots = attrs["update_slots"]

    def prepare(lr: Any, epsilon: Any = None) -> Update:
        def update(temporaries: Any, var: Any, accum: Any, grad: Any) -> None:
            t, u = temporaries
            if update_slots:
                xp.multiply(grad, grad, out=t)
                accum += t
            xp.sqrt(accum, out=t)
            if epsilon is not None:
                t += epsilon
            xp.multiply(grad, lr, out=u)
            u /= t
            var -= u

        return update

    return prepare


def _adadelta(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(lr: Any, rho: Any, epsilon: Any) -> Update:
        rest = 1 - rho

        def update(temporaries: Any, var: Any, accum: Any, accum_update: Any, grad: Any) -> None:
            t, u = temporaries
            accum *= rho
            xp.multiply(grad, grad, out=t)
            t *= rest
            accum += t
            xp.add(accum, epsilon, out=t)
            xp.sqrt(t, out=t)
            xp.add(accum_update, epsilon, out=u)
            xp.sqrt(u, out=u)
            u /= t
            u *= grad
            xp.multiply(u, lr, out=t)
            var -= t
            accum_update *= rho
            u *= u
            u *= rest
            accum_update += u

        return update

    return prepare


def _move(xp: Any, average: Any, value: Any, rate: Any, t: Any) -> None:
    """average += (value - average) · rate; `value` may be the temporary `t` itself."""
    xp.subtract(value, average, out=t)
    t *= rate
    average += t


def _adam(xp: Any, attrs: dict[str, Any]) -> Prepare:
    nesterov = attrs.get("use_nesterov")

    def prepare(power1: Any, power2: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any) -> Update:
        alpha = lr * xp.sqrt(1 - power2) / (1 - power1)
        rest1, rest2 = 1 - beta1, 1 - beta2

        def update(temporaries: Any, var: Any, m: Any, v: Any, *others: Any) -> None:
            t, u = temporaries
            grad = others[-1]
            _move(xp, m, grad, rest1, t)
            xp.multiply(grad, grad, out=t)
            _move(xp, v, t, rest2, t)
            if len(others) == 2:  # AMSGrad divides by the greatest average so far.
                v = xp.maximum(others[0], v, out=others[0])
            xp.sqrt(v, out=t)
            t += epsilon
            if nesterov:
                xp.multiply(m, beta1, out=u)
                u += grad * rest1
                u *= alpha
            else:
                xp.multiply(m, alpha, out=u)
            u /= t
            var -= u

        return update

    return prepare


def _ada_max(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(power1: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any) -> Update:
        alpha, rest = lr / (1 - power1), 1 - beta1

        def update(temporaries: Any, var: Any, m: Any, v: Any, grad: Any) -> None:
            t, u = temporaries
            _move(xp, m, grad, rest, t)
            v *= beta2
            xp.maximum(v, xp.absolute(grad, out=t), out=v)
            xp.add(v, epsilon, out=t)
            xp.divide(m, t, out=u)
            u *= alpha
            var -= u

        return update

    return prepare


def _rms_prop(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(lr: Any, rho: Any, momentum: Any, epsilon: Any) -> Update:
        rest = 1 - rho

        def update(temporaries: Any, var: Any, ms: Any, mom: Any, grad: Any) -> None:
            t, u = temporaries
            xp.multiply(grad, grad, out=t)
            _move(xp, ms, t, rest, t)
            xp.add(ms, epsilon, out=t)
            _rms_step(xp, var, mom, grad, lr, momentum, t, u)

        return update

    return prepare


def _centered_rms_prop(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(lr: Any, rho: Any, momentum: Any, epsilon: Any) -> Update:
        rest = 1 - rho

        def update(temporaries: Any, var: Any, mg: Any, ms: Any, mom: Any, grad: Any) -> None:
            t, u = temporaries
            xp.multiply(grad, grad, out=t)
            _move(xp, ms, t, rest, t)
            _move(xp, mg, grad, rest, t)
            xp.multiply(mg, mg, out=t)
            xp.subtract(ms, t, out=t)
            t += epsilon
            _rms_step(xp, var, mom, grad, lr, momentum, t, u)

        return update

    return prepare


def _rms_step(xp: Any, var: Any, mom: Any, grad: Any, lr: Any, momentum: Any, t: Any, u: Any) -> None:
    """mom = mom · momentum + lr · grad / sqrt(t), subtracted from the variable."""
    xp.sqrt(t, out=t)
    xp.multiply(grad, lr, out=u)
    u /= t
    mom *= momentum
    mom += u
    var -= mom


def _add_sign(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(lr: Any, alpha: Any, sign_decay: Any, beta: Any) -> Update:
        def update(temporaries: Any, var: Any, m: Any, grad: Any) -> None:
            t, u = temporaries
            _agreement(xp, m, grad, beta, t, u)
            t *= sign_decay
            t += alpha
            t *= grad
            t *= lr
            var -= t

        return update

    return prepare


def _power_sign(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(lr: Any, logbase: Any, sign_decay: Any, beta: Any) -> Update:
        exponent = logbase * sign_decay

        def update(temporaries: Any, var: Any, m: Any, grad: Any) -> None:
            t, u = temporaries
            _agreement(xp, m, grad, beta, t, u)
            t *= exponent
            xp.exp(t, out=t)
            t *= grad
            t *= lr
            var -= t

        return update

    return prepare


def _agreement(xp: Any, m: Any, grad: Any, beta: Any, t: Any, u: Any) -> None:
    """Updates the average `m`; `t` says where gradient and average have the same sign (1), or not (-1)."""
    m *= beta
    xp.multiply(grad, 1 - beta, out=t)
    m += t
    xp.sign(grad, out=t)
    t *= xp.sign(m, out=u)


RULES = {
    "AdaMax": Rule(3, 2, _ada_max),
    "Adadelta": Rule(3, 2, _adadelta),
    "Adagrad": Rule(2, 2, _adagrad),
    "AdagradDA": Rule(3, 2, adagrad_da),
    "AdagradV2": Rule(2, 2, _adagrad),
    "Adam": Rule(3, 2, _adam),
    "AdamWithAmsgrad": Rule(4, 2, _adam),
    "AddSign": Rule(2, 2, _add_sign),
    "CenteredRMSProp": Rule(4, 2, _centered_rms_prop),
    "Ftrl": Rule(3, 2, ftrl),
    "FtrlV2": Rule(3, 2, ftrl),
    "GradientDescent": Rule(1, 1, _gradient_descent),
    "KerasMomentum": Rule(2, 2, _keras_momentum),
    "Momentum": Rule(2, 1, _momentum),
    "PowerSign": Rule(2, 2, _power_sign),
    "ProximalAdagrad": Rule(2, 2, proximal_adagrad),
    "ProximalGradientDescent": Rule(1, 2, proximal_gradient_descent),
    "RMSProp": Rule(3, 2, _rms_prop),
}
"""The rules by the name that follows "Apply" in the op types."""
