"""Collective operations, under the name by which TensorFlow 1.x programs import them."""

from tensorfleet.ops.collective.collective_ops import (
    all_gather as all_gather,
    all_gather_v2 as all_gather_v2,
    all_reduce as all_reduce,
    all_reduce_v2 as all_reduce_v2,
    broadcast_recv as broadcast_recv,
    broadcast_recv_v2 as broadcast_recv_v2,
    broadcast_send as broadcast_send,
    broadcast_send_v2 as broadcast_send_v2,
)
