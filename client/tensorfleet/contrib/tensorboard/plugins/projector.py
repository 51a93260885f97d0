"""`tf.contrib.tensorboard.plugins.projector`: what TensorBoard's projector shows of a run's embeddings."""

import typing as _typing

from tensorfleet.contrib.embedding_projector import (
    PROJECTOR_FILENAME as PROJECTOR_FILENAME,
    visualize_embeddings as visualize_embeddings,
)
from tensorfleet.proto.projector_config_pb2 import (
    EmbeddingInfo as EmbeddingInfo,
    ProjectorConfig as ProjectorConfig,
    SpriteMetadata as SpriteMetadata,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
