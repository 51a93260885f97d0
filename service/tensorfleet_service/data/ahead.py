"""Elements made in the background before they are asked for: prefetch, and parallel maps.

No thread stands by for them: a job on the pool makes elements until the buffer is full, and whoever takes
from the buffer starts another one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.core import errors
from tensorfleet_service.data.dataset import Dataset, Element, Run, closed_error
from tensorfleet_service.data.position import Position, State, restore, save
from tensorfleet_service.data.sequence import Sequence
from tensorfleet_service.threads.future import PENDING

AUTOTUNE = -1
AUTOTUNED_BUFFER = 8
"""Number of elements made ahead for AUTOTUNE."""

MOST_JOBS = 128
"""Limit on the jobs of one iterator, each of which may have a thread: their number comes from a graph."""


class Prefetch(Sequence):
    """The input, made ahead of its use (`PrefetchDataset`).

    Raises:
        InvalidArgumentError: the buffer's size is negative, and not AUTOTUNE.
    """

    def __init__(self, source: Dataset, size: int) -> None:
        super().__init__(source)
        if size < AUTOTUNE:
            raise errors.InvalidArgumentError(
                None, None, "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"
            )
        self._size = AUTOTUNED_BUFFER if size == AUTOTUNE else size
        self.blocks = self.blocks or self._size > 0

    def items(self, run: Run) -> Iterator[Any]:
        items = self.source.items(run)
        return items if not self._size else Ahead(run, items, self._size, 1, None)


class _Slot:
    """The place of an element in the buffer."""

    __slots__ = ("error", "ready", "value")

    def __init__(self) -> None:
        self.ready = False
        self.value: Any = None
        self.error: BaseException | None = None


class Ahead(Position):
    """An iterator whose elements are made in the background, in order.

    Args:
        items: the input, used by one thread at a time.
        size: the number of elements that may be in the buffer.
        width: the number of jobs that make them, if that is no more than `MOST_JOBS`.
        call: the function that makes an element of an item; None: items are elements.
    """

    def __init__(
        self,
        run: Run,
        items: Iterator[Any],
        size: int,
        width: int,
        call: Callable[[Any], Element] | None,
    ) -> None:
        self._run = run
        self._items = items
        self._size = size
        self._width = min(width, MOST_JOBS)
        self._call = call
        self._input = threading.Lock()  # held by the job that reads the input
        self._changed = threading.Condition()
        self._slots: deque[_Slot] = deque()
        self._tasks = 0
        self._ended = False
        self._closed = False
        self._listener: Callable[[], None] | None = None
        run.open(self)

    def save(self) -> State:
        # Nobody reads the input meanwhile, and the jobs that make elements of what was read have ended.
        with self._input:
            with self._changed:
                while not (self._closed or all(slot.ready for slot in self._slots)):
                    self._changed.wait()
                if self._closed:
                    raise closed_error()
                made = [slot.value if slot.error is None else slot.error for slot in self._slots]
                ended = self._ended
            return {"made": made, "ended": ended, "items": save(self._items)}

    def restore(self, saved: State) -> None:
        restore(self._items, saved["items"])
        with self._changed:
            self._ended = bool(saved["ended"])
            for value in saved["made"]:
                slot = _Slot()
                slot.ready = True
                if isinstance(value, BaseException):
                    slot.error = value
                else:
                    slot.value = value
                self._slots.append(slot)

    def __next__(self) -> Any:
        while True:
            with self._changed:
                slot = self._take()
                if slot is None and self._slots:
                    # The wait ends: the jobs that are at work bring an element, an error, or the end.
                    self._changed.wait()
                    continue
            if slot is not None:
                return self._open(slot)
            self._help()

    def _help(self) -> None:
        """Makes the next element on the thread that wants it: a wake-up would cost more."""
        if not self._input.acquire(blocking=False):
            with self._changed:
                if not (self._slots or self._ended or self._closed):
                    self._changed.wait()
            return
        try:
            with self._changed:
                is_empty = not (self._slots or self._ended or self._closed)
            slot = self._pull() if is_empty else None
        finally:
            self._input.release()
        if slot is not None:
            self._fill(slot)

    def poll(self, listener: Callable[[], None] | None) -> Any:
        """The next element, or PENDING: then `listener` is called, by the thread that made it, when it may be
        there.

        Raises as `__next__` does.
        """
        with self._changed:
            slot = self._take()
            if slot is None:
                if not self._tasks:
                    self._run.pool.check_room()
                self._listener = listener
                return PENDING
        return self._open(slot)

    def _open(self, slot: _Slot) -> Any:
        if slot.error is not None:
            raise slot.error
        return slot.value

    def _take(self) -> _Slot | None:
        """The first slot, if it is ready; under the lock."""
        if self._closed:
            raise closed_error()
        slots = self._slots
        found = None
        if slots and slots[0].ready:
            found = slots.popleft()
        elif not slots and self._ended:
            raise StopIteration
        # A job that has ended is started again for half a buffer, not for each element, as a start costs more
        # than most elements. But where somebody waits for an element, all jobs are at work.
        is_due = found is None or len(slots) <= self._size // 2
        if is_due and not self._ended and self._tasks < self._width:
            for _ in range(min(self._width - self._tasks, self._size - len(slots))):
                if not self._run.pool.has_room:
                    break  # whoever takes the next element makes it
                self._tasks += 1
                self._run.pool.submit(self._work)
        return found

    def _work(self) -> None:
        """Makes elements until there is no room for more."""
        while True:
            with self._input:
                with self._changed:
                    if self._closed or self._ended or len(self._slots) >= self._size:
                        self._tasks -= 1
                        return
                slot = self._pull()
            if slot is not None:
                self._fill(slot)

    def _pull(self) -> _Slot | None:
        """Takes the next item of the input into the buffer, or notes the end; under the input's lock."""
        slot = _Slot()
        try:
            slot.value = next(self._items)
        except StopIteration:
            with self._changed:
                self._ended = True
            self._tell()
            return None
        except Exception as e:
            slot.error = e
        with self._changed:
            self._slots.append(slot)
        return slot

    def _fill(self, slot: _Slot) -> None:
        """Makes an element of the item that was taken."""
        if self._call is not None and slot.error is None:
            try:
                slot.value = self._call(slot.value)
            except StopIteration as e:
                slot.error = e
                with self._changed:
                    self._ended = True
            except Exception as e:
                slot.error = e
        slot.ready = True
        self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()
            listener, self._listener = self._listener, None
        if listener is not None:
            listener()

    def close(self) -> None:
        """Stops making elements; those who wait for one get an error."""
        with self._changed:
            self._closed = True
            self._slots.clear()
        self._tell()
