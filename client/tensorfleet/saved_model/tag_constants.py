"""`tf.saved_model.tag_constants`: tags that identify a graph of a SavedModel."""

import typing as _typing

SERVING = "serve"
TRAINING = "train"
GPU = "gpu"
TPU = "tpu"

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
