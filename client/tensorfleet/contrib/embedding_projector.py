"""The configuration of TensorBoard's projector."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format

from tensorfleet.core.file_io import GFile
from tensorfleet.proto.projector_config_pb2 import ProjectorConfig

PROJECTOR_FILENAME = "projector_config.pbtxt"


def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Writes the configuration beside the events, where TensorBoard finds it.

    (`tf.contrib.tensorboard.plugins.projector.visualize_embeddings`)

    Args:
        summary_writer: a `tf.summary.FileWriter`.
        config: the embeddings to show; their values are in the run's checkpoints.

    Raises:
        ValueError: the writer has no directory.
    """
    directory = summary_writer.get_logdir()
    if directory is None:
        raise ValueError("Expected logdir to be set in the summary writer")
    with GFile(os.path.join(directory, PROJECTOR_FILENAME), "w") as file:
        file.write(text_format.MessageToString(config))
