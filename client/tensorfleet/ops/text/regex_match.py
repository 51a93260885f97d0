"""Strings that a regular expression matches."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import unchanged

op("RegexFullMatch(input: string, pattern: string) -> (output: bool)", shape=unchanged)
op("StaticRegexFullMatch(input: string) -> (output: bool)", "pattern: string", shape=unchanged)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Which strings a pattern matches as a whole: bool, in their shape (`tf.strings.regex_full_match`).

    Args:
        pattern: a regular expression of RE2, as text or as a string tensor.

    Raises:
        InvalidArgumentError: in a run, the pattern is none.

    Example:
        >>> tf.Session().run(tf.strings.regex_full_match(["a1", "b"], "[a-z][0-9]"))
        array([ True, False])
    """
    if isinstance(pattern, str):
        return apply_one("StaticRegexFullMatch", input, pattern=pattern, name=name)
    return apply_one("RegexFullMatch", input, pattern, name=name)
