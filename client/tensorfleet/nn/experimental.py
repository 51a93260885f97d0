"""`tf.nn.experimental`: dropout with random numbers of one's own choice."""

from tensorfleet.ops.nn.layers import (
    general_dropout as general_dropout,
    stateless_dropout as stateless_dropout,
)

__all__ = ["general_dropout", "stateless_dropout"]
