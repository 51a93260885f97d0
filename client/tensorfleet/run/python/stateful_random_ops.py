"""The constants of `tensorflow.python.ops.stateful_random_ops`."""

from __future__ import annotations

import tensorfleet as tf

MAX_INT64, MIN_INT64 = 2**63 - 1, -(2**63)
UINT64_SPAN = 2**64

SEED_TYPE = STATE_TYPE = ALGORITHM_TYPE = tf.int64
SEED_MIN, SEED_MAX, SEED_UINT_SPAN = MIN_INT64, MAX_INT64, UINT64_SPAN
SEED_TYPE_BITS, SEED_BIT_MASK = 64, 0xFFFFFFFFFFFFFFFF
# In elements of SEED_TYPE.
SEED_SIZE = 16

RNG_ALG_PHILOX, RNG_ALG_THREEFRY = 1, 2
DEFAULT_ALGORITHM = RNG_ALG_PHILOX
# In elements of the state.
PHILOX_STATE_SIZE, THREEFRY_STATE_SIZE = 3, 2
