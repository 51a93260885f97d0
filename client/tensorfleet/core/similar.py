"""Names like a misspelt one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """Such as ` Did you mean "worker"?`; empty where nothing known is like `word`.

    Args:
        prefix: of what is suggested, such as "/job:".
    """
    near = difflib.get_close_matches(word, list(known), 1)
    if not near:
        return ""
    return f" Did you mean {prefix}{near[0]}?" if prefix else f' Did you mean "{near[0]}"?'
