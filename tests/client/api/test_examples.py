"""The examples in the docstrings of public functions and classes give what they say.

An example begins with a graph of its own, and knows the names `tf` and `np`.
"""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.client.api.public import functions_and_classes

pytest.importorskip("tensorfleet_service", reason="the sessions of the examples run in this process")

EXAMPLES = {name: value for name, value in functions_and_classes().items() if ">>>" in (value.__doc__ or "")}


@pytest.mark.parametrize(("name", "value"), [pytest.param(*pair, id=pair[0]) for pair in EXAMPLES.items()])
def test_example(name: str, value: Any) -> None:
    [example] = doctest.DocTestFinder(recurse=False).find(value, name, globs={"tf": tf, "np": np})
    said: list[str] = []
    with tf.Graph().as_default():
        failed, tried = doctest.DocTestRunner().run(example, out=said.append)
    assert tried
    assert not failed, "".join(said)


def test_the_functions_that_programs_use_most_have_examples() -> None:
    used = (
        "tf.constant tf.placeholder tf.Variable tf.get_variable tf.matmul tf.gradients tf.cond tf.while_loop"
    )
    assert set(used.split()) <= set(EXAMPLES)
    assert len(EXAMPLES) >= 100
