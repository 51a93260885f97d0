"""Estimators and heads of adversarial models (`tf.contrib.gan.estimator`)."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from tensorfleet.contrib.adversarial import image_summaries, training
from tensorfleet.contrib.adversarial.building import gan_model, stargan_model, to_tensors
from tensorfleet.contrib.adversarial.losses_of_models import stargan_loss
from tensorfleet.contrib.adversarial.tuples import GANLoss, GANModel, GANTrainOps
from tensorfleet.contrib.model_variables import get_trainable_variables
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.export_outputs import PredictOutput
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph import framework
from tensorfleet.metrics.means import mean
from tensorfleet.ops.state.variable_scope import variable_scope


class SummaryType(enum.IntEnum):
    """Which summaries a GANEstimator writes (`tf.contrib.gan.estimator.SummaryType`)."""

    NONE = 0
    VARIABLES = 1
    IMAGES = 2
    IMAGE_COMPARISON = 3


_SUMMARIES: dict[SummaryType, Callable[..., None]] = {
    SummaryType.VARIABLES: image_summaries.add_gan_model_summaries,
    SummaryType.IMAGES: image_summaries.add_gan_model_image_summaries,
    SummaryType.IMAGE_COMPARISON: image_summaries.add_image_comparison_summaries,
}


def _with_mode(function: Callable[..., Any], mode: str) -> Callable[..., Any]:
    return functools.partial(function, mode=mode) if "mode" in parameter_names(function) else function


def _check_functions(
    generator_loss_fn: Any, discriminator_loss_fn: Any, use_loss_summaries: Any, get_hooks_fn: Any, error: Any
) -> None:
    if not callable(generator_loss_fn):
        raise error("generator_loss_fn must be callable.")
    if not callable(discriminator_loss_fn):
        raise error("discriminator_loss_fn must be callable.")
    if use_loss_summaries not in (True, False, None):
        raise ValueError("use_loss_summaries must be True, False or None.")
    if get_hooks_fn is not None and not callable(get_hooks_fn):
        raise TypeError("get_hooks_fn must be callable.")


def _only_generator(generator_fn: Callable[..., Any], generator_inputs: Any) -> GANModel:
    with variable_scope("Generator") as scope:
        inputs = to_tensors(generator_inputs)
        generated = generator_fn(inputs)
    return GANModel(inputs, generated, get_trainable_variables(scope), scope, generator_fn, *[None] * 6)


class GANEstimator(Estimator):
    """A GAN as an estimator, whose features are the generator's inputs, and whose labels are real data
    (`tf.contrib.gan.estimator.GANEstimator`).

    Args:
        generator_fn, discriminator_fn: as `tf.contrib.gan.gan_model` takes them; they may have the argument
            `mode`.
        generator_loss_fn, discriminator_loss_fn: of a GANModel and `add_summaries`.
        generator_optimizer, discriminator_optimizer: optimizers, or functions that make them.
        get_hooks_fn: from GANTrainOps to the hooks that run them; see
            `tf.contrib.gan.get_sequential_train_hooks`.
        get_eval_metric_ops_fn: from a GANModel to further metrics.
        add_summaries: one of SummaryType, or a list of them.
        use_loss_summaries: None to leave it to the losses.
        is_chief: for SyncReplicasOptimizers.

    Raises:
        ValueError, TypeError: an argument is no function.
    """

    def __init__(
        self,
        model_dir: Any = None,
        generator_fn: Any = None,
        discriminator_fn: Any = None,
        generator_loss_fn: Any = None,
        discriminator_loss_fn: Any = None,
        generator_optimizer: Any = None,
        discriminator_optimizer: Any = None,
        get_hooks_fn: Any = None,
        get_eval_metric_ops_fn: Any = None,
        add_summaries: Any = None,
        use_loss_summaries: bool | None = True,
        config: Any = None,
        warm_start_from: Any = None,
        is_chief: bool = True,
    ) -> None:
        _check_functions(
            generator_loss_fn, discriminator_loss_fn, use_loss_summaries, get_hooks_fn, ValueError
        )

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            made_by = _with_mode(generator_fn, mode)
            if mode == ModeKeys.PREDICT:
                if labels is not None:
                    raise ValueError(
                        f"`labels` must be `None` when mode is `predict`. Instead, found {labels}"
                    )
                return EstimatorSpec(mode, predictions=_only_generator(made_by, features).generated_data)
            judged_by = _with_mode(discriminator_fn, mode)
            model = gan_model(made_by, judged_by, labels, features, check_shapes=False)
            several = add_summaries if isinstance(add_summaries, (list, tuple)) else [add_summaries]
            with framework.name_scope(None):
                for kind in several:
                    if kind:
                        _SUMMARIES[kind](model)
            options: dict[str, Any] = (
                {} if use_loss_summaries is None else {"add_summaries": use_loss_summaries}
            )
            loss = GANLoss(generator_loss_fn(model, **options), discriminator_loss_fn(model, **options))
            if mode == ModeKeys.EVAL:
                return _evaluated(model, loss, get_eval_metric_ops_fn)
            return _trained(
                model, loss, (generator_optimizer, discriminator_optimizer), get_hooks_fn, is_chief=is_chief
            )

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _evaluated(model: Any, loss: GANLoss, metrics_fn: Any, name: str | None = None) -> EstimatorSpec:
    suffix = f"/{name}" if name else ""
    with framework.name_scope(None, "metrics"):
        metrics = {f"{part}{suffix}": mean(getattr(loss, part)) for part in loss._fields}
        if metrics_fn is not None:
            further = metrics_fn(model)
            if not isinstance(further, dict):
                raise TypeError(f"get_eval_metric_ops_fn must return a dict, received: {further}")
            metrics.update(further)
    return EstimatorSpec(
        ModeKeys.EVAL,
        predictions=model.generated_data,
        loss=loss.generator_loss + loss.discriminator_loss,
        eval_metric_ops=metrics,
    )


def _trained(
    model: Any,
    loss: GANLoss,
    optimizers: tuple[Any, Any],
    get_hooks_fn: Any,
    train_op_fn: Callable[..., GANTrainOps] = training.gan_train_ops,
    **options: Any,
) -> EstimatorSpec:
    made = [optimizer() if callable(optimizer) else optimizer for optimizer in optimizers]
    train_ops = train_op_fn(model, loss, *made, **options)
    hooks = (get_hooks_fn or training.get_sequential_train_hooks())(train_ops)
    return EstimatorSpec(
        ModeKeys.TRAIN,
        loss=loss.generator_loss + loss.discriminator_loss,
        train_op=train_ops.global_step_inc_op,
        training_hooks=hooks,
    )


class GANHead:
    """The losses, metrics and training of a GANModel, which stands for logits
    (`tf.contrib.gan.estimator.GANHead`).

    The arguments are those of GANEstimator; optimizers must be optimizers.

    Args:
        name: stands behind the names of metrics.
    """

    def __init__(
        self,
        generator_loss_fn: Any,
        discriminator_loss_fn: Any,
        generator_optimizer: Any,
        discriminator_optimizer: Any,
        use_loss_summaries: bool | None = True,
        get_hooks_fn: Any = None,
        get_eval_metric_ops_fn: Any = None,
        name: str | None = None,
    ) -> None:
        _check_functions(
            generator_loss_fn, discriminator_loss_fn, use_loss_summaries, get_hooks_fn, TypeError
        )
        if name is not None and not isinstance(name, str):
            raise TypeError("name must be string.")
        options: dict[str, Any] = {} if use_loss_summaries is None else {"add_summaries": use_loss_summaries}
        self._generator_loss_fn = functools.partial(generator_loss_fn, **options)
        self._discriminator_loss_fn = functools.partial(discriminator_loss_fn, **options)
        self._optimizers = (generator_optimizer, discriminator_optimizer)
        self._get_hooks_fn, self._get_eval_metric_ops_fn = get_hooks_fn, get_eval_metric_ops_fn
        self._name = name

    @property
    def name(self) -> str | None:
        """The name."""
        return self._name

    @property
    def logits_dimension(self) -> None:
        """None: there are no logits."""
        return None

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> GANLoss:
        """The GANLoss of a GANModel."""
        _check_model(logits, labels)
        return GANLoss(self._generator_loss_fn(logits), self._discriminator_loss_fn(logits))

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        train_op_fn: Callable[..., GANTrainOps] | None = training.gan_train_ops,
    ) -> EstimatorSpec:
        """The EstimatorSpec of a GANModel.

        Args:
            features, labels: None.
            logits: the GANModel.
            train_op_fn: from model, loss and both optimizers to GANTrainOps.

        Raises:
            ValueError: an argument is missing, or given that must be None.
        """
        _check_model(logits, labels)
        if features is not None:
            raise ValueError(f"`features` should be `None`. Instead, found: {features}")
        with framework.name_scope("GANHead"):
            if mode == ModeKeys.PREDICT:
                data = logits.generated_data
                outputs = {"predict": PredictOutput(data)}
                return EstimatorSpec(mode, predictions=data, export_outputs=outputs)
            loss = self.create_loss(None, mode, logits, None)
            if mode == ModeKeys.EVAL:
                return _evaluated(logits, loss, self._get_eval_metric_ops_fn, self._name)
            if mode != ModeKeys.TRAIN:
                raise ValueError(f"Mode not recognized: {mode}")
            if train_op_fn is None:
                raise ValueError("train_op_fn can not be None.")
            return _trained(logits, loss, self._optimizers, self._get_hooks_fn, train_op_fn)


def _check_model(logits: Any, labels: Any) -> None:
    if labels is not None:
        raise ValueError(f"The labels of a GANHead must be `None`. Instead, found: {labels}")
    if not isinstance(logits, GANModel):
        raise ValueError(f"The logits of a GANHead must be a `GANModel`. Instead, found: {logits}")


def gan_head(
    generator_loss_fn: Any,
    discriminator_loss_fn: Any,
    generator_optimizer: Any,
    discriminator_optimizer: Any,
    use_loss_summaries: bool | None = True,
    get_hooks_fn: Any = None,
    get_eval_metric_ops_fn: Any = None,
    name: str | None = None,
) -> GANHead:
    """A GANHead (`tf.contrib.gan.estimator.gan_head`)."""
    return GANHead(
        generator_loss_fn,
        discriminator_loss_fn,
        generator_optimizer,
        discriminator_optimizer,
        use_loss_summaries,
        get_hooks_fn,
        get_eval_metric_ops_fn,
        name,
    )


class StarGANEstimator(Estimator):
    """A StarGAN as an estimator, whose features are data, and whose labels are their domains
    (`tf.contrib.gan.estimator.StarGANEstimator`).

    To predict, the features are (data, target domains).

    Args:
        loss_fn: of a StarGANModel and `add_summaries`, by default `tf.contrib.gan.stargan_loss`.

    The other arguments are those of GANEstimator.
    """

    def __init__(
        self,
        model_dir: Any = None,
        generator_fn: Any = None,
        discriminator_fn: Any = None,
        loss_fn: Any = None,
        generator_optimizer: Any = None,
        discriminator_optimizer: Any = None,
        get_hooks_fn: Any = None,
        get_eval_metric_ops_fn: Any = None,
        add_summaries: Any = None,
        use_loss_summaries: bool | None = True,
        config: Any = None,
    ) -> None:
        loss_of = loss_fn or stargan_loss
        _check_functions(loss_of, loss_of, use_loss_summaries, get_hooks_fn, ValueError)

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            made_by = _with_mode(generator_fn, mode)
            if mode == ModeKeys.PREDICT:
                if labels is not None:
                    raise ValueError(
                        f"`labels` must be `None` when mode is `predict`. Instead, found {labels}"
                    )
                with variable_scope("Generator"):
                    data, domains = (to_tensors(each) for each in features)
                    return EstimatorSpec(mode, predictions=made_by(data, domains))
            model = stargan_model(made_by, _with_mode(discriminator_fn, mode), features, labels)
            if add_summaries and add_summaries != SummaryType.NONE:
                image_summaries.add_gan_model_summaries(model)
            options: dict[str, Any] = (
                {} if use_loss_summaries is None else {"add_summaries": use_loss_summaries}
            )
            loss = loss_of(model, **options)
            if mode == ModeKeys.EVAL:
                return _evaluated(model, loss, get_eval_metric_ops_fn)
            return _trained(model, loss, (generator_optimizer, discriminator_optimizer), get_hooks_fn)

        super().__init__(model_fn, model_dir, config)
