"""Random kernels: distributions, reproducibility, and the Philox stream's published test vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.registry import make_kernel
from tensorfleet_service.state import philox
from tests.kernels.harness import make_node, run_op

MANY = np.array([40_000], np.int32)


@pytest.mark.parametrize(
    ("key", "counter", "numbers"),
    [
        (0, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (2**64 - 1, 2**128 - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            0x299F31D0A4093822,
            0x0370734413198A2E85A308D3243F6A88,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_vectors(key: int, counter: int, numbers: list[int]) -> None:
    """The known answers of the Random123 library for philox4x32 with ten rounds."""
    assert philox.Stream(key, counter).numbers(1)[0].tolist() == numbers


def test_counters_carry_over() -> None:
    start = philox.Stream(1, 2**64 - 2)
    expected = [philox.Stream(1, 2**64 - 2 + i).numbers(1)[0].tolist() for i in range(4)]
    assert start.numbers(4).tolist() == expected
    assert start.at(np.array([3, 0])).tolist() == [expected[3], expected[0]]


@pytest.mark.parametrize("seeds", [{}, {"seed": 1, "seed2": 2}], ids=["system", "seeded"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("op_type", "low", "high", "mean", "deviation"),
    [
        ("RandomUniform", 0, 1, 0.5, 12**-0.5),
        ("RandomStandardNormal", -7, 7, 0, 1),
        ("TruncatedNormal", -2.01, 2.01, 0, 0.8796),
    ],
)
def test_distributions(
    op_type: str, dtype: str, seeds: dict[str, int], low: float, high: float, mean: float, deviation: float
) -> None:
    values = run_op(op_type, MANY, dtype=dtype, **seeds).astype(np.float64)
    assert values.shape == (40_000,)
    assert low <= values.min()
    assert values.max() < high
    # Forty thousand samples: six standard errors, and bfloat16's own grain.
    assert abs(values.mean() - mean) < 0.03
    assert abs(values.std() - deviation) < 0.03


def runs(op_type: str, *inputs: Any, **attrs: Any) -> list[Any]:
    node, values = make_node(op_type, *inputs, **attrs)
    kernel = make_kernel(node)
    assert callable(kernel)
    return [np.asarray(kernel(*values)) for _ in range(2)]


def test_runs_of_a_seeded_kernel_go_on_and_begin_again_with_it() -> None:
    first, second = runs("RandomUniform", MANY, dtype="float32", seed=7)
    again, _ = runs("RandomUniform", MANY, dtype="float32", seed=7)
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()


def test_kernels_without_a_seed_differ() -> None:
    first, second = runs("RandomUniform", MANY, dtype="float32")
    other, _ = runs("RandomUniform", MANY, dtype="float32")
    assert (first != second).any()
    assert (first != other).any()


@pytest.mark.parametrize("op_type", ["RandomGamma", "RandomPoissonV2"])
def test_rates(op_type: str) -> None:
    rates = np.float32([1, 4])
    attrs: dict[str, Any] = {"seed": 3} | ({"dtype": "float32"} if op_type == "RandomPoissonV2" else {})
    (first, _), (again, _) = runs(op_type, MANY, rates, **attrs), runs(op_type, MANY, rates, **attrs)
    np.testing.assert_array_equal(first, again)
    assert first.shape == (40_000, 2)
    np.testing.assert_allclose(first.mean(axis=0), rates, atol=0.1)


@pytest.mark.parametrize("seeds", [{}, {"seed": 1}])
@pytest.mark.parametrize(
    ("rate", "dtype", "expected"),
    [
        (1e306, "float64", 1e306),  # whose factorial has no logarithm of float64
        (1e30, "int32", 2**31 - 1),
        (1e5, "float16", 65504.0),
        (np.inf, "float64", np.inf),
    ],
)
def test_rates_beyond_all_numbers_end(
    rate: float, dtype: str, expected: float, seeds: dict[str, int]
) -> None:
    first, _ = runs("RandomPoissonV2", [3], np.float64([rate]), dtype=dtype, **seeds)
    np.testing.assert_allclose(first[:, 0], [expected] * 3)


@pytest.mark.parametrize("seeds", [{}, {"seed": 1}])
def test_shuffles_are_permutations(seeds: dict[str, int]) -> None:
    rows = np.arange(40).reshape(20, 2)
    shuffled = run_op("RandomShuffle", rows, **seeds)
    assert (shuffled != rows).any()
    np.testing.assert_array_equal(shuffled[np.argsort(shuffled[:, 0])], rows)
    assert run_op("RandomShuffle", np.zeros((0, 3), np.float32), **seeds).shape == (0, 3)
    words = np.array([b"a", b"b"], object)
    assert sorted(run_op("RandomShuffle", words, **seeds)) == [b"a", b"b"]


def test_multinomial_follows_the_probabilities() -> None:
    logits = np.log(np.float32([[0.1, 0.2, 0.7], [1, 1e-30, 1e-30]]))
    drawn = run_op("Multinomial", logits, np.int32(20_000), output_dtype="int32")
    np.testing.assert_allclose(np.bincount(drawn[0], minlength=3) / 20_000, [0.1, 0.2, 0.7], atol=0.02)
    assert (drawn[1] == 0).all()


@pytest.mark.parametrize("seeds", [{}, {"seed": 1}])
def test_integers_fill_their_interval(seeds: dict[str, int]) -> None:
    drawn = run_op("RandomUniformInt", MANY, np.int64(-3), np.int64(4), **seeds)
    assert sorted(set(drawn.tolist())) == [-3, -2, -1, 0, 1, 2, 3]
    assert run_op("RandomUniformInt", np.int32([0]), np.int32(3), np.int32(3), **seeds).shape == (0,)


@pytest.mark.parametrize("shape", [[], [0], [3, 0, 2], [1]])
@pytest.mark.parametrize("seeds", [{}, {"seed": 1}])
def test_shapes(shape: list[int], seeds: dict[str, int]) -> None:
    for op_type in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
        assert run_op(op_type, np.array(shape, np.int32), dtype=dtypes.float32, **seeds).shape == tuple(shape)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs", "message"),
    [
        ("RandomUniform", ([-1],), {"dtype": "float32"}, "Dimension -1 must be >= 0"),
        ("RandomUniformInt", ([2], 3, 2), {"Tout": "int32"}, "Need minval < maxval, got 3 >= 2"),
        ("Multinomial", (np.float32([1]), 3), {}, r"logits should be a matrix, got shape \[1\]"),
        (
            "StatelessRandomUniform",
            (np.int32([2]), np.int64([1])),
            {},
            r"seed must have shape \[2\], not \[1\]",
        ),
    ],
)
def test_errors(op_type: str, inputs: tuple[Any, ...], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        run_op(op_type, *inputs, **attrs)
