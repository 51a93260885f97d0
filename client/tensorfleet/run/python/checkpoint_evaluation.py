"""`tensorflow.python.training.evaluation`: one evaluation of a checkpoint in a monitored session."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tensorfleet.core.logging import info
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.train.evaluation import StopAfterNEvalsHook, get_or_create_eval_step
from tensorfleet.train.hooks import FinalOpsHook
from tensorfleet.train.monitored_session import MonitoredSession
from tensorfleet.train.session_creator import ChiefSessionCreator


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    config: Any = None,
    hooks: Sequence[Any] | None = None,
) -> Any:
    """Restores a checkpoint, runs `eval_ops` until a hook ends the session, then `final_ops`.

    Args:
        checkpoint_path: the checkpoint; None to start from initial values.
        eval_ops: a tensor, operation, or a list or dictionary of them; None: one step of nothing.
        hooks: hooks of the session; a StopAfterNEvalsHook may leave its tensor of the count out.

    Returns:
        The values of `final_ops`; None without them.
    """
    counted = assign_add(get_or_create_eval_step(), 1, use_locking=True)
    hooks = list(hooks or ())
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(counted)
    if eval_ops is None:
        eval_ops = counted
    elif isinstance(eval_ops, Mapping):
        eval_ops = {**eval_ops, "update_eval_step": counted}
    elif isinstance(eval_ops, (list, tuple)):
        eval_ops = [*eval_ops, counted]
    else:
        eval_ops = [eval_ops, counted]
    info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    with MonitoredSession(creator, [*hooks, final]) as session:
        while not session.should_stop():
            session.run(eval_ops, feed_dict)
    info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
    return final.final_ops_values
