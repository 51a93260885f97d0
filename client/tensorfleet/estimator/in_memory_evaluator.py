"""`tf.estimator.experimental.InMemoryEvaluatorHook`: evaluations during training, without checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet.estimator import evaluating
from tensorfleet.estimator.estimator import Estimator, check_hooks
from tensorfleet.graph import framework
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state.variable_ops import assign
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_run_hook import SessionRunContext, SessionRunHook, SessionRunValues
from tensorfleet.train.timers import SecondOrStepTimer


class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates the model at the start, each so many runs and at the end, with the variables as they are.

    `tf.estimator.experimental.InMemoryEvaluatorHook`; it is for training on one machine.

    Args:
        estimator: the model.
        input_fn, steps, hooks, name: as for `Estimator.evaluate`.
        every_n_iter: runs between two evaluations.

    Raises:
        ValueError: `every_n_iter` is not positive, or there is a cluster.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator = estimator
        self._input_fn = input_fn
        self._steps = steps
        self._hooks = check_hooks(hooks)
        self._name = name
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._runs = 0
        trained = _variables()
        self._graph = Graph()
        with self._graph.as_default():
            built = evaluating.build(self._estimator, self._input_fn, self._hooks, self._steps)
            self._scaffold, self._update, self._results, self._all_hooks = built
            if self._scaffold.saver is not None:
                raise ValueError("InMemoryEvaluator does not support custom saver")
            if self._scaffold.init_fn is not None:
                raise ValueError("InMemoryEvaluator does not support custom init_fn")
            targets = {name: variable for name, variable in _variables().items() if name in trained}
            self._feeds = {
                name: placeholder(variable.dtype.base, variable.shape) for name, variable in targets.items()
            }
            self._take = group(*(assign(targets[name], feed) for name, feed in self._feeds.items()))
        self._trained = {name: trained[name] for name in self._feeds}

    def after_create_session(self, session: Any, coord: Any) -> None:
        if framework.get_collection(GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError("InMemoryEvaluator does not support saveables other than global variables.")
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._runs += 1
        if self._timer.should_trigger_for_step(self._runs):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        self._evaluate(session)

    def _evaluate(self, train_session: Any) -> None:
        values = train_session.run(self._trained)
        feeds = {self._feeds[name]: value for name, value in values.items()}

        def take(scaffold: Scaffold, session: Any) -> None:
            session.run(self._take, feeds)

        with self._graph.as_default():
            evaluating.run(
                self._estimator,
                Scaffold(init_fn=take, copy_from_scaffold=self._scaffold),
                self._update,
                self._results,
                self._all_hooks,
                None,
                self._name,
            )
        self._timer.update_last_triggered_step(self._runs)


def _variables() -> dict[str, Any]:
    return {variable.name: variable for variable in framework.get_collection(GraphKeys.GLOBAL_VARIABLES)}
