"""`tensorflow.python.tf2`: whether TensorFlow 2's behaviour is on."""

from __future__ import annotations


def enabled() -> bool:
    """Whether it is on: never."""
    return False
