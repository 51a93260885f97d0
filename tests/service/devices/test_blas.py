"""Matrix products: the library's buffers are used once at a process's start, large products are divided."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import blas

FAULTS = """
import resource, sys
import numpy as np
from tensorfleet_service.devices import blas

if sys.argv[1] == "cold":
    blas.warm_up = lambda: None
if not blas.limit_threads():
    print("other library")
    sys.exit()
worst = 0
for m, k, n in (64, 64, 64), (100, 784, 100), (256, 256, 256), (320, 320, 320), (256, 256, 400):
    a, b, out = np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.ones((m, n), np.float32)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    np.matmul(a, b, out=out)
    worst = max(worst, resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
print(worst)
"""


def page_faults(how: str) -> int:
    """The most page faults of one of the first products of a process."""
    command = [sys.executable, "-c", FAULTS, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    if done.stdout.startswith("other"):
        pytest.skip("NumPy's products are not OpenBLAS's")
    return int(done.stdout)


def test_the_first_products_find_the_librarys_buffer_in_memory() -> None:
    assert page_faults("cold") > 20
    assert page_faults("warm") <= 4  # the interpreter's own


def test_as_many_threads_warm_up_as_will_make_products(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    matmul = np.matmul

    def multiply(*operands: Any, **rest: Any) -> Any:
        threads.append(threading.get_ident())
        return matmul(*operands, **rest)

    monkeypatch.setattr(blas.np, "matmul", multiply)
    monkeypatch.setattr(blas, "thread_count", lambda: 5)
    blas.warm_up()
    assert len(set(threads)) == 5


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The parts into which work is divided; products are large from a few thousand multiplications on."""
    seen: list[Any] = []

    def in_parallel(function: Any, ranges: Any) -> None:
        seen.extend(ranges)
        for part in ranges:
            function(part)

    monkeypatch.setattr(blas, "in_parallel", in_parallel)
    monkeypatch.setattr(blas, "thread_count", lambda: 4)
    monkeypatch.setattr(blas, "limit_threads", lambda: True)
    monkeypatch.setattr(blas, "LARGE_PRODUCT", 1 << 12)
    monkeypatch.setattr(blas, "LEAST_PART", 1 << 11)
    return seen


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((6, 20, 30), (6, 30, 10)),
        ((6, 20, 30), (30, 10)),
        ((20, 30), (6, 30, 10)),
        ((6, 1, 20, 30), (5, 30, 10)),
        ((2, 3, 20, 30), (1, 3, 30, 10)),
    ],
)
def test_batches_of_products_are_divided(left: Any, right: Any, parts: list[Any]) -> None:
    generator = np.random.default_rng(0)
    a = generator.standard_normal(left).astype(np.float32)
    b = generator.standard_normal(right).astype(np.float32)
    np.testing.assert_array_equal(blas.batch_product(a, b), np.matmul(a, b))
    assert len(parts) > 1


def test_small_batches_and_wrong_ones_are_numpys(parts: list[Any]) -> None:
    a = np.ones((3, 4, 5), np.float32)
    np.testing.assert_array_equal(blas.batch_product(a, a.swapaxes(1, 2)), np.full((3, 4, 4), 5.0))
    for wrong in (np.ones((3, 40, 50), np.float32), np.ones((4, 50, 40), np.float32)):
        with pytest.raises(ValueError, match="mismatch"):
            blas.batch_product(np.ones((3, 40, 50), np.float32), wrong)
    assert parts == []


def test_parts_of_a_product_are_large_enough_to_pay(parts: list[Any]) -> None:
    a, b = np.ones((16, 16), np.float32), np.ones((16, 24), np.float32)
    np.testing.assert_array_equal(blas.large_product(a, b), np.full((16, 24), 16.0))
    assert len(parts) == 16 * 16 * 24 // blas.LEAST_PART
