"""The classes that configurations of layers and models may name; `layer_names` fills it."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object

KNOWN: dict[str, Any] = {}


def serialize(layer: Any) -> Any:
    """The class name and configuration of a layer."""
    return serialize_keras_object(layer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The layer or model of a configuration.

    Raises:
        ValueError: a class that is not known.
    """
    return deserialize_keras_object(config, KNOWN, custom_objects, "layer")
