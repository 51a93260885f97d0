"""Errors of kernels have TensorFlow's classes, and messages that contain TensorFlow's sentences."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf

from tests.compat.check_cases import CASES
from tests.compat.cluster import Cluster
from tests.compat.test_tensorflow_client_errors import core

tf.disable_v2_behavior()

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


def without_optimizer() -> tf.ConfigProto:
    """TensorFlow computes each node as it is: folding constants, it would meet other errors before."""
    config = tf.ConfigProto(operation_timeout_in_ms=30_000)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


def failures(target: str, fetches: dict[str, Any]) -> dict[str, tf.errors.OpError | None]:
    found: dict[str, tf.errors.OpError | None] = {}
    with tf.Session(target, config=without_optimizer()) as session:
        for name, fetch in fetches.items():
            try:
                session.run(getattr(fetch, "op", fetch))
                found[name] = None
            except tf.errors.OpError as error:
                found[name] = error
    return found


def unnumbered(text: str) -> str:
    """TensorFlow numbers the arrays of a process, after the number that the node's name may have."""
    return re.sub(r"TensorArray(_\d+)+", "TensorArray", text)


def sentence(error: tf.errors.OpError) -> str:
    """TensorFlow ends some sentences where ours go on."""
    return unnumbered(core(error)).strip().removesuffix(".")


def test_messages_of_checks(local: Cluster) -> None:
    with tf.Graph().as_default():
        fetches = {name: made() for name, made in CASES.items()}
        theirs, ours = failures("", fetches), failures(local.target("local"), fetches)
    wrong = []
    for name, expected in theirs.items():
        assert expected is not None, f"TensorFlow takes {name}"
        error = ours[name]
        if type(error) is not type(expected) or sentence(expected) not in unnumbered(error.message):
            said = "nothing" if error is None else f"{type(error).__name__}: {core(error)}"
            wrong.append(f"{name}: {said}, TensorFlow {type(expected).__name__}: {core(expected)}")
    assert not wrong, "\n".join(wrong)
