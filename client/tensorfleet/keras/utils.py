"""`tf.keras.utils`: arrays, configurations, progress."""

import typing as _typing

from tensorfleet.keras.array_utils import (
    get_file as get_file,
    normalize as normalize,
    to_categorical as to_categorical,
)
from tensorfleet.keras.engine.source_inputs import (
    get_source_inputs as get_source_inputs,
)
from tensorfleet.keras.progress import (
    Progbar as Progbar,
)
from tensorfleet.keras.sequences import (
    Sequence as Sequence,
)
from tensorfleet.keras.serialization import (
    CustomObjectScope as CustomObjectScope,
    custom_object_scope as custom_object_scope,
    deserialize_keras_object as deserialize_keras_object,
    get_custom_objects as get_custom_objects,
    get_registered_name as get_registered_name,
    get_registered_object as get_registered_object,
    register_keras_serializable as register_keras_serializable,
    serialize_keras_object as serialize_keras_object,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
