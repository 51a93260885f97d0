"""`tf.contrib.graph_editor.select`: operations and tensors, chosen by walks and by names."""

import typing as _typing

from tensorfleet.contrib.graph_edits.choosing import (
    can_be_regex as can_be_regex,
    compute_boundary_ts as compute_boundary_ts,
    filter_ops as filter_ops,
    filter_ops_from_regex as filter_ops_from_regex,
    filter_ts as filter_ts,
    filter_ts_from_regex as filter_ts_from_regex,
    get_backward_walk_ops as get_backward_walk_ops,
    get_forward_walk_ops as get_forward_walk_ops,
    get_name_scope_ops as get_name_scope_ops,
    get_ops_ios as get_ops_ios,
    get_walks_intersection_ops as get_walks_intersection_ops,
    get_walks_union_ops as get_walks_union_ops,
    get_within_boundary_ops as get_within_boundary_ops,
    make_regex as make_regex,
    select_ops as select_ops,
    select_ops_and_ts as select_ops_and_ts,
    select_ts as select_ts,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "can_be_regex",
    "compute_boundary_ts",
    "filter_ops",
    "filter_ops_from_regex",
    "filter_ts",
    "filter_ts_from_regex",
    "get_backward_walk_ops",
    "get_forward_walk_ops",
    "get_name_scope_ops",
    "get_ops_ios",
    "get_walks_intersection_ops",
    "get_walks_union_ops",
    "get_within_boundary_ops",
    "make_regex",
    "select_ops",
    "select_ops_and_ts",
    "select_ts",
]
