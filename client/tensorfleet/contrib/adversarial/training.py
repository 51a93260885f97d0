"""The training of adversarial models: `tf.contrib.gan.gan_train_ops`, `gan_train` and their hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.contrib import monitored_training, slim_training
from tensorfleet.contrib.adversarial.tuples import CycleGANModel, GANLoss, GANTrainOps, GANTrainSteps
from tensorfleet.contrib.train_ops import create_train_op
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_ops import assign, assign_add
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.session_run_hook import SessionRunHook
from tensorfleet.train.step_count import get_or_create_global_step
from tensorfleet.train.sync_replicas import SyncReplicasOptimizer

_ONCE = GANTrainSteps(1, 1)


def gan_train_ops(
    model: Any,
    loss: Any,
    generator_optimizer: Optimizer,
    discriminator_optimizer: Optimizer,
    check_for_unused_update_ops: bool = True,
    is_chief: bool = True,
    **kwargs: Any,
) -> GANTrainOps:
    """The operations that train both parts of a model (`tf.contrib.gan.gan_train_ops`).

    Args:
        model: a GANModel or its kind, or a CycleGANModel.
        loss: its GANLoss or CycleGANLoss.
        check_for_unused_update_ops: whether update operations of neither part are an error.
        is_chief: for the hooks of SyncReplicasOptimizers.
        kwargs: further arguments of `tf.contrib.training.create_train_op`.

    Raises:
        ValueError: there are update operations of neither part.
    """
    optimizers = (generator_optimizer, discriminator_optimizer)
    if isinstance(model, CycleGANModel):
        found = []
        for direction, part, part_loss in (
            ("x2y", model.model_x2y, loss.loss_x2y),
            ("y2x", model.model_y2x, loss.loss_y2x),
        ):
            with framework.name_scope(f"cyclegan_{direction}_train"):
                options = (check_for_unused_update_ops, is_chief)
                found.append(gan_train_ops(part, part_loss, *optimizers, *options, **kwargs))
        return GANTrainOps(
            tuple(each.generator_train_op for each in found),
            tuple(each.discriminator_train_op for each in found),
            assign_add(get_or_create_global_step(), 1),
            [hook for each in found for hook in each.train_hooks],
        )
    step = get_or_create_global_step()
    counted = assign_add(step, 1)
    updates = _update_ops(
        kwargs.pop("update_ops", None),
        (model.generator_scope.name, model.discriminator_scope.name),
        check_for_unused_update_ops,
    )
    losses = GANLoss(loss.generator_loss, loss.discriminator_loss)
    variables = (model.generator_variables, model.discriminator_variables)
    made, hooks = [], []
    for name, each, optimizer, trained, update_ops in zip(
        ("generator", "discriminator"), losses, optimizers, variables, updates, strict=True
    ):
        own_step = None
        if isinstance(optimizer, SyncReplicasOptimizer):
            # The replicas' steps are told by a step that each application of gradients counts.
            own_step = get_variable(
                f"dummy_global_step_{name}",
                shape=[],
                dtype=step.dtype.base_dtype,
                initializer=zeros_initializer(),
                trainable=False,
                collections=[GraphKeys.GLOBAL_VARIABLES],
            )
            update_ops = [*update_ops, assign(own_step, step)]
        with framework.name_scope(f"{name}_train"):
            made.append(
                create_train_op(
                    each,
                    optimizer,
                    global_step=own_step,
                    update_ops=update_ops,
                    variables_to_train=trained,
                    **kwargs,
                )
            )
        if isinstance(optimizer, SyncReplicasOptimizer):
            hooks.append(optimizer.make_session_run_hook(is_chief))
    return GANTrainOps(made[0], made[1], counted, hooks)


def _update_ops(given: Any, scopes: tuple[str, str], check: bool) -> list[list[Any]]:
    """Those of each part."""
    known = framework.get_collection(GraphKeys.UPDATE_OPS) if given is None else list(given)
    parts = [[op for op in framework.get_collection(GraphKeys.UPDATE_OPS, s) if op in known] for s in scopes]
    unused = [op for op in known if not any(op in part for part in parts)]
    if check and unused:
        raise ValueError(f"There are unused update ops: {unused}")
    return parts


class RunTrainOpsHook(SessionRunHook):
    """Runs operations before each step (`tf.contrib.gan.RunTrainOpsHook`).

    Args:
        train_ops: an operation or tensor, or a list of them.
        train_steps: how often.
    """

    def __init__(self, train_ops: Any, train_steps: int) -> None:
        self._train_ops = list(train_ops) if isinstance(train_ops, (list, tuple)) else [train_ops]
        self._train_steps = train_steps

    def before_run(self, run_context: Any) -> None:
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)


def get_sequential_train_hooks(train_steps: GANTrainSteps = _ONCE) -> Callable[[GANTrainOps], list[Any]]:
    """A function from GANTrainOps to hooks that train the generator, then the discriminator
    (`tf.contrib.gan.get_sequential_train_hooks`)."""

    def get_hooks(train_ops: GANTrainOps) -> list[Any]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
            *train_ops.train_hooks,
        ]

    return get_hooks


def get_joint_train_hooks(train_steps: GANTrainSteps = _ONCE) -> Callable[[GANTrainOps], list[Any]]:
    """A function from GANTrainOps to hooks that train both in one step, then the one with more steps
    (`tf.contrib.gan.get_joint_train_hooks`)."""
    generator_steps, discriminator_steps = train_steps
    both = min(generator_steps, discriminator_steps)

    def get_hooks(train_ops: GANTrainOps) -> list[Any]:
        generator, discriminator = train_ops.generator_train_op, train_ops.discriminator_train_op
        return [
            RunTrainOpsHook([generator, discriminator], both),
            RunTrainOpsHook(generator, generator_steps - both),
            RunTrainOpsHook(discriminator, discriminator_steps - both),
            *train_ops.train_hooks,
        ]

    return get_hooks


def gan_train(
    train_ops: GANTrainOps,
    logdir: str | None,
    get_hooks_fn: Callable[[GANTrainOps], list[Any]] = get_sequential_train_hooks(),  # noqa: B008
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
) -> Any:
    """Trains until a hook ends it (`tf.contrib.gan.gan_train`).

    Args:
        train_ops: of `gan_train_ops`.
        get_hooks_fn: from these to the hooks that run them.

    The other arguments are those of `tf.contrib.training.train`.

    Returns:
        The global step.
    """
    return monitored_training.train(
        train_ops.global_step_inc_op,
        logdir,
        master=master,
        is_chief=is_chief,
        scaffold=scaffold,
        hooks=[*(hooks or ()), *get_hooks_fn(train_ops)],
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
    )


def get_sequential_train_steps(train_steps: GANTrainSteps = _ONCE) -> Callable[..., Any]:
    """The `train_step_fn` of `tf.contrib.slim.learning.train` for GANTrainOps
    (`tf.contrib.gan.get_sequential_train_steps`); it returns the sum of all losses, and whether to end."""

    def sequential_train_steps(
        sess: Any, train_ops: GANTrainOps, global_step: Any, train_step_kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        # Whether to end is asked when the step has been counted.
        should_stop = train_step_kwargs.get("should_stop")
        options = {key: value for key, value in train_step_kwargs.items() if key != "should_stop"}
        total = 0.0
        for op, times in (
            (train_ops.generator_train_op, train_steps.generator_train_steps),
            (train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
        ):
            for _ in range(times):
                total += slim_training.train_step(sess, op, global_step, options)[0]
        sess.run(train_ops.global_step_inc_op)
        return total, False if should_stop is None else sess.run(should_stop)

    return sequential_train_steps
