"""Positions of iterators as values that a checkpoint keeps: taken from one iterator, and set on a fresh one.

The iterator of each dataset is a `Position`. It names its attributes that say where it is; those that are
iterators themselves follow in the same way, down to the sources.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, Self

from tensorfleet.core import errors
from tensorfleet_service.threads.piles import Row

State = dict[str, Any]


class Position:
    """An iterator whose position can be saved.

    Attributes:
        PARTS: its attributes that are iterators, or lists of them, which exist from the beginning on; None
            where one has been dropped.
        STATE: its attributes that change as it goes on: numbers, elements, lists and dicts of them.
    """

    __slots__ = ()
    PARTS: ClassVar[tuple[str, ...]] = ()
    STATE: ClassVar[tuple[str, ...]] = ()

    def __iter__(self) -> Self:
        return self

    def save(self) -> State:
        """What `restore` takes."""
        saved: State = {name: plain(getattr(self, name)) for name in self.STATE}
        for name in self.PARTS:
            part = getattr(self, name)
            saved[name] = [save(one) for one in part] if isinstance(part, list) else save(part)
        return saved

    def restore(self, saved: State) -> None:
        """Puts a fresh iterator where another one was. Raises KeyError, TypeError, ValueError."""
        for name in self.STATE:
            set_state(self, name, saved[name])
        for name in self.PARTS:
            part, found = getattr(self, name), saved[name]
            if isinstance(part, list):
                # An iterator may have dropped those of its list that had ended, from its end on.
                del part[len(found) :]
                for i, state in enumerate(found):
                    if state is None:
                        part[i] = None
                    else:
                        restore(part[i], state)
            elif found is None:
                setattr(self, name, None)
            else:
                restore(part, found)


def plain(value: Any) -> Any:
    """A copy of a piece of state, which does not change when the iterator goes on."""
    if isinstance(value, deque | set | Row):
        return list(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.copy() if isinstance(value, list) else value


def set_state(owner: Any, name: str, value: Any) -> None:
    """Sets an attribute to what `plain` made of it. Raises TypeError where it is of another type."""
    kept = getattr(owner, name)
    if isinstance(kept, deque | set | Row):
        if not isinstance(value, list):
            raise TypeError(f"{name} is no list")
        value = type(kept)(value)
    elif kept is not None and value is not None and type(value) is not type(kept):
        raise TypeError(f"{name} is no {type(kept).__name__}")
    setattr(owner, name, value)


def save(items: Iterator[Any] | None) -> State | None:
    """The position of an iterator over items of a dataset.

    Raises:
        UnimplementedError: it is of a kind that cannot be put back, such as a Python generator.
    """
    if items is None:
        return None
    if isinstance(items, Position):
        return items.save()
    if inner := _inner(items):
        return {"inner": [save(one) for one in inner]}
    if hasattr(items, "__setstate__") and hasattr(items, "__length_hint__"):
        return {"left": operator.length_hint(items)}
    raise errors.UnimplementedError(
        None, None, f"The position of a dataset cannot be saved: {type(items).__name__.strip('_')} has none."
    )


def restore(items: Iterator[Any], saved: State) -> None:
    """Puts a fresh iterator where another one was. Raises KeyError, TypeError, ValueError."""
    if isinstance(items, Position):
        items.restore(saved)
    elif inner := _inner(items):
        for one, state in zip(inner, saved["inner"], strict=True):
            restore(one, state)
    else:
        done = operator.length_hint(items) - saved["left"]
        if done < 0:
            raise ValueError("it had more elements")
        items.__setstate__(done)  # type: ignore[attr-defined]


def _inner(items: Iterator[Any]) -> list[Iterator[Any]]:
    """What Python's own `map` and `zip` iterate over."""
    if isinstance(items, map):
        return list(items.__reduce__()[1][1:])
    if isinstance(items, zip):
        reduced = items.__reduce__()
        return list(reduced[1]) if isinstance(reduced, tuple) else []
    return []


def skip(items: Iterator[Any], count: int) -> None:
    """Goes on by `count` items. Raises ValueError: there are fewer."""
    if sum(1 for _ in islice(items, count)) < count:
        raise ValueError("the source has become shorter")
