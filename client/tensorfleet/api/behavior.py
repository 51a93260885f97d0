"""Switches of TensorFlow 2's compat.v1 that name the only behaviour there is here: graphs and sessions.

Programs that begin with `tf.disable_v2_behavior()` run unchanged.
"""

from __future__ import annotations


def disable_v2_behavior() -> None:
    """Does nothing: graphs and sessions are what there is."""


def disable_eager_execution() -> None:
    """Does nothing: no operation runs before a session runs it."""


def disable_v2_tensorshape() -> None:
    """Does nothing: the elements of a TensorShape are Dimensions."""


def disable_control_flow_v2() -> None:
    """Does nothing: loops and branches are made of Switch, Merge, Enter and Exit."""


def disable_tensor_equality() -> None:
    """Does nothing: tensors are compared by identity."""


def control_flow_v2_enabled() -> bool:
    """False: loops and branches are made of Switch, Merge, Enter and Exit."""
    return False


def executing_eagerly() -> bool:
    """False: operations run in sessions."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """False: operations run in sessions."""
    return False
