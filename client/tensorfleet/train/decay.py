"""Learning rates that decay with the global step, as scalar tensors for an optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.random.random_ops import random_normal


def _decayed(
    function: str,
    scope: str,
    name: str | None,
    learning_rate: Any,
    step: Any,
    factor: Callable[..., Any],
    named: bool = True,
) -> Any:
    """learning_rate · factor(step, number), where `number` converts a value to the rate's dtype.

    Factors call `number` in TensorFlow's order, which numbers the names of the casts. The result has the name
    of the scope if `named`, else that of a product in it.

    Raises:
        ValueError: `step` is None.
    """
    if step is None:
        raise ValueError(f"global_step is required for {function}.")
    with framework.name_scope(name or scope) as full:
        rate: Any = convert_to_tensor(learning_rate, name="initial_learning_rate")

        def number(value: Any) -> Any:
            return cast(value, rate.dtype.base)

        return apply_one("Mul", rate, factor(step, number), name=full if named else None)


def _part(step: Any, decay_steps: Any, staircase: bool) -> Any:
    part = step / decay_steps
    return apply_one("Floor", part) if staircase else part


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """learning_rate · decay_rate ^ (global_step / decay_steps) (`tf.train.exponential_decay`).

    Args:
        staircase: round the quotient down, so that the rate decays in steps.

    Raises:
        ValueError: `global_step` is None.

    Example:
        >>> rate = tf.train.exponential_decay(0.1, global_step=20, decay_steps=10, decay_rate=0.5)
        >>> tf.Session().run(rate).round(4)
        np.float32(0.025)
    """

    def factor(step: Any, number: Any) -> Any:
        steps, base = number(decay_steps), number(decay_rate)
        return apply_one("Pow", base, _part(number(step), steps, staircase))

    return _decayed("exponential_decay", "ExponentialDecay", name, learning_rate, global_step, factor)


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """learning_rate · exp(-decay_rate · global_step / decay_steps) (`tf.train.natural_exp_decay`)."""
    base = apply_one("Exp", apply_one("Neg", decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, base, staircase, name)


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """learning_rate / (1 + decay_rate · global_step / decay_steps) (`tf.train.inverse_time_decay`)."""
    if global_step is None:
        raise ValueError("global_step is required for inverse_time_decay.")
    with framework.name_scope(name or "InverseTimeDecay") as full:
        rate: Any = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps, slope, step = (cast(x, rate.dtype.base) for x in (decay_steps, decay_rate, global_step))
        part = _part(step, steps, staircase)
        one = cast(constant(1), rate.dtype.base)
        grown = apply_one("AddV2", one, apply_one("Mul", slope, part), name="Add")
        return apply_one("RealDiv", rate, grown, name=full)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Decay from `learning_rate` to `end_learning_rate` in `decay_steps` (`tf.train.polynomial_decay`).

    Args:
        power: the power of the fraction of steps that is left; 1 for linear decay.
        cycle: start again whenever the end is reached, over twice, three times … as many steps.
    """
    if global_step is None:
        raise ValueError("global_step is required for polynomial_decay.")
    with framework.name_scope(name or "PolynomialDecay") as full:
        rate: Any = convert_to_tensor(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype.base
        end, exponent, step, steps = (
            cast(x, dtype) for x in (end_learning_rate, power, global_step, decay_steps)
        )
        if cycle:
            at_start = equal(step, 0)
            cycles = apply_one("Ceil", step / (steps if isinstance(decay_steps, Tensor) else decay_steps))
            steps = apply_one("Mul", steps, apply_one("SelectV2", at_start, 1.0, cycles))
        else:
            step = apply_one("Minimum", step, steps)
        part = step / steps
        difference = rate - end
        left = apply_one("Pow", 1 - part, exponent)
        return apply_one("AddV2", apply_one("Mul", difference, left), end, name=full)


def _until(step: Any, decay_steps: Any) -> Any:
    """The fraction of the steps that is done, at most 1."""
    return apply_one("Minimum", step, decay_steps) / decay_steps


def _cosine(part: Any) -> Any:
    """A factor that falls from 1 to 0 along half a cosine."""
    return 0.5 * (1.0 + apply_one("Cos", constant(math.pi, part.dtype.base) * part))


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Any:
    """Decay along half a cosine to `alpha` · learning_rate, arXiv:1608.03983 (`tf.train.cosine_decay`)."""

    def factor(step: Any, number: Any) -> Any:
        steps = number(decay_steps)
        return (1 - alpha) * _cosine(_until(number(step), steps)) + alpha

    return _decayed("cosine decay", "CosineDecay", name, learning_rate, global_step, factor, named=False)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: str | None = None,
) -> Any:
    """Cosine decay with restarts (`tf.train.cosine_decay_restarts`).

    Args:
        t_mul, m_mul: the factors by which the number of steps and the initial rate change at each restart.
        alpha: the rate at the end of each decay, as a fraction of its initial rate.
    """

    def factor(step: Any, number: Any) -> Any:
        steps, least, growth, height = (number(x) for x in (first_decay_steps, alpha, t_mul, m_mul))
        part = number(step) / steps
        if t_mul == 1.0:
            restarts = apply_one("Floor", part)
            part = part - restarts
        else:
            restarts = apply_one("Floor", apply_one("Log", 1.0 - part * (1.0 - growth)) / math.log(t_mul))
            power = apply_one("Pow", growth, restarts)
            part = (part - (1.0 - power) / (1.0 - growth)) / power
        height = apply_one("Pow", height, restarts)
        return (1 - least) * (height * _cosine(part)) + least

    return _decayed("cosine decay restarts", "SGDRDecay", name, learning_rate, global_step, factor)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """(alpha + linear) · cosine + beta, times the rate (`tf.train.linear_cosine_decay`)."""

    def factor(step: Any, number: Any) -> Any:
        steps, periods, least, added = (number(x) for x in (decay_steps, num_periods, alpha, beta))
        step = apply_one("Minimum", number(step), steps)
        left = (steps - step) / steps
        wave = _cosine(2.0 * periods * (step / steps))
        return (least + left) * wave + added

    return _decayed("linear cosine decay", "LinearCosineDecay", name, learning_rate, global_step, factor)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Linear cosine decay with decaying noise (`tf.train.noisy_linear_cosine_decay`)."""

    def factor(step: Any, number: Any) -> Any:
        given = (decay_steps, initial_variance, variance_decay, num_periods, alpha, beta)
        steps, variance, falling, periods, least, added = (number(x) for x in given)
        step = apply_one("Minimum", number(step), steps)
        left = (steps - step) / steps
        deviation = apply_one("Sqrt", variance / apply_one("Pow", 1.0 + step, falling))
        noisy = left + random_normal([], stddev=deviation, dtype=steps.dtype.base)
        wave = _cosine(2.0 * periods * (step / steps))
        return (least + noisy) * wave + added

    return _decayed(
        "noisy linear cosine decay", "NoisyLinearCosineDecay", name, learning_rate, global_step, factor
    )


def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Any:
    """values[0] up to boundaries[0], values[1] up to boundaries[1], …, then the last value
    (`tf.train.piecewise_constant`).

    Args:
        x: a scalar, such as the global step.
        boundaries: increasing numbers, one less than values.

    Raises:
        ValueError: the numbers of boundaries and values do not fit, or floating-point boundaries for an
            integer `x`.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    limits = [convert_to_tensor(b) for b in boundaries]
    choices = [convert_to_tensor(v) for v in values]
    with framework.name_scope(name or "PiecewiseConstant"):
        x = convert_to_tensor(x)
        for limit in limits:
            if limit.dtype.base != x.dtype.base and not (
                limit.dtype.base.is_integer and x.dtype.base.is_integer
            ):
                raise ValueError(
                    f"Boundaries ({limit.dtype.base}) must have the same dtype as x ({x.dtype.base})."
                )
        if any(choice.dtype.base != choices[0].dtype.base for choice in choices):
            raise ValueError("Values must have elements all with the same dtype.")
        result = choices[-1]
        for limit, choice in zip(reversed(limits), reversed(choices[:-1]), strict=True):
            below = apply_one("LessEqual", x, cast(limit, x.dtype.base))
            result = apply_one("SelectV2", below, choice, result)
        # Selections cost a step less than the nested conditionals of TensorFlow's graph.
        merged = apply_one("Identity", result, name="case/cond/Merge")
        if all(choice.dims == () for choice in choices):
            merged.set_shape([])
        return merged
