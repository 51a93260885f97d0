"""Names of TensorFlow's internal modules that programs use and no public namespace has."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

from tensorfleet.autodiff.defun import Defun as Defun
from tensorfleet.contrib.more_cells import linear as linear
from tensorfleet.core import nest as nest
from tensorfleet.core.shapes import TensorShape, unknown_shape as unknown_shape
from tensorfleet.estimator.canned_parts import optimizer_of as optimizer_of
from tensorfleet.ops.control_flow.control import with_dependencies as with_dependencies
from tensorfleet.ops.control_flow.smart_cond import smart_case as smart_case, smart_cond as smart_cond
from tensorfleet.ops.data_flow.barriers import Barrier as Barrier
from tensorfleet.ops.io.audio import audio_spectrogram as audio_spectrogram, mfcc as mfcc
from tensorfleet.ops.state.initializers import Initializer as Initializer
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable as PartitionedVariable
from tensorfleet.ops.state.ref_variable import RefVariable as RefVariable
from tensorfleet.ops.state.resource_variables import ResourceVariable as ResourceVariable
from tensorfleet.run import file_io as file_io
from tensorfleet.session.session import Session
from tensorfleet.session.timeline import Timeline
from tensorfleet.train import slot_creator as slot_creator
from tensorfleet.train.moving_averages import assign_moving_average as assign_moving_average


def scalar_shape() -> TensorShape:
    """The shape of rank 0 (`tensor_shape.scalar`)."""
    return TensorShape([])


def vector_shape(length: Any) -> TensorShape:
    """The shape of a vector with so many elements (`tensor_shape.vector`)."""
    return TensorShape([length])


def matrix_shape(rows: Any, cols: Any) -> TensorShape:
    """The shape of a matrix (`tensor_shape.matrix`)."""
    return TensorShape([rows, cols])


def list_local_devices(session_config: Any = None) -> list[Any]:
    """This process's devices (`device_lib.list_local_devices`): `name`, `device_type`, `memory_limit`."""
    with Session(config=session_config) as session:
        return [
            SimpleNamespace(
                name=device.name,
                device_type=device.device_type,
                memory_limit=device.memory_limit_bytes,
                physical_device_desc="",
            )
            for device in session.list_devices()
        ]


device_lib = SimpleNamespace(list_local_devices=list_local_devices)
timeline = SimpleNamespace(Timeline=Timeline)

# Imported only by programs that use them: test_util, for one, imports absl's tests, which define flags.
_AT_FIRST_USE = {
    "bounded_random": "tensorfleet.ops.random.bounded",
    "control_flow_nodes": "tensorfleet.ops.control_flow.control_flow_nodes",
    "evaluation": "tensorfleet.train.evaluation",
    "fetches": "tensorfleet.session.fetches",
    "debug": "tensorfleet.run.internals_debug",
    "device": "tensorfleet.core.device",
    "eager": "tensorfleet.run.internals_eager",
    "freeze_graph": "tensorfleet.saved_model.freeze_graph",
    "inspect_checkpoint": "tensorfleet.run.inspect_checkpoint",
    "partitioned_variables": "tensorfleet.ops.state.partitioned_variables",
    "meta_graph": "tensorfleet.export.meta_graph",
    "ref_variable": "tensorfleet.ops.state.ref_variable",
    "resource_variables": "tensorfleet.ops.state.resource_variables",
    "rnn_layouts": "tensorfleet.rnn.dynamic",
    "rnn_states": "tensorfleet.rnn.state",
    "shaping": "tensorfleet.ops.array.shaping",
    "softplus_parameters": "tensorfleet.distributions.softplus_parameters",
    "metrics": "tensorfleet.metrics.streaming",
    "ops": "tensorfleet.run.internals_ops",
    "rnn": "tensorfleet.run.internals_rnn",
    "test_util": "tensorfleet.run.test_util",
    "weights": "tensorfleet.ops.debugging.weights",
    **{
        name: f"tensorfleet.run.python.{name}"
        for name in (
            *("all_util", "behavior", "checkpoint_evaluation", "composite_tensor", "context"),
            *("control_flow_util", "decorating", "deprecation", "eager_functions"),
            *("framework_ops", "function_utils"),
            *("generated_ops", "layer_sizes", "lazy_loader", "private_metrics", "resources", "tf_export"),
            *("tf_inspect", "variable_kinds"),
        )
    },
    "convolutions": "tensorfleet.run.python.convolutions",
    "training": "tensorfleet.run.internals_training",
    "util": "tensorfleet.run.internals_util",
}


def __getattr__(name: str) -> Any:
    if name not in _AT_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(_AT_FIRST_USE[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_AT_FIRST_USE})
