"""Memory for large tensors: large pages, places in them, and when it is used again."""

from __future__ import annotations

import mmap
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorfleet.wire.buffers import LARGE_PAGE, Buffers, copied, fresh

MB = 1 << 20
SMAPS = Path("/proc/self/smaps")

asks_for_large_pages = pytest.mark.skipif(
    not hasattr(mmap, "MADV_HUGEPAGE") or not SMAPS.exists(), reason="no large pages here"
)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def flags_at(where: int) -> str:
    """The flags of the mapping with this address."""
    found = False
    for line in SMAPS.read_text().splitlines():
        bounds = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if bounds:
            found = int(bounds[1], 16) <= where < int(bounds[2], 16)
        elif found and line.startswith("VmFlags:"):
            return line
    return ""


@asks_for_large_pages
@pytest.mark.parametrize(
    ("size", "large"), [(MB + MB // 2, 1), (4 * MB, 2), (4 * MB + MB // 4, 2), (7 * MB, 4)]
)
def test_large_pages_that_are_at_least_half_full(size: int, large: int) -> None:
    array = fresh(size)
    begin = address(array) // LARGE_PAGE * LARGE_PAGE
    if not flags_at(begin):
        pytest.skip("the system does not tell the flags of mappings")
    asked = sum(" hg" in flags_at(begin + page * LARGE_PAGE) for page in range(large + 1))
    assert asked == large


def test_fresh_memory_is_writable_to_its_end() -> None:
    for size in (1, MB - 1, MB, 2 * MB, 3 * MB + 17):
        array = fresh(size)
        array[...] = 7
        assert array.nbytes == size
        assert array.flags.writeable
        assert array[-1] == 7
        assert address(array) % 16 == 0


@asks_for_large_pages
def test_arrays_begin_at_different_places_of_their_pages() -> None:
    arrays = [fresh(2 * MB) for _ in range(8)]
    assert len({address(array) % 4096 for array in arrays}) == len(arrays)


def test_no_mapping_where_there_is_none_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise OSError("no more mappings")

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert fresh(2 * MB).nbytes == 2 * MB


def test_a_buffer_is_used_again_once_nobody_has_a_view_of_it() -> None:
    pool = Buffers(64 * MB)
    view = pool.take(2 * MB).view(np.float32).reshape(2, -1)
    where = address(view)
    assert address(pool.take(2 * MB)) != where
    del view
    again = pool.take(2 * MB)
    assert address(again) == where
    pool.give_up(again.view(np.float32).base)
    assert not any(known is again for known in pool._buffers)


@pytest.mark.parametrize("shape", [(3,), (700, 800), (1 << 19,)])
def test_copies_are_contiguous_and_own_their_memory(shape: tuple[int, ...]) -> None:
    value = np.arange(np.prod(shape), dtype=np.float32).reshape(shape).T
    copy = copied(value)
    assert copy.flags.c_contiguous
    assert copy.flags.writeable
    assert not np.may_share_memory(copy, value)
    np.testing.assert_array_equal(copy, value)
    assert sys.getrefcount(copy) == sys.getrefcount(value)


def test_copies_of_objects_are_numpys() -> None:
    value = np.full(1 << 18, None)
    assert copied(value).dtype == object
