"""`tf.contrib.graph_editor.reroute`: other inputs for operations."""

import typing as _typing

from tensorfleet.contrib.graph_edits.rerouting import (
    add_control_inputs as add_control_inputs,
    remove_control_inputs as remove_control_inputs,
    reroute_inputs as reroute_inputs,
    reroute_ios as reroute_ios,
    reroute_outputs as reroute_outputs,
    reroute_ts as reroute_ts,
    swap_ts as swap_ts,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "add_control_inputs",
    "remove_control_inputs",
    "reroute_inputs",
    "reroute_ios",
    "reroute_outputs",
    "reroute_ts",
    "swap_ts",
]
