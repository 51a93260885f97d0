"""Random numbers of a generator whose state is a variable, and of stateless distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

I = np.int32  # noqa: E741
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}
STATE = np.int64([5, -1, 12345])


def _after(make: Maker, state: Any, outputs: Any) -> Any:
    with make.tf.control_dependencies([t for t in outputs if hasattr(t, "op")]):
        return make.tf.identity(state.read_value())


def _draw(name: str, dtype: str, *bounds: Any) -> None:
    def made(make: Maker) -> Any:
        state = make.tf.Variable(STATE, use_resource=True)
        found = (
            make(name, state.handle, np.int64(1), I([7, 3]), *bounds, dtype=dtype)
            if not bounds
            else make(name, state.handle, np.int64(1), I([7, 3]), *bounds)
        )
        return found, _after(make, state, [found])

    made.__name__ = f"{name}_{dtype}"
    program(name, **CLOSE)(made)


for _dtype in ("float16", "float32", "float64", "bfloat16"):
    for _name in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"):
        _draw(_name, _dtype)
for _dtype in ("int32", "int64", "uint32", "uint64"):
    _draw("StatefulUniformFullInt", _dtype)
for _dtype in ("int32", "int64"):
    _draw("StatefulUniformInt", _dtype, np.dtype(_dtype).type(-5), np.dtype(_dtype).type(100))


@program("RngReadAndSkip", "RngSkip")
def reads_and_skips(make: Maker) -> Any:
    state = make.tf.Variable(STATE, use_resource=True)
    first = make("RngReadAndSkip", state.handle, I(1), np.uint64(3))
    with make.tf.control_dependencies([first]):
        skipped = make("RngSkip", state.handle, np.int64(1), np.int64(1 << 60))
    with make.tf.control_dependencies([skipped]):
        return first, make("RngReadAndSkip", state.handle, I(1), np.uint64(0))


@program("RngReadAndSkip")
def state_that_is_too_short(make: Maker) -> Any:
    state = make.tf.Variable(STATE[:2], use_resource=True)
    return make("RngReadAndSkip", state.handle, I(1), np.uint64(3))


@program("RngReadAndSkip")
def another_algorithm(make: Maker) -> Any:
    state = make.tf.Variable(STATE, use_resource=True)
    return make("RngReadAndSkip", state.handle, I(2), np.uint64(3))


@program("StatefulUniform")
def state_of_another_dtype(make: Maker) -> Any:
    state = make.tf.Variable(STATE.astype(I), use_resource=True)
    return make("StatefulUniform", state.handle, np.int64(1), I([2]))


@program("NonDeterministicInts")
def any_integers(make: Maker) -> Any:
    return make.tf.shape(make("NonDeterministicInts", I([2, 3]), dtype="int32"))


SEED = np.int64([3, 4])
KEY, COUNTER = np.uint64([77]), np.uint64([5, 6])
for _dtype in (np.float32, np.float64):
    for _alpha in (_dtype(0.5), _dtype([0.3, 1.5, 8]), _dtype([[1], [2]])):
        _shape = I([4, 2, 3])[: 3 if _alpha.shape != (2, 1) else 2]
        _shape = I([4, 2, 1]) if _alpha.shape == (2, 1) else _shape
        node("StatelessRandomGammaV2", _shape, SEED, _alpha, settings=CLOSE)
        node("StatelessRandomGammaV3", _shape, KEY, COUNTER, I(1), _alpha, settings=CLOSE)
        node("StatelessRandomPoisson", _shape, SEED, _alpha * 4, dtype="int32")
node("StatelessRandomGammaV2", I([4, 2]), SEED, np.float32([1, 2, 3]))
node("StatelessRandomPoisson", I([3]), SEED, np.float64([2.0, 50, 1e3]), dtype="int64")
node("StatelessShuffle", np.arange(24).reshape(12, 2), KEY, COUNTER, I(1))


@program("StatelessRandomGammaV2", **CLOSE)
def gradient_of_stateless_gamma(make: Maker) -> Any:
    alpha = make.tf.constant([0.5, 2.0, 3.0])
    y = make("StatelessRandomGammaV2", I([4, 2, 3]), SEED, alpha)
    return make.tf.gradients(y**2, alpha)
