"""Switches of TensorFlow 2's compat.v1 that name the only behaviour there is here: graphs and sessions.

Programs that begin with `tf.disable_v2_behavior()` run unchanged. What would switch to another behaviour says
in one sentence that there is none.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tensorfleet.graph import functional_flow


def disable_v2_behavior() -> None:
    """Does nothing: graphs and sessions are what there is."""


def disable_eager_execution() -> None:
    """Does nothing: no operation runs before a session runs it."""


def disable_v2_tensorshape() -> None:
    """Does nothing: the elements of a TensorShape are Dimensions."""


def disable_control_flow_v2() -> None:
    """Has loops and branches made of Switch, Merge, Enter and Exit, as is the default."""
    functional_flow.enable(False)


def disable_tensor_equality() -> None:
    """Does nothing: tensors are compared by identity."""


def enable_control_flow_v2() -> None:
    """Has loops and branches made as functions, called by If, Case and While.

    They compute the same, have gradients of all orders, and each runs as a whole on one device.
    """
    functional_flow.enable(True)


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> NoReturn:
    """Refuses: operations run in sessions.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "TensorFleet has no eager execution, as its tasks run graphs: remove tf.enable_eager_execution() and "
        "run what you build in a tf.Session."
    )


def enable_v2_behavior() -> NoReturn:
    """Refuses: graphs and sessions are what there is.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "TensorFleet has the behaviour of TensorFlow 1 alone, graphs and sessions: remove "
        "tf.enable_v2_behavior()."
    )


def enable_tensor_equality() -> NoReturn:
    """Refuses: tensors are compared by identity.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "Tensors are compared by identity here, so that they are keys of feed_dicts: use tf.equal in place "
        "of tf.enable_tensor_equality()."
    )


def enable_v2_tensorshape() -> NoReturn:
    """Refuses: the elements of a TensorShape are Dimensions.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "The elements of a TensorShape are Dimensions here: use shape.as_list(), which gives integers with "
        "and without tf.enable_v2_tensorshape()."
    )


def control_flow_v2_enabled() -> bool:
    """Whether `enable_control_flow_v2` was called last."""
    return functional_flow.is_enabled()


def executing_eagerly() -> bool:
    """False: operations run in sessions."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """False: operations run in sessions."""
    return False
