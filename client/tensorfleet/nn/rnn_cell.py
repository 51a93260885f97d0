"""`tf.nn.rnn_cell`: the cells of recurrent networks."""

import typing as _typing

from tensorfleet.rnn.cell import RNNCell as RNNCell
from tensorfleet.rnn.cells import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    GRUCell as GRUCell,
)
from tensorfleet.rnn.dropout import DropoutWrapper as DropoutWrapper
from tensorfleet.rnn.lstm import LSTMCell as LSTMCell
from tensorfleet.rnn.state import LSTMStateTuple as LSTMStateTuple
from tensorfleet.rnn.wrappers import (
    DeviceWrapper as DeviceWrapper,
    MultiRNNCell as MultiRNNCell,
    ResidualWrapper as ResidualWrapper,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
