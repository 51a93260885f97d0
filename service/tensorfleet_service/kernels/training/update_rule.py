"""The form of an optimizer's update.

A rule is built in three steps, so that each thing is computed as seldom as possible: `build(xp, attrs)` once
for a node, the function it returns once a step with the step's numbers (learning rate, …, in the op's order),
and what that returns for each block: `update(temporaries, *variables, gradient)`, which changes the variables
in place and may write to the temporaries, but not to the gradient.

Numbers come with the variables' dtype, and so do the results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Update = Callable[..., None]
Prepare = Callable[..., Update]
Build = Callable[[Any, dict[str, Any]], Prepare]


@dataclass(frozen=True, slots=True)
class Rule:
    """The update of one optimizer, with its numbers of variables and temporaries."""

    variables: int
    scratch: int
    build: Build
