"""Optimizers' updates on a GPU: one launch for each variable, with the arithmetic of the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.graph.apply import apply_op
from tensorfleet_service.kernels.math.cuda_fusion import c_type, preamble
from tensorfleet_service.kernels.training.optimizer_updates import RULES
from tensorfleet_service.kernels.training.recording import NotRecorded
from tests.gpu.strict_array import Counters
from tests.gpu.strict_kernels import compiled
from tests.gpu.update_cases import OP_BY_OP, attrs_of, function, numbers_of, recorded

Gpus = Callable[..., Any]


@pytest.mark.parametrize("rule", sorted(OP_BY_OP))
def test_rules_with_masks_are_not_recorded(rule: str) -> None:
    with pytest.raises(NotRecorded):
        recorded(rule, np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", sorted(set(RULES) - OP_BY_OP))
def test_the_source_computes_what_numpy_computes(rule: str, dtype: Any) -> None:
    _, numbers = recorded(rule, dtype)
    own, outputs = RULES[rule], range(RULES[rule].variables)
    source = function(rule, dtype, "for (long i = 0; i < n; i++)")
    library = compiled("\n".join(["#include <tgmath.h>", preamble(dtype, "static"), source]))
    random = np.random.default_rng(5)
    variables = [random.uniform(0.1, 2, 1000).astype(dtype) for _ in outputs]
    gradient = random.normal(size=1000).astype(dtype)
    wanted = [v.copy() for v in variables]
    scratch = [np.empty_like(gradient) for _ in range(own.scratch)]
    with np.errstate(invalid="ignore"):  # of the root of a centered average that is below 0 here
        own.build(np, attrs_of(rule))(*numbers_of(rule, dtype))(scratch, *wanted, gradient)
    number = ctypes.c_float if dtype is np.float32 else ctypes.c_double
    arrays = [ctypes.c_void_p(a.ctypes.data) for a in (gradient, *variables)]
    call = getattr(library, f"{rule}_{c_type(dtype)}")
    call(ctypes.c_long(1000), arrays[0], *map(number, numbers), *arrays[1:])
    for found, expected in zip(variables, wanted, strict=True):
        np.testing.assert_allclose(found, expected, 1e-5 if dtype is np.float32 else 1e-13)


def test_an_update_is_one_launch(gpus: Gpus) -> None:
    machine = gpus()
    state = [tf.get_variable(n, [4, 5], initializer=tf.ones_initializer(), use_resource=True) for n in "vab"]
    numbers = [tf.constant(x) for x in (0.5, 0.5, 0.1, 0.9, 0.99, 1e-8)]
    gradient = tf.constant(np.full((4, 5), 0.5, np.float32))
    update = apply_op("ResourceApplyAdam", *(v.handle for v in state), *numbers, gradient)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        machine.counters = Counters()
        session.run(update)
        assert (machine.counters.kernels, machine.counters.to_device) == (1, [])


def test_a_gradient_that_is_the_variable_itself(gpus: Gpus) -> None:
    gpus()
    v = tf.get_variable("v", [3], initializer=tf.constant_initializer([1.0, 2.0, 3.0]), use_resource=True)
    handle = v.handle
    update = apply_op("ResourceApplyGradientDescent", handle, tf.constant(0.5), v.read_value())
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(update)
        np.testing.assert_allclose(session.run(v), [0.5, 1, 1.5])
