"""Optimization by other libraries: `tf.contrib.opt.ScipyOptimizerInterface`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tensorfleet.core import logging
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.variable_collections import trainable_variables

_Function = Callable[[Any], Any]


class ExternalOptimizerInterface:
    """The base class of interfaces with optimizers of other libraries
    (`tf.contrib.opt.ExternalOptimizerInterface`). A subclass implements `_minimize`.

    Args:
        loss: a scalar tensor.
        var_list: the variables to change, by default the trainable ones.
        equalities: scalar tensors to hold at zero.
        inequalities: scalar tensors to hold at zero or above.
        var_to_bounds: (low, high) by variable; each broadcasts to the variable's shape, and None is no bound.
        optimizer_kwargs: the optimizer's own arguments.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Any = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Any = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._vars = list(trainable_variables() if var_list is None else var_list)
        self._equalities, self._inequalities = list(equalities or []), list(inequalities or [])
        self.optimizer_kwargs = optimizer_kwargs
        self._shapes = [tuple(var.get_shape().as_list()) for var in self._vars]
        self._packed_bounds = None if var_to_bounds is None else self._bounds(var_to_bounds)
        self._placeholders = [placeholder(var.dtype.base) for var in self._vars]
        self._var_updates = [
            var.assign(reshape(value, shape))
            for var, value, shape in zip(self._vars, self._placeholders, self._shapes, strict=True)
        ]
        self._packed_var = _packed(self._vars)
        self._loss_grad = self._gradient(loss)
        self._equality_grads = [self._gradient(value) for value in self._equalities]
        self._inequality_grads = [self._gradient(value) for value in self._inequalities]
        ends = list(itertools.accumulate((math.prod(shape) for shape in self._shapes), initial=0))
        self._slices = [slice(*pair) for pair in itertools.pairwise(ends)]

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Any = None,
        step_callback: Callable[..., Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimizes the loss, and sets the variables to the result.

        Args:
            session: by default the default session.
            feed_dict: fed in each evaluation.
            fetches: tensors whose values `loss_callback` gets.
            step_callback: called after each step with all variables as one vector.
            loss_callback: called after each evaluation of the loss.
            run_kwargs: arguments of the `Session.run` that sets the variables.
        """
        session = session or get_default_session()
        feeds, extra = dict(feed_dict or {}), list(fetches or [])

        def evaluation(tensors: list[Any], callback: Callable[..., Any] | None = None) -> _Function:
            def evaluate(packed: Any) -> list[Any]:
                values = session.run(tensors + extra, {**self._unpacked(packed), **feeds})
                if callback is not None:
                    callback(*values[len(tensors) :])
                return list(values[: len(tensors)])

            return evaluate

        def single(tensors: list[Any]) -> list[_Function]:
            return [_first(evaluation([tensor])) for tensor in tensors]

        found = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=evaluation([self._loss, self._loss_grad], loss_callback),
            equality_funcs=single(self._equalities),
            equality_grad_funcs=single(self._equality_grads),
            inequality_funcs=single(self._inequalities),
            inequality_grad_funcs=single(self._inequality_grads),
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda packed: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values = [found[part] for part in self._slices]
        feed = dict(zip(self._placeholders, values, strict=True))
        session.run(self._var_updates, feed_dict=feed, **run_kwargs)

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: _Function,
        equality_funcs: list[_Function],
        equality_grad_funcs: list[_Function],
        inequality_funcs: list[_Function],
        inequality_grad_funcs: list[_Function],
        packed_bounds: Any,
        step_callback: _Function,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        raise NotImplementedError("A subclass of ExternalOptimizerInterface implements _minimize.")

    def _bounds(self, by_variable: Any) -> list[tuple[Any, Any]]:
        known = {id(var): pair for var, pair in by_variable.items()}
        result: list[tuple[Any, Any]] = []
        for var, shape in zip(self._vars, self._shapes, strict=True):
            low, high = known.get(id(var), (None, None))
            lows = np.broadcast_to(-np.inf if low is None else low, shape).ravel()
            highs = np.broadcast_to(np.inf if high is None else high, shape).ravel()
            result.extend(zip(lows, highs, strict=True))
        return result

    def _gradient(self, value: Any) -> Any:
        from tensorfleet.autodiff.gradients import gradients

        found = gradients(value, self._vars)
        return _packed(
            [
                apply_one("ZerosLike", var.read_value()) if gradient is None else gradient
                for gradient, var in zip(found, self._vars, strict=True)
            ]
        )

    def _unpacked(self, packed: Any) -> dict[Any, Any]:
        return {
            var: np.asarray(packed[part], var.dtype.base.as_numpy_dtype).reshape(shape)
            for var, part, shape in zip(self._vars, self._slices, self._shapes, strict=True)
        }


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimization by `scipy.optimize.minimize` (`tf.contrib.opt.ScipyOptimizerInterface`).

    The package scipy must be installed beside this library. The method is L-BFGS-B, unless the argument
    `method` names another; only some methods take equalities and inequalities, such as SLSQP.
    """

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: _Function,
        equality_funcs: list[_Function],
        equality_grad_funcs: list[_Function],
        inequality_funcs: list[_Function],
        inequality_grad_funcs: list[_Function],
        packed_bounds: Any,
        step_callback: _Function,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        arguments: dict[str, Any] = {
            "jac": True,
            "callback": step_callback,
            "constraints": [
                {"type": kind, "fun": function, "jac": gradient}
                for kind, functions, gradients in (
                    ("eq", equality_funcs, equality_grad_funcs),
                    ("ineq", inequality_funcs, inequality_grad_funcs),
                )
                for function, gradient in zip(functions, gradients, strict=True)
            ],
            "bounds": packed_bounds,
        }
        if "bounds" in optimizer_kwargs:
            raise ValueError("Bounds must be set using the var_to_bounds argument")
        for name in arguments.keys() & optimizer_kwargs.keys():
            raise ValueError(f"The argument {name!r} is set automatically and cannot be given.")
        arguments = {"method": "L-BFGS-B", **arguments, **optimizer_kwargs}

        def loss_and_gradient(packed: Any) -> tuple[Any, Any]:
            loss, gradient = loss_grad_func(packed)
            return loss, gradient.astype(np.float64)

        result = _scipy_minimize()(loss_and_gradient, initial_val, **arguments)
        logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n"
            "  Number of iterations: %s\n  Number of functions evaluations: %s",
            *(
                result.message,
                result.fun,
                getattr(result, "nit", "unknown"),
                getattr(result, "nfev", "unknown"),
            ),
        )
        return result["x"]


def _scipy_minimize() -> Callable[..., Any]:
    try:
        found: Callable[..., Any] = import_module("scipy.optimize").minimize
    except ImportError as e:
        raise ImportError("tf.contrib.opt.ScipyOptimizerInterface needs scipy: pip install scipy") from e
    return found


def _first(function: _Function) -> _Function:
    return lambda packed: function(packed)[0]


def _packed(values: list[Any]) -> Any:
    flat = [reshape(value, [-1]) for value in values]
    return flat[0] if len(flat) == 1 else concat(flat, 0)
