"""Names that mean one thing in `tf.linalg` and another in `tf`: `tf.linalg.diag` is `tf.matrix_diag`."""

from __future__ import annotations

from tensorfleet.ops.linalg.matrix_parts import matrix_diag as diag  # noqa: F401
from tensorfleet.ops.linalg.matrix_parts import matrix_diag_part as diag_part  # noqa: F401

__all__: list[str] = []
NAMESPACES = {"linalg": ["diag", "diag_part"]}
