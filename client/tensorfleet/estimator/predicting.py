"""The predictions of an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tensorfleet.estimator import input_fns
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.graph.graph import Graph
from tensorfleet.train.monitored_session import MonitoredSession
from tensorfleet.train.session_creator import ChiefSessionCreator
from tensorfleet.train.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from tensorfleet.estimator.estimator import Estimator


def predict(
    estimator: Estimator,
    input_fn: Callable[..., Any],
    predict_keys: Any,
    hooks: list[SessionRunHook],
    checkpoint_path: str | None,
    yield_single_examples: bool,
) -> Iterator[Any]:
    """Predictions, example by example or batch by batch."""
    path = estimator._checkpoint(checkpoint_path, "predict")
    graph = Graph()
    with graph.as_default():
        estimator._start_graph(graph)
        features, input_hooks = input_fns.features_only(estimator._input(input_fn, ModeKeys.PREDICT))
        spec = estimator._call_model_fn(features, None, ModeKeys.PREDICT, estimator.config)
        fetches = _chosen(spec.predictions, predict_keys)
        creator = ChiefSessionCreator(
            scaffold=spec.scaffold,
            checkpoint_filename_with_path=path,
            master=estimator.config.master,
            config=estimator.config.session_config,
        )
        monitored = MonitoredSession(creator, [*input_hooks, *hooks, *spec.prediction_hooks])
    with monitored as session:
        while not session.should_stop():
            # The caller has its own default graph while it handles what is yielded.
            with graph.as_default():
                values = session.run(fetches)
            if not yield_single_examples:
                yield values
            elif not isinstance(values, Mapping):
                yield from values
            else:
                for index in range(_batch_length(values)):
                    yield {key: value[index] for key, value in values.items()}


def _chosen(predictions: Any, keys: Any) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, Mapping):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    wanted = [keys] if isinstance(keys, str) else list(keys)
    chosen = {key: value for key, value in predictions.items() if key in wanted}
    if not chosen:
        raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {wanted}.")
    return chosen


def _batch_length(values: Mapping[str, Any]) -> int:
    lengths = {key: len(value) for key, value in values.items()}
    first = next(iter(lengths))
    for key, length in lengths.items():
        if length != lengths[first]:
            raise ValueError(
                f"Batch length of predictions should be same. {first} has {lengths[first]}, {key} has "
                f"{length}. With yield_single_examples=False whole batches are given, of whatever length."
            )
    return lengths[first]
