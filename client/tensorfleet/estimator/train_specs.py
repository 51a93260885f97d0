"""`tf.estimator.TrainSpec` and `tf.estimator.EvalSpec`: what `train_and_evaluate` shall do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tensorfleet.estimator.exporters import Exporter
from tensorfleet.train.saving_hooks import CheckpointSaverListener
from tensorfleet.train.session_run_hook import SessionRunHook


class _TrainFields(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[SessionRunHook, ...]
    saving_listeners: tuple[CheckpointSaverListener, ...]


class TrainSpec(_TrainFields):
    """The training of `train_and_evaluate` (`tf.estimator.TrainSpec`).

    Args:
        input_fn: as for `Estimator.train`.
        max_steps: the global step at which to end; None: where the input ends.
        hooks: of all processes that train.
        saving_listeners: of the chief.

    Raises:
        TypeError: `input_fn` cannot be called, or a hook is none.
        ValueError: `max_steps` is not positive.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        saving_listeners: Iterable[CheckpointSaverListener] | None = None,
    ) -> TrainSpec:
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, _hooks(hooks), tuple(saving_listeners or ()))


class _EvalFields(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[SessionRunHook, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_EvalFields):
    """The evaluations of `train_and_evaluate` (`tf.estimator.EvalSpec`).

    Args:
        input_fn: as for `Estimator.evaluate`.
        steps: how many batches; None: until the input ends.
        name: of the evaluation among several.
        hooks: called in the loop.
        exporters: one, or several of different names.
        start_delay_secs: how long an evaluator waits before it begins.
        throttle_secs: the shortest time from the begin of one evaluation to that of the next.

    Raises:
        TypeError: `input_fn` cannot be called, or a hook or exporter is none.
        ValueError: a number is negative, a name is empty, or two exporters have one name.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        if start_delay_secs < 0:
            raise ValueError(f"Must specify start_delay_secs >= 0, given: {start_delay_secs}")
        if throttle_secs < 0:
            raise ValueError(f"Must specify throttle_secs >= 0, given: {throttle_secs}")
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            _hooks(hooks),
            _exporters(exporters),
            start_delay_secs,
            throttle_secs,
        )


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _hooks(hooks: Iterable[SessionRunHook] | None) -> tuple[SessionRunHook, ...]:
    found = tuple(hooks or ())
    for hook in found:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return found


def _exporters(exporters: Any) -> tuple[Exporter, ...]:
    found = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters or ())
    names: set[str] = set()
    for exporter in found:
        if not isinstance(exporter, Exporter):
            raise TypeError(f"`exporters` must be Exporters, given: {exporter}")
        if not exporter.name:
            raise ValueError(f"An Exporter cannot have a name that is empty, given: {exporter}")
        if exporter.name in names:
            raise ValueError(f"`exporters` must have unique names: {exporter.name!r} appears more than once")
        names.add(exporter.name)
    return found
