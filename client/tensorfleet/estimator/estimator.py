"""`tf.estimator.Estimator`: a model that is trained, evaluated, asked and exported by one object."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from tensorfleet.core.logging import info, warning
from tensorfleet.estimator import evaluating, exporting, input_fns, predicting, training_run, warm_starting
from tensorfleet.estimator.arguments import check_model_fn
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.run_config import RunConfig, chosen_device_fn
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.estimator.task_environment import TaskType
from tensorfleet.graph.graph import Graph
from tensorfleet.ops.random.random_ops import set_random_seed
from tensorfleet.train.checkpoint_management import latest_checkpoint
from tensorfleet.train.checkpoint_reader import list_variables, load_checkpoint, load_variable
from tensorfleet.train.hooks import StopAtStepHook
from tensorfleet.train.saving_hooks import CheckpointSaverListener
from tensorfleet.train.session_run_hook import SessionRunHook
from tensorfleet.train.step_count import create_global_step

_OVERRIDABLE = frozenset(("model_fn",))


class Estimator:
    """A model that is trained, evaluated, asked and exported (`tf.estimator.Estimator`).

    Each of these builds a graph of its own from `input_fn` and `model_fn`, and goes on from the newest
    checkpoint in `model_dir`.

    Args:
        model_fn: from features, labels, mode, params and config, those that it has parameters for, to an
            EstimatorSpec.
        model_dir: where checkpoints and summaries go; by default that of the config, or a temporary one.
        config: how and where to run.
        params: given to `model_fn` and `input_fn`.
        warm_start_from: a checkpoint or SavedModel, by its path, or a WarmStartSettings.

    Raises:
        ValueError: an argument is missing or contradicts another one, `model_fn` has unknown parameters, or
            a subclass overrides a method.

    Example:
        >>> def model_fn(features, labels, mode):
        ...     y = tf.layers.dense(features["x"], 1, name="y")
        ...     if mode == tf.estimator.ModeKeys.PREDICT:
        ...         return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
        ...     loss = tf.losses.mean_squared_error(labels, y)
        ...     train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        ...     return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
        >>> import numpy as np
        >>> x = np.linspace(0, 1, 64, dtype=np.float32).reshape(64, 1)
        >>> input_fn = tf.estimator.inputs.numpy_input_fn(
        ...     {"x": x}, 3 * x, batch_size=16, num_epochs=None, shuffle=True)
        >>> estimator = tf.estimator.Estimator(model_fn)
        >>> int(estimator.train(input_fn, steps=5).evaluate(input_fn, steps=2)["global_step"])
        5
    """

    def __init__(
        self,
        model_fn: Callable[..., EstimatorSpec],
        model_dir: Any = None,
        config: RunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        warm_start_from: Any = None,
    ) -> None:
        _check_overrides(type(self))
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        self._parameters = check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._config = _config(config, model_dir)
        self._params = deepcopy(params if params is not None else {})
        self._warm_start_settings = warm_starting.settings(warm_start_from)
        info(
            "Using config: %s", {**self._config._values, "task": (self.config.task_type, self.config.task_id)}
        )

    @property
    def model_dir(self) -> str:
        """Where checkpoints and summaries go."""
        model_dir = self._config.model_dir
        assert model_dir is not None
        return model_dir

    @property
    def config(self) -> RunConfig:
        """A copy of the configuration."""
        return self._config.replace()

    @property
    def params(self) -> Any:
        """A copy of the parameters."""
        return deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model as a function of features, labels, mode and config."""

        def public_model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint. Raises ValueError without one."""
        self._check_checkpoint_available()
        return load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the newest checkpoint. Raises ValueError without one."""
        self._check_checkpoint_available()
        return [name for name, _ in list_variables(self.model_dir)]

    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint; None without one."""
        return latest_checkpoint(self.model_dir)

    def eval_dir(self, name: str | None = None) -> str:
        """Where the summaries of an evaluation of that name go."""
        return os.path.join(self.model_dir, "eval" if not name else f"eval_{name}")

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Iterable[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Iterable[CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Trains until the input ends, or so many steps.

        Args:
            input_fn: from mode, params and config, those that it has parameters for, to features, or
                (features, labels), or a Dataset of them.
            hooks: called in the training loop.
            steps: how many more steps.
            max_steps: the global step at which to end; where it is reached already, nothing is done.
            saving_listeners: called around each checkpoint.

        Raises:
            ValueError: both `steps` and `max_steps` are given, one is not positive, or this process is a
                parameter server or an evaluator.
        """
        if self.config.task_type in (TaskType.EVALUATOR, TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which "
                "calls proper API according to given configuration. Current configuration: task_type "
                f"{self.config.task_type}, task_id {self.config.task_id}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        _check_positive("steps", steps)
        _check_positive("max_steps", max_steps)
        if max_steps is not None and self._trained_steps() >= max_steps:
            info("Skipping training since max_steps has already saved.")
            return self
        all_hooks = check_hooks(hooks)
        if steps is not None or max_steps is not None:
            all_hooks.append(StopAtStepHook(num_steps=steps, last_step=max_steps))
        loss = training_run.train(self, input_fn, all_hooks, _check_listeners(saving_listeners))
        info("Loss for final step: %s.", loss)
        return self

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluates the model, and writes the result as a summary.

        Args:
            input_fn: as for `train`.
            steps: how many batches; None: until the input ends.
            hooks: called in the loop.
            checkpoint_path: which one; by default the newest, and without one the initial values.
            name: of this evaluation among several.

        Returns:
            The metrics, "loss" and "global_step" by name.

        Raises:
            ValueError: `steps` is not positive, or a metric is called "loss".
        """
        _check_positive("steps", steps)
        return evaluating.evaluate(self, input_fn, steps, check_hooks(hooks), checkpoint_path, name)

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Iterable[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Gives predictions, one example after the other; nothing happens before the first is asked for.

        Args:
            input_fn: as for `train`; labels are dropped.
            predict_keys: which of the predictions, a name or a list of them.
            hooks: called in the loop.
            checkpoint_path: which one; by default the newest, and without one the initial values.
            yield_single_examples: False: give whole batches.

        Raises:
            ValueError: the predictions have batches of several lengths, or no such keys.
        """
        return predicting.predict(
            self, input_fn, predict_keys, check_hooks(hooks), checkpoint_path, yield_single_examples
        )

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Writes a SavedModel into a new directory, which has the time as its name.

        Args:
            export_dir_base: the directory above.
            serving_input_receiver_fn: to a ServingInputReceiver.
            assets_extra: paths of files, by where they go below `assets.extra`.
            as_text: write `saved_model.pbtxt`.
            checkpoint_path: which one; by default the newest.
            experimental_mode: what the graph is for.

        Returns:
            The path of the directory.

        Raises:
            ValueError: there is no checkpoint, or the receiver is missing.
        """
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        return self.experimental_export_all_saved_models(
            export_dir_base,
            {experimental_mode: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
        )

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """The older name of `export_saved_model`; default attributes are left out where this is asked for."""
        return exporting.export(
            self,
            export_dir_base,
            {ModeKeys.PREDICT: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs,
        )

    def experimental_export_all_saved_models(
        self,
        export_dir_base: Any,
        input_receiver_fn_map: Mapping[str, Callable[[], Any]],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> bytes:
        """`export_saved_model` of graphs for several modes, by the functions that make their receivers."""
        return exporting.export(
            self, export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path, True
        )

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        given: dict[str, Any] = {}
        if "labels" in self._parameters:
            given["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        for name, value in (("mode", mode), ("params", self._given_params(mode)), ("config", config)):
            if name in self._parameters:
                given[name] = value
        info("Calling model_fn.")
        spec = self._model_fn(features=features, **given)
        info("Done calling model_fn.")
        return self._checked_spec(spec)

    def _given_params(self, mode: str) -> Any:
        """The parameters that `model_fn` gets in a mode."""
        return self.params

    def _checked_spec(self, spec: Any) -> EstimatorSpec:
        """What `model_fn` returned. Raises ValueError where it is no EstimatorSpec."""
        if not isinstance(spec, EstimatorSpec):
            raise ValueError(f"model_fn should return an EstimatorSpec; it returned {spec!r}.")
        return spec

    def _input(self, input_fn: Callable[..., Any], mode: str) -> Any:
        """What `input_fn` returns for that mode."""
        return input_fns.call(input_fn, mode, self.params, self.config)

    def _start_graph(self, graph: Graph) -> Any:
        """Seeds the graph, and gives it a global step."""
        set_random_seed(self._config.tf_random_seed)
        return create_global_step(graph)

    @property
    def _device_fn(self) -> Any:
        return chosen_device_fn(self._config)

    def _checkpoint(self, given: str | None, purpose: str) -> str | None:
        """The given checkpoint, or the newest; None: the initial values are used."""
        path = given or self.latest_checkpoint()
        if not path:
            info(
                "Could not find trained model in model_dir: %s, running initialization to %s.",
                self.model_dir,
                purpose,
            )
        return path

    def _check_checkpoint_available(self) -> None:
        if not self.latest_checkpoint():
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")

    def _trained_steps(self) -> int:
        path = self.latest_checkpoint()
        if path is None:
            return 0
        reader = load_checkpoint(path)
        return int(reader.get_tensor("global_step")) if reader.has_tensor("global_step") else 0


def check_hooks(hooks: Iterable[SessionRunHook] | None) -> list[SessionRunHook]:
    """The hooks as a new list. Raises TypeError where one is none."""
    found = list(hooks or ())
    for hook in found:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return found


def _check_listeners(listeners: Iterable[CheckpointSaverListener] | None) -> list[CheckpointSaverListener]:
    found = list(listeners or ())
    for listener in found:
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
    return found


def _check_positive(name: str, steps: int | None) -> None:
    if steps is not None and steps <= 0:
        raise ValueError(f"Must specify {name} > 0, given: {steps}")


def _config(config: RunConfig | None, model_dir: Any) -> RunConfig:
    if config is None:
        config = RunConfig()
    elif not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if model_dir is not None:
        path = os.fsdecode(model_dir)
        if config.model_dir is not None and config.model_dir != path:
            raise ValueError(
                "`model_dir` are set both in constructor and `RunConfig`, but with different values. In "
                f"constructor: '{path}', in `RunConfig`: '{config.model_dir}' "
            )
        return config.replace(model_dir=path)
    if config.model_dir is not None:
        return config
    made = tempfile.mkdtemp()
    warning("Using temporary folder as model directory: %s", made)
    return config.replace(model_dir=made)


def _check_overrides(kind: type) -> None:
    """Refuses subclasses that override methods, which call each other in other ways than they may expect."""
    overridden = sorted(
        name
        for name in dir(Estimator)
        if not name.startswith("_")
        and name not in _OVERRIDABLE
        and getattr(kind, name) is not getattr(Estimator, name)
    )
    if overridden:
        raise ValueError(
            f"Subclasses of Estimator cannot override members of Estimator. {kind} does override {overridden}"
        )
