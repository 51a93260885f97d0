"""The arithmetic of optimizers, on blocks of arrays.

A rule is built in three steps, so that each thing is computed as seldom as possible: `build(xp, attrs)` once
for a node, the function it returns once a step with the step's numbers (learning rate, …, in the op's order),
and what that returns for each block: `update(temporaries, *variables, gradient)`, which changes the variables
in place and may write to the temporaries, but not to the gradient.

Numbers come with the variables' dtype, and so do the results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Update = Callable[..., None]
Prepare = Callable[..., Update]
Build = Callable[[Any, dict[str, Any]], Prepare]


@dataclass(frozen=True, slots=True)
class Rule:
    """The update of one optimizer, with its numbers of variables and temporaries."""

    variables: int
    scratch: int
    build: Build


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


def _adagrad_da(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(lr: Any, l1: Any, l2: Any, global_step: Any) -> Update:
        step = lr.dtype.type(global_step)
        threshold, decay = l1 * step, l2 * step * lr

        def update(temporaries: Any, var: Any, total: Any, squares: Any, grad: Any) -> None:
            t, u = temporaries
            total += grad
            xp.multiply(grad, grad, out=t)
            squares += t
            xp.sqrt(squares, out=t)
            t += decay
            xp.multiply(_shrunk(xp, total, threshold, u), -lr, out=var)
            var /= t

        return update

    return prepare


def _shrunk(xp: Any, values: Any, threshold: Any, temporary: Any) -> Any:
    """`values` moved toward zero by the threshold, to zero at most; the values themselves without one."""
    if not (threshold > 0).any():
        return values
    xp.absolute(values, out=temporary)
    temporary -= threshold
    xp.maximum(temporary, 0, out=temporary)
    temporary *= xp.sign(values)
    return temporary


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


def _ftrl(xp: Any, attrs: dict[str, Any]) -> Prepare:
    by_rate = attrs["multiply_linear_by_lr"]

    def prepare(lr: Any, l1: Any, l2: Any, *others: Any) -> Update:
        shrinkage, lr_power = others if len(others) == 2 else (None, others[0])
        is_root = bool(lr_power == -0.5)
        threshold = l1 * lr if by_rate else l1
        decay = 2 * l2 * lr if by_rate else 2 * l2

        def root(x: Any, out: Any) -> Any:
            return xp.sqrt(x, out=out) if is_root else xp.power(x, -lr_power, out=out)

        def update(temporaries: Any, var: Any, accum: Any, linear: Any, grad: Any) -> None:
            t, u = temporaries
            root(accum, t)
            xp.multiply(grad, grad, out=u)
            accum += u
            root(accum, u)
            xp.subtract(u, t, out=t)
            if not by_rate:
                t /= lr
                u /= lr
            t *= var
            step = grad if shrinkage is None else grad + var * (2 * shrinkage)
            xp.subtract(step * lr if by_rate else step, t, out=t)
            linear += t
            u += decay
            xp.sign(linear, out=t)
            t *= threshold
            t -= linear
            t /= u
            t[xp.absolute(linear) <= threshold] = 0
            var[...] = t

        return update

    return prepare


def _proximal_gradient_descent(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(alpha: Any, l1: Any, l2: Any) -> Update:
        threshold, decay = alpha * l1, 1 + l2 * alpha

        def update(temporaries: Any, var: Any, delta: Any) -> None:
            t, u = temporaries
            xp.multiply(delta, alpha, out=t)
            xp.subtract(var, t, out=t)
            xp.divide(_shrunk(xp, t, threshold, u), decay, out=var)

        return update

    return prepare


def _proximal_adagrad(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(lr: Any, l1: Any, l2: Any) -> Update:
        def update(temporaries: Any, var: Any, accum: Any, grad: Any) -> None:
            t, u = temporaries
            xp.multiply(grad, grad, out=t)
            accum += t
            xp.sqrt(accum, out=t)
            rate = xp.divide(lr, t, out=t)
            xp.multiply(grad, rate, out=u)
            xp.subtract(var, u, out=var)
            shrunk = _shrunk(xp, var, rate * l1, u)
            rate *= l2
            rate += 1
            xp.divide(shrunk, rate, out=var)

        return update

    return prepare


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
    "AdagradDA": Rule(3, 2, _adagrad_da),
    "AdagradV2": Rule(2, 2, _adagrad),
    "Adam": Rule(3, 2, _adam),
    "AdamWithAmsgrad": Rule(4, 2, _adam),
    "AddSign": Rule(2, 2, _add_sign),
    "CenteredRMSProp": Rule(4, 2, _centered_rms_prop),
    "Ftrl": Rule(3, 2, _ftrl),
    "FtrlV2": Rule(3, 2, _ftrl),
    "GradientDescent": Rule(1, 1, _gradient_descent),
    "KerasMomentum": Rule(2, 2, _keras_momentum),
    "Momentum": Rule(2, 1, _momentum),
    "PowerSign": Rule(2, 2, _power_sign),
    "ProximalAdagrad": Rule(2, 2, _proximal_adagrad),
    "ProximalGradientDescent": Rule(1, 2, _proximal_gradient_descent),
    "RMSProp": Rule(3, 2, _rms_prop),
}
"""The rules by the name that follows "Apply" in the op types."""
