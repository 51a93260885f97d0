"""`tf.contrib.tensorboard.plugins.projector`: what TensorBoard's projector shows of a run's embeddings."""

import os as _os
from typing import Any as _Any

from google.protobuf import text_format as _text_format

from tensorfleet.core.file_io import GFile as _GFile
from tensorfleet.proto.projector_config_pb2 import (
    EmbeddingInfo as EmbeddingInfo,
    ProjectorConfig as ProjectorConfig,
    SpriteMetadata as SpriteMetadata,
)

PROJECTOR_FILENAME = "projector_config.pbtxt"


def visualize_embeddings(summary_writer: _Any, config: ProjectorConfig) -> None:
    """Writes the configuration beside the events, where TensorBoard finds it.

    Args:
        summary_writer: a `tf.summary.FileWriter`.
        config: the embeddings to show; their values are in the run's checkpoints.

    Raises:
        ValueError: the writer has no directory.
    """
    directory = summary_writer.get_logdir()
    if directory is None:
        raise ValueError("Expected logdir to be set in the summary writer")
    path = _os.path.join(directory, PROJECTOR_FILENAME)
    with _GFile(path, "w") as file:
        file.write(_text_format.MessageToString(config))


__all__ = [
    "PROJECTOR_FILENAME",
    "EmbeddingInfo",
    "ProjectorConfig",
    "SpriteMetadata",
    "visualize_embeddings",
]
