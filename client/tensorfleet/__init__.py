"""TensorFlow 1.x's public names, served by a TensorFleet cluster."""

# ruff: noqa: F401, F403

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from tensorfleet import (
    contrib as _contrib,
)
from tensorfleet import (
    distribute as _distribute,
)
from tensorfleet import (
    layers as _layers,
)
from tensorfleet import (
    losses as losses,
)
from tensorfleet import ops as _ops
from tensorfleet import (
    rnn as _rnn,
)
from tensorfleet import (
    summary as _summary,
)
from tensorfleet import (
    train as _train,
)
from tensorfleet.api import app as app
from tensorfleet.api import namespaces as _namespaces
from tensorfleet.api import test as test
from tensorfleet.api.behavior import *
from tensorfleet.autodiff.custom_gradient import *
from tensorfleet.autodiff.gradients import *
from tensorfleet.cluster import cluster_resolver as _cluster_resolver
from tensorfleet.cluster import kubernetes_resolver as _kube_resolver
from tensorfleet.cluster.cluster import ClusterSpec as _ClusterSpec
from tensorfleet.cluster.server import Server as _Server
from tensorfleet.core import compat as compat
from tensorfleet.core import dtypes as dtypes
from tensorfleet.core import errors as errors
from tensorfleet.core import file_io as _file_io
from tensorfleet.core import logging as logging
from tensorfleet.core.device import DeviceSpec as DeviceSpec
from tensorfleet.core.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from tensorfleet.core.dtypes import DType as DType
from tensorfleet.core.dtypes import as_dtype as as_dtype
from tensorfleet.core.dtypes import bfloat16 as bfloat16
from tensorfleet.core.dtypes import bool as bool
from tensorfleet.core.dtypes import complex64 as complex64
from tensorfleet.core.dtypes import complex128 as complex128
from tensorfleet.core.dtypes import double as double
from tensorfleet.core.dtypes import float16 as float16
from tensorfleet.core.dtypes import float32 as float32
from tensorfleet.core.dtypes import float64 as float64
from tensorfleet.core.dtypes import half as half
from tensorfleet.core.dtypes import int8 as int8
from tensorfleet.core.dtypes import int16 as int16
from tensorfleet.core.dtypes import int32 as int32
from tensorfleet.core.dtypes import int64 as int64
from tensorfleet.core.dtypes import qint8 as qint8
from tensorfleet.core.dtypes import qint16 as qint16
from tensorfleet.core.dtypes import qint32 as qint32
from tensorfleet.core.dtypes import quint8 as quint8
from tensorfleet.core.dtypes import quint16 as quint16
from tensorfleet.core.dtypes import resource as resource
from tensorfleet.core.dtypes import string as string
from tensorfleet.core.dtypes import uint8 as uint8
from tensorfleet.core.dtypes import uint16 as uint16
from tensorfleet.core.dtypes import uint32 as uint32
from tensorfleet.core.dtypes import uint64 as uint64
from tensorfleet.core.dtypes import variant as variant
from tensorfleet.core.errors import OpError as OpError
from tensorfleet.core.logging import get_logger as get_logger
from tensorfleet.core.shapes import Dimension as Dimension
from tensorfleet.core.shapes import TensorShape as TensorShape
from tensorfleet.core.shapes import dimension_at_index as dimension_at_index
from tensorfleet.core.shapes import dimension_value as dimension_value
from tensorfleet.core.tensor_util import make_ndarray as make_ndarray
from tensorfleet.core.tensor_util import make_tensor_proto as make_tensor_proto
from tensorfleet.core.version import __version__ as __version__
from tensorfleet.data import dataset as _dataset
from tensorfleet.graph import graph_util as graph_util
from tensorfleet.graph.convert import convert_to_tensor as convert_to_tensor
from tensorfleet.graph.convert import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from tensorfleet.graph.framework import *
from tensorfleet.graph.gradient_registry import *
from tensorfleet.graph.graph import MIN_CONSUMER_VERSION as GRAPH_DEF_VERSION_MIN_CONSUMER
from tensorfleet.graph.graph import PRODUCER_VERSION as GRAPH_DEF_VERSION
from tensorfleet.graph.import_graph import import_graph_def as import_graph_def
from tensorfleet.graph.operation import Operation as Operation
from tensorfleet.graph.tensor import Tensor as Tensor
from tensorfleet.graph.tensor import is_tensor as is_tensor
from tensorfleet.ops.array.casting import *
from tensorfleet.ops.array.constants import *
from tensorfleet.ops.array.identity import *
from tensorfleet.ops.array.indexed_slices import *
from tensorfleet.ops.array.indexing import *
from tensorfleet.ops.array.joining import *
from tensorfleet.ops.array.padding import *
from tensorfleet.ops.array.rearranging import *
from tensorfleet.ops.array.selection import *
from tensorfleet.ops.array.shaping import *
from tensorfleet.ops.array.slicing import *
from tensorfleet.ops.collective import collective_ops as _collective_ops
from tensorfleet.ops.control_flow.control import *
from tensorfleet.ops.control_flow.control_flow import *
from tensorfleet.ops.data_flow import dataset_ops as _dataset_ops
from tensorfleet.ops.data_flow.accumulators import *
from tensorfleet.ops.data_flow.partition import *
from tensorfleet.ops.data_flow.queues import *
from tensorfleet.ops.data_flow.tensor_array import *
from tensorfleet.ops.debugging.checks import *
from tensorfleet.ops.functional.map_fn import *
from tensorfleet.ops.functions import function_ops as _function_ops
from tensorfleet.ops.io import checkpoint as _checkpoint_ops
from tensorfleet.ops.io import summary as _summary_ops
from tensorfleet.ops.io.logging import *
from tensorfleet.ops.io.script import *
from tensorfleet.ops.linalg.linalg import *
from tensorfleet.ops.linalg.linalg_names import *
from tensorfleet.ops.linalg.matrix_parts import *
from tensorfleet.ops.math import operators as _operators
from tensorfleet.ops.math.add_n import *
from tensorfleet.ops.math.arithmetic import *
from tensorfleet.ops.math.clip import *
from tensorfleet.ops.math.comparison import *
from tensorfleet.ops.math.complex_numbers import *
from tensorfleet.ops.math.elementwise import *
from tensorfleet.ops.math.extrema import *
from tensorfleet.ops.math.matmul import *
from tensorfleet.ops.math.reduction import *
from tensorfleet.ops.math.scan import *
from tensorfleet.ops.math.segment import *
from tensorfleet.ops.math.special import *
from tensorfleet.ops.nn import names as _nn_ops
from tensorfleet.ops.nn.activation import *
from tensorfleet.ops.nn.confusion import *
from tensorfleet.ops.random.random_ops import *
from tensorfleet.ops.state import resource_variable_ops as _resource_ops
from tensorfleet.ops.state.initializers import *
from tensorfleet.ops.state.partitioned_variables import *
from tensorfleet.ops.state.partitioners import *
from tensorfleet.ops.state.variable_collections import *
from tensorfleet.ops.state.variable_ops import *
from tensorfleet.ops.state.variable_scope import *
from tensorfleet.ops.state.variables import *
from tensorfleet.ops.text.strings import *
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
from tensorfleet.session.session import InteractiveSession as InteractiveSession
from tensorfleet.session.session import Session as Session
from tensorfleet.session.session import get_default_session as get_default_session

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
    "flags": "tensorfleet.api.flags",
    "gfile": "tensorfleet.api.gfile",
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
