"""Directories of tests, and attributes that a test replaces for a while."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from typing import Any


@cache
def get_temp_dir() -> str:
    """A directory for this process's files, which is removed at its end (`tf.test.get_temp_dir`).

    It lies in the directory of the environment variable TEST_TMPDIR, if that is set.
    """
    parent = os.environ.get("TEST_TMPDIR")
    if parent:
        os.makedirs(parent, exist_ok=True)
    made = tempfile.mkdtemp(prefix="tensorfleet-test-", dir=parent or None)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def test_src_dir_path(relative_path: str) -> str:
    """A path in the directory of the tests' sources (`tf.test.test_src_dir_path`).

    That is the environment variable TEST_SRCDIR, or else the working directory.
    """
    return os.path.join(os.environ.get("TEST_SRCDIR") or os.getcwd(), relative_path)


# What is named test… is a test to those who collect them.
test_src_dir_path.__test__ = False  # type: ignore[attr-defined]


class StubOutForTesting:
    """Replaces attributes, and puts back what was there (`tf.test.StubOutForTesting`).

    In a `with` statement the attributes are put back at its end.
    """

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *unused: object) -> None:
        self.CleanUp()

    def __del__(self) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Puts back all that was replaced."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replaces an attribute where it is: in the object, or in one of its classes.

        Raises:
            AttributeError: there is no such attribute.
        """
        places = [obj, *(getattr(obj, "__mro__", ()) if isinstance(obj, type) else ())]
        place = next((place for place in places if attr_name in vars(place)), None)
        if place is None:
            raise AttributeError(f"{obj!r} has no attribute {attr_name!r} of its own")
        self.Set(place, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Puts back all that was replaced."""
        self.UnsetAll()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replaces an attribute of an object, module or class.

        Raises:
            AttributeError: there is no such attribute.
        """
        old = vars(parent)[child_name] if child_name in vars(parent) else getattr(parent, child_name)
        self._replaced.append((parent, child_name, old))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Puts back all that was replaced, the latest first."""
        while self._replaced:
            parent, name, old = self._replaced.pop()
            setattr(parent, name, old)
