"""What looks at the outputs of each operation that this thread adds, and may give others in their place."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfleet.graph.operation import Operation
    from tensorfleet.graph.tensor import Tensor

Check = Callable[["Operation"], "list[Tensor]"]


class _Checks(threading.local):
    function: Check | None = None


CHECKS = _Checks()


def checked_outputs(op: Operation) -> list[Tensor]:
    """The outputs that whoever adds an operation goes on with."""
    function = CHECKS.function
    return op.outputs if function is None else function(op)
