"""`tf.contrib.rnn`: the cells of `tf.nn.rnn_cell` and more, and functions that run them over sequences."""

import typing as _typing

from tensorfleet.contrib.cells.fused import (
    CompiledWrapper as CompiledWrapper,
    FusedRNNCell as FusedRNNCell,
    FusedRNNCellAdaptor as FusedRNNCellAdaptor,
    GRUBlockCell as GRUBlockCell,
    HighwayWrapper as HighwayWrapper,
    LayerNormBasicGRUCell as LayerNormBasicGRUCell,
    LSTMBlockFusedCell as LSTMBlockFusedCell,
    LSTMBlockWrapper as LSTMBlockWrapper,
    TimeReversedFusedRNN as TimeReversedFusedRNN,
    transpose_batch_time as transpose_batch_time,
)
from tensorfleet.contrib.cells.gated import (
    IndRNNCell as IndRNNCell,
    IndyGRUCell as IndyGRUCell,
    IndyLSTMCell as IndyLSTMCell,
    IntersectionRNNCell as IntersectionRNNCell,
    NASCell as NASCell,
    SRUCell as SRUCell,
    UGRNNCell as UGRNNCell,
)
from tensorfleet.contrib.cells.long_memory import (
    Conv1DLSTMCell as Conv1DLSTMCell,
    Conv2DLSTMCell as Conv2DLSTMCell,
    Conv3DLSTMCell as Conv3DLSTMCell,
    ConvLSTMCell as ConvLSTMCell,
    CoupledInputForgetGateLSTMCell as CoupledInputForgetGateLSTMCell,
    GLSTMCell as GLSTMCell,
    LayerNormLSTMCell as LayerNormLSTMCell,
    PhasedLSTMCell as PhasedLSTMCell,
)
from tensorfleet.contrib.more_cells import (
    AttentionCellWrapper as AttentionCellWrapper,
    EmbeddingWrapper as EmbeddingWrapper,
    GRUBlockCellV2 as GRUBlockCellV2,
    InputProjectionWrapper as InputProjectionWrapper,
    LayerNormBasicLSTMCell as LayerNormBasicLSTMCell,
    LSTMBlockCell as LSTMBlockCell,
    OutputProjectionWrapper as OutputProjectionWrapper,
    stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn as stack_bidirectional_rnn,
)
from tensorfleet.rnn.cell import LayerRNNCell as LayerRNNCell, RNNCell as RNNCell
from tensorfleet.rnn.cells import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    GRUCell as GRUCell,
)
from tensorfleet.rnn.dropout import DropoutWrapper as DropoutWrapper
from tensorfleet.rnn.lstm import LSTMCell as LSTMCell
from tensorfleet.rnn.state import LSTMStateTuple as LSTMStateTuple
from tensorfleet.rnn.static import (
    static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn,
    static_state_saving_rnn as static_state_saving_rnn,
)
from tensorfleet.rnn.wrappers import (
    DeviceWrapper as DeviceWrapper,
    MultiRNNCell as MultiRNNCell,
    ResidualWrapper as ResidualWrapper,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "AttentionCellWrapper",
    "BasicLSTMCell",
    "BasicRNNCell",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "GLSTMCell",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "GRUCell",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMBlockWrapper",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicGRUCell",
    "LayerNormBasicLSTMCell",
    "LayerNormLSTMCell",
    "LayerRNNCell",
    "MultiRNNCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "RNNCell",
    "ResidualWrapper",
    "SRUCell",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "transpose_batch_time",
]
