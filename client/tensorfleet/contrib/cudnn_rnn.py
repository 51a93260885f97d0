"""`tf.contrib.cudnn_rnn`: recurrent layers with the formulas of cuDNN."""

import typing as _typing

from tensorfleet.contrib.cells.cudnn import (
    CudnnCompatibleGRUCell as CudnnCompatibleGRUCell,
    CudnnCompatibleLSTMCell as CudnnCompatibleLSTMCell,
    CudnnGRU as CudnnGRU,
    CudnnLSTM as CudnnLSTM,
    CudnnRNNRelu as CudnnRNNRelu,
    CudnnRNNTanh as CudnnRNNTanh,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "CudnnCompatibleGRUCell",
    "CudnnCompatibleLSTMCell",
    "CudnnGRU",
    "CudnnLSTM",
    "CudnnRNNRelu",
    "CudnnRNNTanh",
]
