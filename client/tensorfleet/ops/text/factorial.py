"""A fact about factorials: TensorFlow's example of an op that users add."""

from __future__ import annotations

from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

op("Fact() -> (fact: string)", shape=lambda op: [None])


def my_fact() -> Tensor:
    """A fact about factorials, a string (`tf.user_ops.my_fact`).

    Example:
        >>> tf.Session().run(tf.user_ops.my_fact())
        b'0! == 1'
    """
    return apply_one("Fact")
