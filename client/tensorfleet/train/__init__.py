"""`tf.train`: optimizers, learning rate decay, checkpoints, sessions that recover, input queues, servers."""

import typing as _typing

from tensorfleet.cluster.cluster import ClusterSpec as ClusterSpec
from tensorfleet.cluster.server import Server as Server
from tensorfleet.export.graph_io import write_graph as write_graph
from tensorfleet.export.meta_graph import export_meta_graph as export_meta_graph
from tensorfleet.proto.cluster_pb2 import ClusterDef as ClusterDef, JobDef as JobDef
from tensorfleet.proto.example_pb2 import Example as Example, SequenceExample as SequenceExample
from tensorfleet.proto.feature_pb2 import (
    BytesList as BytesList,
    Feature as Feature,
    FeatureList as FeatureList,
    FeatureLists as FeatureLists,
    Features as Features,
    FloatList as FloatList,
    Int64List as Int64List,
)
from tensorfleet.proto.saver_pb2 import SaverDef as SaverDef
from tensorfleet.proto.tensorflow_server_pb2 import ServerDef as ServerDef
from tensorfleet.summary.records import summary_iterator as summary_iterator
from tensorfleet.train import queue_runner as queue_runner
from tensorfleet.train.adam import AdamOptimizer as AdamOptimizer
from tensorfleet.train.basic_loops import basic_train_loop as basic_train_loop
from tensorfleet.train.batches import (
    batch as batch,
    batch_join as batch_join,
    shuffle_batch as shuffle_batch,
    shuffle_batch_join as shuffle_batch_join,
)
from tensorfleet.train.checkpoint_management import (
    checkpoint_exists as checkpoint_exists,
    generate_checkpoint_state_proto as generate_checkpoint_state_proto,
    get_checkpoint_mtimes as get_checkpoint_mtimes,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
    remove_checkpoint as remove_checkpoint,
    update_checkpoint_state as update_checkpoint_state,
)
from tensorfleet.train.checkpoint_manager import CheckpointManager as CheckpointManager
from tensorfleet.train.checkpoint_reader import (
    NewCheckpointReader as NewCheckpointReader,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from tensorfleet.train.checkpoint_waiting import checkpoints_iterator as checkpoints_iterator
from tensorfleet.train.coordinator import Coordinator as Coordinator, LooperThread as LooperThread
from tensorfleet.train.decay import (
    cosine_decay as cosine_decay,
    cosine_decay_restarts as cosine_decay_restarts,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    linear_cosine_decay as linear_cosine_decay,
    natural_exp_decay as natural_exp_decay,
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
    piecewise_constant as piecewise_constant,
    piecewise_constant as piecewise_constant_decay,
    polynomial_decay as polynomial_decay,
)
from tensorfleet.train.device_setter import replica_device_setter as replica_device_setter
from tensorfleet.train.hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
    StopAtStepHook as StopAtStepHook,
)
from tensorfleet.train.initializing import init_from_checkpoint as init_from_checkpoint
from tensorfleet.train.input_producers import (
    input_producer as input_producer,
    limit_epochs as limit_epochs,
    match_filenames_once as match_filenames_once,
    range_input_producer as range_input_producer,
    slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)
from tensorfleet.train.maybe_batches import (
    maybe_batch as maybe_batch,
    maybe_batch_join as maybe_batch_join,
    maybe_shuffle_batch as maybe_shuffle_batch,
    maybe_shuffle_batch_join as maybe_shuffle_batch_join,
)
from tensorfleet.train.monitored_session import (
    MonitoredSession as MonitoredSession,
    MonitoredTrainingSession as MonitoredTrainingSession,
    SingularMonitoredSession as SingularMonitoredSession,
)
from tensorfleet.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from tensorfleet.train.object_checkpoint import (
    Checkpoint as Checkpoint,
    CheckpointOptions as CheckpointOptions,
)
from tensorfleet.train.optimizer import Optimizer as Optimizer
from tensorfleet.train.optimizers import (
    AdadeltaOptimizer as AdadeltaOptimizer,
    AdagradOptimizer as AdagradOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    RMSPropOptimizer as RMSPropOptimizer,
)
from tensorfleet.train.queue_runners import (
    QueueRunner as QueueRunner,
    add_queue_runner as add_queue_runner,
    start_queue_runners as start_queue_runners,
)
from tensorfleet.train.regularized_optimizers import (
    AdagradDAOptimizer as AdagradDAOptimizer,
    FtrlOptimizer as FtrlOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from tensorfleet.train.saver import Saver as Saver, import_meta_graph as import_meta_graph
from tensorfleet.train.saving_hooks import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
    ProfilerHook as ProfilerHook,
    StepCounterHook as StepCounterHook,
    SummarySaverHook as SummarySaverHook,
)
from tensorfleet.train.scaffold import Scaffold as Scaffold
from tensorfleet.train.session_creator import (
    ChiefSessionCreator as ChiefSessionCreator,
    SessionCreator as SessionCreator,
    WorkerSessionCreator as WorkerSessionCreator,
)
from tensorfleet.train.session_manager import SessionManager as SessionManager
from tensorfleet.train.session_run_hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from tensorfleet.train.step_count import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
)
from tensorfleet.train.supervisor import Supervisor as Supervisor
from tensorfleet.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from tensorfleet.train.timers import SecondOrStepTimer as SecondOrStepTimer
from tensorfleet.train.warm_starting import VocabInfo as VocabInfo, warm_start as warm_start

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("queue_runner",))

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]
