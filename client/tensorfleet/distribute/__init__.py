"""Training without parameter servers: every worker has all variables, and the workers average gradients.

    from tensorfleet import distribute

    opt = distribute.CollectiveOptimizer(opt, num_workers=3, is_chief=task_index == 0)
    train = opt.minimize(loss)
    with tf.train.MonitoredTrainingSession(server.target, hooks=[opt.make_session_run_hook()]) as session: ...

`tensorfleet.ops.collective.collective_ops` has the operations themselves, docs/collectives.md the guarantees.
"""

from tensorfleet.distribute.collective_keys import CollectiveKeys
from tensorfleet.distribute.collective_optimizer import CollectiveOptimizer
from tensorfleet.distribute.cross_device_ops import all_reduce_gradients, barrier, broadcast_variables

__all__ = ["CollectiveKeys", "CollectiveOptimizer", "all_reduce_gradients", "barrier", "broadcast_variables"]
