"""`tf.contrib.stateless`: random numbers that follow from their seeds."""

from tensorfleet.ops.random.stateless import (
    stateless_multinomial as stateless_multinomial,
    stateless_normal as stateless_random_normal,
    stateless_truncated_normal as stateless_truncated_normal,
    stateless_uniform as stateless_random_uniform,
)

__all__ = [
    "stateless_multinomial",
    "stateless_random_normal",
    "stateless_random_uniform",
    "stateless_truncated_normal",
]
