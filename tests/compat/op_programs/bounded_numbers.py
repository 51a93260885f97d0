"""Binomial numbers, normal ones between bounds, and shuffled indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

I, L, F, D = np.int32, np.int64, np.float32, np.float64  # noqa: E741
SEED = L([3, 4])
CLOSE: dict[str, Any] = {"rtol": 2e-6, "atol": 2e-7}

for _count, _p in (
    (5, 0.3),
    (9, 0.9),
    (100, 0.3),
    (1000, 0.8),
    (0, 0.5),
    (-1, 0.5),
    (9, 1),
    (5, -0.1),
    (5, 1.1),
):
    node("StatelessRandomBinomial", I([40]), SEED, D(_count), D(_p), dtype="float64")
for _dtype in ("int32", "int64", "float16", "float32", "float64"):
    node("StatelessRandomBinomial", I([3, 2, 3]), SEED, D([[1], [50]]), D([0.1, 0.5, 0.9]), dtype=_dtype)
node("StatelessRandomBinomial", L([20]), I([1, 2]), F(1e4), F(0.25), dtype="float32")
node("StatelessRandomBinomial", I([3]), SEED, D([[1], [5]]), D([0.1, 0.5, 0.9]))
node("StatelessRandomBinomial", I([3, 2]), SEED, D([1, 2, 3]), D([0.1, 0.5]))
node("StatelessRandomBinomial", I([0, 3]), SEED, D([1, 2, 3]), D(0.5))
node("StatelessRandomBinomial", I([-1]), SEED, D(1), D(0.5))


@program("StatefulRandomBinomial")
def stateful_binomial(make: Maker) -> Any:
    state = make.tf.Variable(L([5, -1, 12345]), use_resource=True)
    inputs = state.handle, L(1), I([5, 2]), F([20, 60]), F([0.2, 0.7])
    return make("StatefulRandomBinomial", *inputs, dtype="int32")


_BOUNDS = (
    *((0, 1, -2, 2), (0, 1, -0.5, 0.5), (0, 1, 3, 5), (0, 1, 3, np.inf), (2, 3, -np.inf, -20)),
    *((0, 1, -0.1, 4), (1, 2, -5, 1.5), (0, 1, 0, 10), (0, 1, 0.5, 0.6), (0, 1, -1.6, 1.6), (0, 1, -1.8, 1)),
)
for _kind in (np.float16, F, D):
    for _bounds in _BOUNDS:
        node(
            "StatelessParameterizedTruncatedNormal",
            *(I([50]), SEED, *map(_kind, _bounds)),
            settings=CLOSE if _kind is not np.float16 else {"rtol": 2e-3, "atol": 1e-3},
        )
_T = "StatelessParameterizedTruncatedNormal"
node(_T, I([5, 2, 3]), SEED, F([0, 1, 2]), F(1), F([[-1], [0]]), F(3), settings=CLOSE)
for _bounds in ((0, 1, 2, -2), (0, -1, -2, 2), (0, 1, -np.inf, np.inf), (0, 0, -1, 1)):
    node(_T, I([4]), SEED, *map(F, _bounds))
node(_T, I([4]), SEED, F(np.nan), F(1), F(-1), F(1))
node(_T, I([3]), SEED, F([0, 1, 2]), F(1), F([[-1], [0]]), F(3))
node(_T, I([0]), SEED, F(0), F(1), F(-1), F(1))
for _kind in (F, D):
    for _bounds in _BOUNDS[:6]:
        node("ParameterizedTruncatedNormal", I([50]), *map(_kind, _bounds), seed=5, seed2=6, settings=CLOSE)
node("ParameterizedTruncatedNormal", I([2, 3]), F([0, 1]), F(1), F(-1), F([1, 9]), seed=5, settings=CLOSE)
node("ParameterizedTruncatedNormal", I([2, 3]), F([0, 1, 2]), F(1), F(-1), F([1, 9]), seed=5)

_S = "RandomIndexShuffle"
node(_S, I(3), I([1, 2, 3]), I(10))
node(_S, np.arange(40), L([5, -6, 1 << 40]), L(39))
node(_S, np.arange(50, dtype=np.uint64), I([[5, 6, 7]] * 50), np.uint64(10**6), rounds=8)
node(_S, np.uint64([1, 1 << 63]), I([1, 2, 3]), np.uint64(2**64 - 1), rounds=6)
node(_S, L([1, 2]), np.uint32([[1, 2, 3], [4, 5, 6]]), L([100, 2**40]))
node(_S, np.uint32([1, 65535]), I([1, 2, 3]), np.uint32(65535))
node(_S, I([1]), I([1, 2, 3]), I(3))
node(_S, I(0), I([1, 2, 3]), I(0))
node(_S, I(5), I([1, 2, 3]), I(-1))
node(_S, I(7), I([1, 2, 3]), I(3))
node(_S, I(-7), I([1, 2, 3]), I(3))
node(_S, I([1, 2]), I([[1, 2, 3]] * 3), I(3))
node(_S, I(1), I([1, 2, 3]), I(3), rounds=64)
for _seed in (I([1, 2]), I(1), I([[[1, 2, 3]]])):
    node(_S, I(1), _seed, I(3))


@program(_S)
def shapes_that_are_not_known(make: Maker) -> Any:
    tf = make.tf
    return [
        tf.random.experimental.index_shuffle(make.fed(I(2)), make.fed(I([5, 6]), [2]), I(9)),
        make(_S, make.fed(I([2, 1])), make.fed(I([5, 6, 7])), I(9)),
    ]


@program("StatelessRandomBinomial", **CLOSE)
def functions_of_seeds(make: Maker) -> Any:
    random = make.tf.random
    return [
        random.stateless_binomial([3, 2], [1, 2], [50.0, 60.0], 0.5),
        random.stateless_binomial([2], [1, 2], 50, 0.25, output_dtype="int64"),
        random.stateless_parameterized_truncated_normal([4], [1, 2], 0.5, 2.0),
        make.tf.random_index_shuffle([0, 1, 2], [1, 2, 3], 2),
        random.experimental.index_shuffle([0, 1, 2], [1, 2], 2),
    ]


@program("StatefulRandomBinomial")
def binomial_of_a_generator(make: Maker) -> Any:
    generator = make.tf.random.Generator.from_seed(5)
    make.tf.add_to_collection("global_variables", generator.state)
    return generator.binomial([6, 1], [100.0], [0.25])
