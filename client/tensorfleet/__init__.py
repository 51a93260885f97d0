"""TensorFlow 1.x's public names, served by a TensorFleet cluster."""

# ruff: noqa: F401, F403

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from tensorfleet import (
    app as app,
)
from tensorfleet import cluster_resolver as _cluster_resolver
from tensorfleet import (
    compat as compat,
)
from tensorfleet import (
    contrib as _contrib,
)
from tensorfleet import (
    distribute as _distribute,
)
from tensorfleet import (
    dtypes as dtypes,
)
from tensorfleet import (
    errors as errors,
)
from tensorfleet import (
    file_io as _file_io,
)
from tensorfleet import (
    graph_util as graph_util,
)
from tensorfleet import (
    layers as _layers,
)
from tensorfleet import (
    logging as logging,
)
from tensorfleet import (
    losses as losses,
)
from tensorfleet import namespaces as _namespaces
from tensorfleet import ops as _ops
from tensorfleet import (
    rnn as _rnn,
)
from tensorfleet import (
    summary as _summary,
)
from tensorfleet import (
    test as test,
)
from tensorfleet import (
    train as _train,
)
from tensorfleet.behavior import *
from tensorfleet.cluster import ClusterSpec as _ClusterSpec
from tensorfleet.custom_gradient import *
from tensorfleet.data import dataset as _dataset
from tensorfleet.device import DeviceSpec as DeviceSpec
from tensorfleet.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
)
from tensorfleet.dtypes import (
    DType as DType,
)
from tensorfleet.dtypes import (
    as_dtype as as_dtype,
)
from tensorfleet.dtypes import (
    bfloat16 as bfloat16,
)
from tensorfleet.dtypes import (
    bool as bool,
)
from tensorfleet.dtypes import (
    complex64 as complex64,
)
from tensorfleet.dtypes import (
    complex128 as complex128,
)
from tensorfleet.dtypes import (
    double as double,
)
from tensorfleet.dtypes import (
    float16 as float16,
)
from tensorfleet.dtypes import (
    float32 as float32,
)
from tensorfleet.dtypes import (
    float64 as float64,
)
from tensorfleet.dtypes import (
    half as half,
)
from tensorfleet.dtypes import (
    int8 as int8,
)
from tensorfleet.dtypes import (
    int16 as int16,
)
from tensorfleet.dtypes import (
    int32 as int32,
)
from tensorfleet.dtypes import (
    int64 as int64,
)
from tensorfleet.dtypes import (
    qint8 as qint8,
)
from tensorfleet.dtypes import (
    qint16 as qint16,
)
from tensorfleet.dtypes import (
    qint32 as qint32,
)
from tensorfleet.dtypes import (
    quint8 as quint8,
)
from tensorfleet.dtypes import (
    quint16 as quint16,
)
from tensorfleet.dtypes import (
    resource as resource,
)
from tensorfleet.dtypes import (
    string as string,
)
from tensorfleet.dtypes import (
    uint8 as uint8,
)
from tensorfleet.dtypes import (
    uint16 as uint16,
)
from tensorfleet.dtypes import (
    uint32 as uint32,
)
from tensorfleet.dtypes import (
    uint64 as uint64,
)
from tensorfleet.dtypes import (
    variant as variant,
)
from tensorfleet.errors import OpError as OpError
from tensorfleet.framework import *
from tensorfleet.gradient_registry import *
from tensorfleet.gradients import *
from tensorfleet.graph import MIN_CONSUMER_VERSION as GRAPH_DEF_VERSION_MIN_CONSUMER
from tensorfleet.graph import PRODUCER_VERSION as GRAPH_DEF_VERSION
from tensorfleet.import_graph import import_graph_def as import_graph_def
from tensorfleet.kube import resolver as _kube_resolver
from tensorfleet.logging import get_logger as get_logger
from tensorfleet.operation import Operation as Operation
from tensorfleet.ops import checkpoint as _checkpoint_ops
from tensorfleet.ops import collective_ops as _collective_ops
from tensorfleet.ops import dataset_ops as _dataset_ops
from tensorfleet.ops import function_ops as _function_ops
from tensorfleet.ops import nn as _nn_ops
from tensorfleet.ops import operators as _operators
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
from tensorfleet.ops.confusion import *
from tensorfleet.ops.constants import *
from tensorfleet.ops.control import *
from tensorfleet.ops.control_flow import *
from tensorfleet.ops.convert import (
    convert_to_tensor as convert_to_tensor,
)
from tensorfleet.ops.convert import (
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
from tensorfleet.ops.partitioned_variables import *
from tensorfleet.ops.partitioners import *
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
from tensorfleet.proto.attr_value_pb2 import AttrValue as AttrValue
from tensorfleet.proto.attr_value_pb2 import NameAttrList as NameAttrList
from tensorfleet.proto.config_pb2 import (
    ConfigProto as ConfigProto,
)
from tensorfleet.proto.config_pb2 import (
    GPUOptions as GPUOptions,
)
from tensorfleet.proto.config_pb2 import (
    GraphOptions as GraphOptions,
)
from tensorfleet.proto.config_pb2 import (
    OptimizerOptions as OptimizerOptions,
)
from tensorfleet.proto.config_pb2 import (
    RunMetadata as RunMetadata,
)
from tensorfleet.proto.config_pb2 import (
    RunOptions as RunOptions,
)
from tensorfleet.proto.graph_pb2 import GraphDef as GraphDef
from tensorfleet.proto.node_def_pb2 import NodeDef as NodeDef
from tensorfleet.server import Server as _Server
from tensorfleet.session import (
    InteractiveSession as InteractiveSession,
)
from tensorfleet.session import (
    Session as Session,
)
from tensorfleet.session import (
    get_default_session as get_default_session,
)
from tensorfleet.shapes import (
    Dimension as Dimension,
)
from tensorfleet.shapes import (
    TensorShape as TensorShape,
)
from tensorfleet.shapes import (
    dimension_at_index as dimension_at_index,
)
from tensorfleet.shapes import (
    dimension_value as dimension_value,
)
from tensorfleet.tensor import Tensor as Tensor
from tensorfleet.tensor import is_tensor as is_tensor
from tensorfleet.tensor_util import make_ndarray as make_ndarray
from tensorfleet.tensor_util import make_tensor_proto as make_tensor_proto
from tensorfleet.version import __version__ as __version__

if TYPE_CHECKING:
    from tensorfleet.proto.event_pb2 import Event as Event
    from tensorfleet.proto.event_pb2 import LogMessage as LogMessage
    from tensorfleet.proto.event_pb2 import SessionLog as SessionLog
    from tensorfleet.proto.histogram_pb2 import HistogramProto as HistogramProto
    from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
    from tensorfleet.proto.meta_graph_pb2 import TensorInfo as TensorInfo
    from tensorfleet.proto.summary_pb2 import Summary as Summary
    from tensorfleet.proto.summary_pb2 import SummaryMetadata as SummaryMetadata

VERSION = __version__

# These can be imported by the names that they have here, wherever they lie.
for _path, _module in (
    *(("app", app), ("compat", compat), ("dtypes", dtypes), ("errors", errors), ("graph_util", graph_util)),
    *(("logging", logging), ("losses", losses), ("test", test), ("ops.collective_ops", _collective_ops)),
):
    _sys.modules[f"{__name__}.{_path}"] = _module
vars(_ops)["collective_ops"] = _collective_ops

# The namespaces, from what the modules above declare.
bitwise = _namespaces.make("bitwise")
contrib = _namespaces.make(
    "contrib",
    **{
        name: _namespaces.make(f"contrib.{name}")
        for name in ("framework", "layers", "opt", "rnn", "seq2seq", "training")
    },
)
data = _namespaces.make("data", experimental=_namespaces.make("data.experimental"))
debugging = _namespaces.make("debugging")
distribute = _namespaces.make(
    "distribute", Server=_Server, cluster_resolver=_namespaces.make("distribute.cluster_resolver")
)
initializers = _namespaces.make("initializers")
io = _namespaces.make("io", gfile=_namespaces.make("io.gfile"))
layers = _namespaces.make("layers")
linalg = _namespaces.make("linalg")
manip = _namespaces.make("manip")
math = _namespaces.make("math")
nn = _namespaces.make("nn", rnn_cell=_namespaces.make("nn.rnn_cell"))
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
_sys.modules[f"{__name__}.compat.v1"] = compat.v1 = _sys.modules[__name__]  # type: ignore[attr-defined]

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


_LAZY_MODULES = {
    "flags": "tensorfleet.flags",
    "gfile": "tensorfleet.gfile",
    "metrics": "tensorfleet.metrics",
}
"""Modules that few programs need; they are imported at their first use as well."""


def __getattr__(name: str) -> _Any:
    if name in _LAZY_MODULES:
        return _import_module(_LAZY_MODULES[name])
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = getattr(_import_module(f"tensorfleet.proto.{_LAZY[name]}"), name)
    globals()[name] = message
    return message


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_MODULES})
