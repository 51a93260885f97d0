"""`tf.keras.callbacks.TensorBoard`: event files of training."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.callback_kinds.base import Callback
from tensorfleet.ops.io.summary import histogram, merge
from tensorfleet.proto.summary_pb2 import Summary
from tensorfleet.summary.file_writer import FileWriter


class TensorBoard(Callback):
    """Writes losses and metrics of each epoch for TensorBoard (`tf.keras.callbacks.TensorBoard`).

    Args:
        log_dir: the directory of the event files.
        histogram_freq: the number of epochs between two histograms of the weights, 0 for none.
        write_graph: whether the graph is written.
        update_freq: "epoch", or "batch" for values of batches as well.
        batch_size, write_grads, write_images, embeddings_freq, embeddings_layer_names, embeddings_metadata,
            embeddings_data, profile_batch: ignored.
    """

    def __init__(
        self,
        log_dir: str = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Any = None,
        embeddings_metadata: Any = None,
        embeddings_data: Any = None,
        update_freq: Any = "epoch",
        profile_batch: int = 2,
    ) -> None:
        super().__init__()
        self.log_dir, self.histogram_freq = os.fspath(log_dir), histogram_freq
        self.write_graph, self.update_freq = write_graph, update_freq
        self._steps = 0
        self._histograms: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        graph = self.model._session_graph()
        self.writer = FileWriter(self.log_dir, graph if self.write_graph else None)
        if self.histogram_freq and self._histograms is None:
            with graph.as_default(), ops.init_scope(), ops.name_scope(None):
                made = [
                    histogram(weight.op.name, weight.read_value())
                    for layer in self.model.layers
                    for weight in layer.weights
                ]
                self._histograms = merge(made, collections=[])

    def _write(self, logs: Any, step: int, prefix: str = "") -> None:
        values = [
            Summary.Value(tag=f"{prefix}{name}", simple_value=float(value))
            for name, value in (logs or {}).items()
            if name not in ("batch", "size", "num_steps") and np.ndim(value) == 0
        ]
        self.writer.add_summary(Summary(value=values), step)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        self._steps += 1
        every = 1 if self.update_freq == "batch" else self.update_freq
        if isinstance(every, int) and self._steps % every == 0:
            self._write(logs, self._steps, "batch_")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._write(logs, epoch, "epoch_")
        if self._histograms is not None and epoch % self.histogram_freq == 0:
            with self.model._session_graph().as_default():
                self.writer.add_summary(K.get_session().run(self._histograms), epoch)
        self.writer.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self.writer.close()
