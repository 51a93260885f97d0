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
    hooks: Sequence[Any] | None = None,
    config: Any = None,
) -> Any:
    """Restores a checkpoint, runs `eval_ops` until a hook ends the session, then `final_ops`.

    Args:
        checkpoint_path: the checkpoint; None to start from initial values.
        eval_ops: a tensor, operation, or a list or dictionary of them; None: no step is run.
        feed_dict, final_ops_feed_dict: what is fed for the two.
        hooks: hooks of the session; a StopAfterNEvalsHook may leave its tensor of the count out.
        master, scaffold, config: of the session.

    Returns:
        The values of `final_ops`; None without them.
    """
    step = get_or_create_eval_step()
    hooks = list(hooks or ())
    if eval_ops is not None:
        counted = assign_add(step, 1, use_locking=True)
        for hook in hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(counted)
        if isinstance(eval_ops, Mapping):
            eval_ops = {**eval_ops, "update_eval_step": counted}
        else:
            eval_ops = [*(eval_ops if isinstance(eval_ops, (list, tuple)) else [eval_ops]), counted]
    info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    with MonitoredSession(creator, [*hooks, final]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
    return final.final_ops_values
