"""`tf.keras.models`: models, and models in files."""

import typing as _typing

from tensorfleet.keras.engine.sequential import (
    Sequential as Sequential,
)
from tensorfleet.keras.engine.training import (
    Model as Model,
)
from tensorfleet.keras.model_files import (
    clone_model as clone_model,
    load_model as load_model,
    model_from_config as model_from_config,
    model_from_json as model_from_json,
    save_model as save_model,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
