"""The functions of `tf.keras.activations`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.serialization import deserialize_keras_object, get_registered_name


def softmax(x: Any, axis: int = -1) -> Any:
    """Exponentials divided by their sum along `axis`."""
    if len(x.shape.as_list()) < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    return ops.softmax(x, axis=axis)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x if positive, else alpha * (exp(x) - 1)."""
    return K.elu(x, alpha)


def selu(x: Any) -> Any:
    """The scaled exponential linear unit (Klambauer et al., arXiv:1706.02515)."""
    return ops.selu(x)


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return ops.softplus(x)


def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return ops.softsign(x)


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: Any = 0) -> Any:
    """x above the threshold, at most `max_value`; below it `alpha * (x - threshold)`."""
    return K.relu(x, alpha=alpha, max_value=max_value, threshold=threshold)


def tanh(x: Any) -> Any:
    """The hyperbolic tangents."""
    return ops.tanh(x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(x)


def exponential(x: Any) -> Any:
    """The exponentials."""
    return ops.exp(x)


def hard_sigmoid(x: Any) -> Any:
    """0.2 x + 0.5, within 0 and 1."""
    return K.hard_sigmoid(x)


def linear(x: Any) -> Any:
    """x itself."""
    return x if hasattr(x, "dtype") else convert_to_tensor(x)


def serialize(activation: Any) -> Any:
    """The name of an activation."""
    return get_registered_name(activation)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The activation of that name.

    Raises:
        ValueError: there is none.
    """
    return deserialize_keras_object(name, _KNOWN, custom_objects, "activation function")


_KNOWN = {
    f.__name__: f
    for f in (
        *(softmax, elu, selu, softplus, softsign, relu, tanh, sigmoid, exponential, hard_sigmoid),
        linear,
    )
}


def get(identifier: Any) -> Any:
    """The activation of a name; None is `linear`, a function is itself."""
    if identifier is None:
        return linear
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
