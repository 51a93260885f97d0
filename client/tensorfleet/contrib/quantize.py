"""`tf.contrib.quantize`: graphs trained and evaluated for 8-bit inference."""

import typing as _typing

from tensorfleet.contrib.quantizing.rewriting import (
    create_eval_graph as create_eval_graph,
    create_training_graph as create_training_graph,
    experimental_create_eval_graph as experimental_create_eval_graph,
    experimental_create_training_graph as experimental_create_training_graph,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
