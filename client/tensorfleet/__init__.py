"""TensorFlow 1.x's public names, served by a TensorFleet cluster."""

# ruff: noqa: F401, F403

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from tensorfleet import (
    app as app,
    compat as compat,
    dtypes as dtypes,
    errors as errors,
    graph_util as graph_util,
    logging as logging,
    losses as losses,
    summary as _summary,
    test as test,
    train as _train,
)
from tensorfleet import namespaces as _namespaces
from tensorfleet.behavior import *
from tensorfleet.cluster import ClusterSpec as _ClusterSpec
from tensorfleet.custom_gradient import *
from tensorfleet.device import DeviceSpec as DeviceSpec
from tensorfleet.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    qint8 as qint8,
    qint16 as qint16,
    qint32 as qint32,
    quint8 as quint8,
    quint16 as quint16,
    resource as resource,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    variant as variant,
)
from tensorfleet.errors import OpError as OpError
from tensorfleet.framework import *
from tensorfleet.gradient_registry import *
from tensorfleet.gradients import *
from tensorfleet.graph import MIN_CONSUMER_VERSION as GRAPH_DEF_VERSION_MIN_CONSUMER
from tensorfleet.graph import PRODUCER_VERSION as GRAPH_DEF_VERSION
from tensorfleet.import_graph import import_graph_def as import_graph_def
from tensorfleet.logging import get_logger as get_logger
from tensorfleet.operation import Operation as Operation
from tensorfleet.ops import operators as _operators
from tensorfleet.ops import nn as _nn_ops
from tensorfleet.ops import checkpoint as _checkpoint_ops
from tensorfleet.ops import resource_ops as _resource_ops
from tensorfleet.ops import summary as _summary_ops
from tensorfleet.ops.accumulators import *
from tensorfleet.ops.activation import *
from tensorfleet.ops.add_n import *
from tensorfleet.ops.arithmetic import *
from tensorfleet.ops.casting import *
from tensorfleet.ops.checks import *
from tensorfleet.ops.clip import *
from tensorfleet.ops.comparison import *
from tensorfleet.ops.complex_numbers import *
from tensorfleet.ops.constants import *
from tensorfleet.ops.control import *
from tensorfleet.ops.control_flow import *
from tensorfleet.ops.convert import (
    convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from tensorfleet.ops.elementwise import *
from tensorfleet.ops.extrema import *
from tensorfleet.ops.functional import *
from tensorfleet.ops.identity import *
from tensorfleet.ops.indexed_slices import *
from tensorfleet.ops.indexing import *
from tensorfleet.ops.initializers import *
from tensorfleet.ops.joining import *
from tensorfleet.ops.linalg import *
from tensorfleet.ops.linalg_names import *
from tensorfleet.ops.logging import *
from tensorfleet.ops.matmul import *
from tensorfleet.ops.matrix_parts import *
from tensorfleet.ops.padding import *
from tensorfleet.ops.partition import *
from tensorfleet.ops.queues import *
from tensorfleet.ops.random import *
from tensorfleet.ops.rearranging import *
from tensorfleet.ops.reduction import *
from tensorfleet.ops.scan import *
from tensorfleet.ops.script import *
from tensorfleet.ops.segment import *
from tensorfleet.ops.selection import *
from tensorfleet.ops.shaping import *
from tensorfleet.ops.slicing import *
from tensorfleet.ops.special import *
from tensorfleet.ops.state import *
from tensorfleet.ops.strings import *
from tensorfleet.ops.tensor_array import *
from tensorfleet.ops.variable_collections import *
from tensorfleet.ops.variable_scope import *
from tensorfleet.ops.variables import *
from tensorfleet.proto import cluster_pb2 as _cluster_pb2
from tensorfleet.proto import tensorflow_server_pb2 as _server_pb2
from tensorfleet.proto.attr_value_pb2 import AttrValue as AttrValue, NameAttrList as NameAttrList
from tensorfleet.proto.config_pb2 import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
)
from tensorfleet.proto.graph_pb2 import GraphDef as GraphDef
from tensorfleet.proto.node_def_pb2 import NodeDef as NodeDef
from tensorfleet.server import Server as _Server
from tensorfleet.session import (
    InteractiveSession as InteractiveSession,
    Session as Session,
    get_default_session as get_default_session,
)
from tensorfleet.shapes import (
    Dimension as Dimension,
    TensorShape as TensorShape,
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
)
from tensorfleet.tensor import Tensor as Tensor, is_tensor as is_tensor
from tensorfleet.tensor_util import make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto

if TYPE_CHECKING:
    from tensorfleet.proto.event_pb2 import Event as Event, LogMessage as LogMessage, SessionLog as SessionLog
    from tensorfleet.proto.histogram_pb2 import HistogramProto as HistogramProto
    from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef, TensorInfo as TensorInfo
    from tensorfleet.proto.summary_pb2 import Summary as Summary, SummaryMetadata as SummaryMetadata

__version__ = "0.1.0"
VERSION = __version__

# The namespaces, from what the modules above declare.
bitwise = _namespaces.make("bitwise")
contrib = _namespaces.make("contrib", training=_namespaces.make("contrib.training"))
debugging = _namespaces.make("debugging")
initializers = _namespaces.make("initializers")
io = _namespaces.make("io")
linalg = _namespaces.make("linalg")
manip = _namespaces.make("manip")
math = _namespaces.make("math")
nn = _namespaces.make("nn")
queue = _namespaces.make("queue")
random = _namespaces.make("random")
sparse = _namespaces.make("sparse")
strings = _namespaces.make("strings")
summary = _namespaces.make("summary")
train = _namespaces.make(
    "train",
    ClusterDef=_cluster_pb2.ClusterDef,
    ClusterSpec=_ClusterSpec,
    JobDef=_cluster_pb2.JobDef,
    Server=_Server,
    ServerDef=_server_pb2.ServerDef,
)
_namespaces.make("dtypes")
_sys.modules["tensorfleet.compat.v1"] = compat.v1 = _sys.modules[__name__]  # type: ignore[attr-defined]

_LAZY = {
    "Event": "event_pb2",
    "HistogramProto": "histogram_pb2",
    "LogMessage": "event_pb2",
    "MetaGraphDef": "meta_graph_pb2",
    "SessionLog": "event_pb2",
    "Summary": "summary_pb2",
    "SummaryMetadata": "summary_pb2",
    "TensorInfo": "meta_graph_pb2",
}
"""Messages that few programs need, by the module that declares them: they are imported at their first use."""


def __getattr__(name: str) -> _Any:
    if name == "flags":
        return _import_module("tensorfleet.flags")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = getattr(_import_module(f"tensorfleet.proto.{_LAZY[name]}"), name)
    globals()[name] = message
    return message


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "flags"})
