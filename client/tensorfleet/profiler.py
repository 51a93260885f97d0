"""`tf.profiler`: parameters, floating-point operations, times and bytes of the nodes of a graph."""

import typing as _typing

from tensorfleet.api.op_log import write_op_log as write_op_log
from tensorfleet.api.profile_options import ProfileOptionBuilder as ProfileOptionBuilder
from tensorfleet.api.profiling import Profiler as Profiler, advise as advise, profile as profile
from tensorfleet.proto.tfprof_log_pb2 import OpLogProto as OpLogProto
from tensorfleet.proto.tfprof_output_pb2 import (
    AdviceProto as AdviceProto,
    GraphNodeProto as GraphNodeProto,
    MultiGraphNodeProto as MultiGraphNodeProto,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
