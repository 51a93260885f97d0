"""`tf.contrib.rnn`: the cells of `tf.nn.rnn_cell` and more, and functions that run them over sequences."""

import typing as _typing

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
from tensorfleet.rnn.cell import RNNCell as RNNCell
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
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "GRUBlockCellV2",
    "GRUCell",
    "InputProjectionWrapper",
    "LSTMBlockCell",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicLSTMCell",
    "MultiRNNCell",
    "OutputProjectionWrapper",
    "RNNCell",
    "ResidualWrapper",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
]
