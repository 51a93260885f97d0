"""Training of an estimator by a strategy (`RunConfig(train_distribute=…)`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet.data.dataset import Dataset
from tensorfleet.estimator import input_fns
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.train.session_run_hook import SessionRunHook


def train_spec(
    estimator: Any, strategy: Any, input_fn: Callable[..., Any]
) -> tuple[EstimatorSpec, list[SessionRunHook]]:
    """The specification of all replicas as one, and the hooks of the input.

    Raises:
        ValueError: `input_fn` does not return a dataset.
    """

    def datasets(context: Any) -> Any:
        config, params = estimator.config, estimator.params
        given = {"mode": ModeKeys.TRAIN, "params": params, "config": config, "input_context": context}
        names = parameter_names(input_fn)
        made = input_fn(**{name: value for name, value in given.items() if name in names})
        if not isinstance(made, Dataset):
            raise ValueError("With a distribution strategy, input_fn must return a tf.data.Dataset.")
        return made

    iterator = strategy.make_input_fn_iterator(datasets)
    specs: list[EstimatorSpec] = []

    def replica(element: Any) -> Any:
        features, labels, _ = input_fns.features_and_labels(element)
        spec = estimator._call_model_fn(features, labels, ModeKeys.TRAIN, estimator.config)
        specs.append(spec)
        return spec.loss, spec.train_op

    strategy._scale_loss_for_estimator = True
    losses, train_ops = strategy.run(replica, (iterator.get_next(),))
    first = specs[0]
    spec = first._replace(
        loss=strategy.extended.loss_of_replicas(losses),
        train_op=strategy.group(train_ops),
        training_hooks=_distinct(hook for spec in specs for hook in spec.training_hooks),
        training_chief_hooks=_distinct(hook for spec in specs for hook in spec.training_chief_hooks),
    )
    return spec, [input_fns.DatasetInitializerHook(iterator)]


def _distinct(hooks: Iterable[SessionRunHook]) -> tuple[SessionRunHook, ...]:
    return tuple({id(hook): hook for hook in hooks}.values())
