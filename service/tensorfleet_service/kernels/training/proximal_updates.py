"""The updates of the optimizers with regularization: AdagradDA, FTRL, and the proximal ones.

`update_rule` says how an update is built.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.training.update_rule import Prepare, Update


def adagrad_da(xp: Any, attrs: dict[str, Any]) -> Prepare:
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


def ftrl(xp: Any, attrs: dict[str, Any]) -> Prepare:
    by_rate = attrs["multiply_linear_by_lr"]

    def prepare(lr: Any, l1: Any, l2: Any, *others: Any) -> Update:
        shrinkage, lr_power = others if len(others) == 2 else (None, others[0])
        is_root = bool(lr_power == -0.5)
        # The smallest positive number: what is divided by it in place of 0 is infinite, or 0 itself.
        least = np.nextafter(lr.dtype.type(0), lr.dtype.type(1))
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
            # Where L1 wins, the weight is 0, also where nothing has been learned and u is 0; not -0.
            t *= xp.greater(xp.absolute(linear), threshold)
            xp.maximum(u, least, out=u)
            t /= u
            xp.add(t, 0, out=var)

        return update

    return prepare


def proximal_gradient_descent(xp: Any, attrs: dict[str, Any]) -> Prepare:
    def prepare(alpha: Any, l1: Any, l2: Any) -> Update:
        threshold, decay = alpha * l1, 1 + l2 * alpha

        def update(temporaries: Any, var: Any, delta: Any) -> None:
            t, u = temporaries
            xp.multiply(delta, alpha, out=t)
            xp.subtract(var, t, out=t)
            xp.divide(_shrunk(xp, t, threshold, u), decay, out=var)

        return update

    return prepare


def proximal_adagrad(xp: Any, attrs: dict[str, Any]) -> Prepare:
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


def _shrunk(xp: Any, values: Any, threshold: Any, temporary: Any) -> Any:
    """`values` moved toward zero by the threshold, to zero at most; the values themselves without one."""
    if not (threshold > 0).any():
        return values
    xp.absolute(values, out=temporary)
    temporary -= threshold
    xp.maximum(temporary, 0, out=temporary)
    temporary *= xp.sign(values)
    return temporary
