"""What an `input_fn` returns: tensors, or a dataset whose iterator a hook starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core.logging import warning
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.iterator import make_initializable_iterator
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.train.session_run_hook import SessionRunHook


class DatasetInitializerHook(SessionRunHook):
    """Puts an iterator at the beginning of its dataset in each new session."""

    def __init__(self, iterator: Any) -> None:
        self._initializer = iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def call(input_fn: Callable[..., Any], mode: str, params: Any, config: Any) -> Any:
    """The result of an `input_fn`, which gets of `mode`, `params`, `config` what it takes by name."""
    names = parameter_names(input_fn)
    values = {"mode": mode, "params": params, "config": config}
    given = {name: value for name, value in values.items() if name in names}
    with framework.device("/cpu:0"):  # preparing batches is no work for a GPU
        return input_fn(**given)


def features_and_labels(result: Any) -> tuple[Any, Any, list[SessionRunHook]]:
    """(features, labels, hooks) of what an `input_fn` returned; labels may be None.

    Raises:
        ValueError: it is a tuple of more or fewer than two.
    """
    result, hooks = _elements(result)
    if isinstance(result, (list, tuple)):
        if len(result) != 2:
            raise ValueError(
                "input_fn should return (features, labels) as a len 2 tuple: features are a tensor or a "
                f"dict of them. It has {len(result)} elements."
            )
        return result[0], result[1], hooks
    return result, None, hooks


def features_only(result: Any) -> tuple[Any, list[SessionRunHook]]:
    """(features, hooks) of what an `input_fn` returned for a prediction; labels are dropped."""
    result, hooks = _elements(result)
    if not hooks and not framework.get_collection(GraphKeys.QUEUE_RUNNERS):
        warning(
            "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict yields "
            "forever. This is probably a mistake."
        )
    if isinstance(result, (list, tuple)):
        result = result[0]
    return result, hooks


def _elements(result: Any) -> tuple[Any, list[SessionRunHook]]:
    if not isinstance(result, Dataset):
        return result, []
    iterator = make_initializable_iterator(result)
    return iterator.get_next(), [DatasetInitializerHook(iterator)]
