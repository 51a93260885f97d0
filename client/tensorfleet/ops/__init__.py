"""The op types: signatures, shape rules, the functions that make them, and beside them their gradients.

A family is imported when a program uses a name of it; all of them, when a graph has an op type that is not
yet known.
"""

import importlib
import pkgutil

from tensorfleet.graph import op_def


def _load_families() -> None:
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        # Gradients are imported at the first `tf.gradients`; internal ops are no part of a program's graph.
        if not module.name.endswith(("_grad", ".internal")):
            importlib.import_module(module.name)


op_def.serve(_load_families)
