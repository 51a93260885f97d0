"""DEAD: stands for the value of an op that does not run because its branch was not taken."""

from __future__ import annotations

from typing import Any


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


DEAD: Any = _Dead()
