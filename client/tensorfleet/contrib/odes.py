"""`tf.contrib.integrate`: ordinary differential equations by Runge and Kutta's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, range as range_of
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.arithmetic import maximum, minimum, pow as pow_of
from tensorfleet.ops.math.comparison import logical_or, not_equal
from tensorfleet.ops.math.elementwise import abs as abs_of, sign, sqrt, square
from tensorfleet.ops.math.reduction import reduce_mean

# Dormand and Prince's method of orders 5 and 4, and of the error; the last weights are those of the middle of
# the step.
_ALPHA = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_BETA = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    *(35 / 384 - 1951 / 21600, 0, 500 / 1113 - 22642 / 50085, 125 / 192 - 451 / 720),
    *(-2187 / 6784 + 12231 / 42400, 11 / 84 - 649 / 6300, -1.0 / 60.0),
)
_MIDDLE = (
    *(6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2, -2691868925 / 45128329728 / 2),
    *(187940372067 / 1594534317056 / 2, -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2),
)


def _combined(weights: Any, values: Any, factor: Any) -> Any:
    return add_n([factor * (weight * value) for weight, value in zip(weights, values, strict=True) if weight])


def odeint(
    func: Callable[[Any, Any], Any],
    y0: Any,
    t: Any,
    rtol: float = 1e-6,
    atol: float = 1e-12,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """The solution of dy/dt = func(y, t) at some times (`tf.contrib.integrate.odeint`).

    Args:
        func: a function of the state and the time.
        y0: the state at the first time.
        t: the times `[n]`, increasing or decreasing, of a floating-point dtype.
        rtol, atol: how large the error of a step may be, relative to the state and beside that.
        method: "dopri5", Dormand and Prince's, the only one.
        options: `first_step`, `safety`, `ifactor`, `dfactor`, `max_num_steps`.
        full_output: whether to return information too: the numbers of evaluations and of steps.

    Returns:
        `[n, …]`, the states.

    Raises:
        ValueError: another method, or an unknown option.
    """
    if method is not None and method != "dopri5":
        raise ValueError(f"invalid method: {method!r}")
    settings = {"first_step": None, "safety": 0.9, "ifactor": 10.0, "dfactor": 0.2, "max_num_steps": 1000}
    if unknown := set(options or {}) - set(settings):
        raise ValueError(f"unknown options: {sorted(unknown)}")
    settings.update(options or {})
    with framework.name_scope(name, "odeint", [y0, t, rtol, atol]):
        y0, t = convert_to_tensor(y0, name="y0"), convert_to_tensor(t, name="t")
        if not (t.dtype.is_floating):
            raise TypeError(f"`t` must have a floating point Tensor but is a Tensor with type {t.dtype}")
        states, steps = _dopri5(func, y0, t, rtol, atol, settings)
        if full_output:
            return states, {"num_func_evals": 6 * steps + 1, "integrate_points": steps}
        return states


def _dopri5(
    func: Any, y0: Any, t: Any, rtol: float, atol: float, settings: dict[str, Any]
) -> tuple[Any, Any]:
    times = t.dtype
    count = shape(t)[0]
    real = y0.dtype.real_dtype if y0.dtype.is_complex else y0.dtype

    def as_state(value: Any) -> Any:
        return cast(value, y0.dtype)

    def step(y: Any, slope: Any, at: Any, dt: Any) -> tuple[Any, Any, Any, Any]:
        """The next state, its slope, the error and the middle."""
        slopes, new = [slope], y
        for alpha, beta in zip(_ALPHA, _BETA, strict=True):
            new = y + _combined(beta, slopes, as_state(dt))
            slopes.append(func(new, at + cast(alpha, times) * dt))
        error = _combined(_ERROR, slopes, as_state(dt))
        middle = y + _combined(_MIDDLE, slopes, as_state(dt))
        return new, slopes[-1], error, middle

    def ratio_of(error: Any, y: Any, new: Any) -> Any:
        """The error relative to what is allowed: 1 or less is accepted."""
        allowed = atol + rtol * maximum(cast(abs_of(y), real), cast(abs_of(new), real))
        return cast(sqrt(reduce_mean(square(cast(abs_of(error), real) / allowed))), times)

    def next_dt(dt: Any, ratio: Any) -> Any:
        safe = maximum(ratio, cast(1e-12, times))
        factor = cast(settings["safety"], times) / pow_of(safe, cast(0.2, times))
        least = where_v2(ratio < 1.0, ones_like(ratio), cast(settings["dfactor"], times) * ones_like(ratio))
        return dt * minimum(cast(settings["ifactor"], times), maximum(factor, least))

    first = func(y0, t[0])
    direction = sign(t[count - 1] - t[0])
    if settings["first_step"] is not None:
        dt = direction * cast(settings["first_step"], times)
    else:
        scale = atol + cast(abs_of(y0), real) * rtol
        d0 = sqrt(reduce_mean(square(cast(abs_of(y0), real) / scale)))
        d1 = sqrt(reduce_mean(square(cast(abs_of(first), real) / scale)))
        dt = where_v2(logical_or(d0 < 1e-5, d1 < 1e-5), 1e-6 * ones_like(d0), 0.01 * d0 / d1)
        dt = direction * cast(dt, times)
    found = TensorArray(y0.dtype, size=count, element_shape=y0.shape).write(0, y0)

    def interpolated(at: Any, old: Any) -> Any:
        """The state at a time in the last step, by the polynomial of degree 4 through what is known."""
        before, after, y, new, middle, slope, new_slope = old
        h = as_state(after - before)
        x = as_state((at - before) / (after - before))
        a = 2 * h * (new_slope - slope) - 8 * (new + y) + 16 * middle
        b = h * (5 * slope - 3 * new_slope) + 18 * y + 14 * new - 32 * middle
        c = h * (new_slope - 4 * slope) - 11 * y - 5 * new + 16 * middle
        return y + x * (h * slope + x * (c + x * (b + x * a)))

    def until(target: Any, steps: Any, dt: Any, old: Any) -> Any:
        def going(steps: Any, dt: Any, *old: Any) -> Any:
            return direction * (target - old[1]) > 0

        def body(steps: Any, dt: Any, *old: Any) -> Any:
            _, at, _, y, _, _, slope = old
            limit = Assert(steps < settings["max_num_steps"], ["max_num_steps exceeded"])
            moving = Assert(not_equal(at + dt, at), ["underflow in dt"])
            with framework.control_dependencies([limit, moving]):
                new, new_slope, error, middle = step(y, slope, at, dt)
            ratio = ratio_of(error, y, new)
            accepted = ratio <= 1
            taken = (at, at + dt, y, new, middle, slope, new_slope)
            kept = tuple(where_v2(accepted, a, b) for a, b in zip(taken, old, strict=True))
            return (steps + 1, next_dt(dt, ratio), *kept)

        return while_loop(going, body, [steps, dt, *old])

    def point(i: Any, steps: Any, dt: Any, found: Any, *old: Any) -> Any:
        steps, dt, *new = until(t[i], steps, dt, old)
        return (i + 1, steps, dt, found.write(i, interpolated(t[i], new)), *new)

    start = (t[0], t[0], y0, y0, y0, first, first)
    result = while_loop(lambda i, *rest: i < count, point, [constant(1), constant(0), dt, found, *start])
    return result[3].stack(), result[1]


def odeint_fixed(
    func: Callable[[Any, Any], Any],
    y0: Any,
    t: Any,
    dt: Any = None,
    method: str = "rk4",
    name: str | None = None,
) -> Any:
    """The solution of dy/dt = func(y, t), with one step between each two times
    (`tf.contrib.integrate.odeint_fixed`).

    Args:
        t: the times `[n]`; or with `dt` the begin and the end of the times.
        method: "midpoint" or "rk4".

    Returns:
        `[n, …]`, the states.
    """
    if method not in ("midpoint", "rk4"):
        raise ValueError(f"method not supported: {method!r}")
    with framework.name_scope(name, "odeint_fixed", [y0, t, dt]):
        y0, t = convert_to_tensor(y0, name="y0"), convert_to_tensor(t, name="t")
        if dt is not None:
            t = range_of(t[0], t[1], dt)
        count = shape(t)[0]

        def body(i: Any, y: Any, found: Any) -> Any:
            at, h = t[i], t[i + 1] - t[i]
            step = cast(h, y0.dtype)
            k1 = func(y, at)
            k2 = func(y + step * k1 / 2, at + h / 2)
            if method == "midpoint":
                y = y + step * k2
            else:
                k3 = func(y + step * k2 / 2, at + h / 2)
                k4 = func(y + step * k3, at + h)
                y = y + step * (k1 + 2 * k2 + 2 * k3 + k4) / 6
            return i + 1, y, found.write(i + 1, y)

        found = TensorArray(y0.dtype, size=count, element_shape=y0.shape).write(0, y0)
        return while_loop(lambda i, y, found: i < count - 1, body, [constant(0), y0, found])[2].stack()
