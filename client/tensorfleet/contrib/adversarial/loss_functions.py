"""Losses of generative adversarial networks, of tensors (`tf.contrib.gan.losses.wargs`).

They take the discriminator's outputs, of rank 1 or higher. `weights` are broadcast to these, `reduction` is
one of `tf.losses.Reduction`, and the loss goes into `loss_collection`.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.losses.collection import add_loss
from tensorfleet.losses.weighted import (
    Reduction,
    compute_weighted_loss,
    sigmoid_cross_entropy,
    softmax_cross_entropy,
)
from tensorfleet.ops.array.casting import to_float
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.arithmetic import squared_difference

_LOSSES = GraphKeys.LOSSES
_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


def _of_both(kind: str, generated: Any, real: Any, loss: Any, collection: Any, add_summaries: bool) -> Any:
    """A discriminator's loss, which is made of those on generated and on real data."""
    add_loss(loss, collection)
    if add_summaries:
        summary.scalar(f"discriminator_gen_{kind}_loss", generated)
        summary.scalar(f"discriminator_real_{kind}_loss", real)
        summary.scalar(f"discriminator_{kind}_loss", loss)
    return loss


def _same_shapes(real: Any, generated: Any) -> tuple[Any, Any]:
    """Both as float32.

    Raises:
        ValueError: their shapes differ.
    """
    real, generated = to_float(real), to_float(generated)
    real.shape.assert_is_compatible_with(generated.shape)
    return real, generated


def wasserstein_generator_loss(
    discriminator_gen_outputs: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """-D(G(z)) (Arjovsky et al., arXiv:1701.07875)."""
    with framework.name_scope(scope, "generator_wasserstein_loss") as full:
        losses = -to_float(discriminator_gen_outputs)
        loss = compute_weighted_loss(losses, weights, full, loss_collection, reduction)
        if add_summaries:
            summary.scalar("generator_wass_loss", loss)
    return loss


def wasserstein_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """D(G(z)) - D(x) (Arjovsky et al., arXiv:1701.07875).

    Raises:
        ValueError: the shapes of both outputs differ.
    """
    with framework.name_scope(scope, "discriminator_wasserstein_loss") as full:
        real, generated = _same_shapes(discriminator_real_outputs, discriminator_gen_outputs)
        on_generated = compute_weighted_loss(generated, generated_weights, full, None, reduction)
        on_real = compute_weighted_loss(real, real_weights, full, None, reduction)
        loss = on_generated - on_real
        return _of_both("wass", on_generated, on_real, loss, loss_collection, add_summaries)


def acgan_discriminator_loss(
    discriminator_real_classification_logits: Any,
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    label_smoothing: float = 0.0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """The cross entropy of the classes of real and of generated data (Odena et al., arXiv:1610.09585).

    Args:
        label_smoothing: of the labels of real data.
    """
    with framework.name_scope(scope, "acgan_discriminator_loss") as full:
        on_generated = softmax_cross_entropy(
            one_hot_labels,
            discriminator_gen_classification_logits,
            generated_weights,
            0,
            full,
            None,
            reduction,
        )
        on_real = softmax_cross_entropy(
            one_hot_labels,
            discriminator_real_classification_logits,
            real_weights,
            label_smoothing,
            full,
            None,
            reduction,
        )
        loss = on_generated + on_real
        return _of_both("ac", on_generated, on_real, loss, loss_collection, add_summaries)


def acgan_generator_loss(
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """The cross entropy of the classes of generated data (Odena et al., arXiv:1610.09585)."""
    with framework.name_scope(scope, "acgan_generator_loss") as full:
        loss = softmax_cross_entropy(
            one_hot_labels,
            discriminator_gen_classification_logits,
            weights,
            0,
            full,
            loss_collection,
            reduction,
        )
        if add_summaries:
            summary.scalar("generator_ac_loss", loss)
    return loss


def minimax_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """-log(sigmoid(D(x))) - log(1 - sigmoid(D(G(z)))) (Goodfellow et al., arXiv:1406.2661).

    Args:
        label_smoothing: of the labels of real data.
    """
    with framework.name_scope(scope, "discriminator_minimax_loss") as full:
        real, generated = (
            convert_to_tensor(x) for x in (discriminator_real_outputs, discriminator_gen_outputs)
        )
        on_real = sigmoid_cross_entropy(
            ones_like(real), real, real_weights, label_smoothing, full, None, reduction
        )
        on_generated = sigmoid_cross_entropy(
            zeros_like(generated), generated, generated_weights, 0, full, None, reduction
        )
        loss = on_real + on_generated
        return _of_both("minimax", on_generated, on_real, loss, loss_collection, add_summaries)


def minimax_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """The discriminator's minimax loss with the other sign, where real data has the output 1 (Goodfellow et
    al., arXiv:1406.2661). The collection gets the discriminator's, as in TensorFlow."""
    with framework.name_scope(scope, "generator_minimax_loss") as full:
        loss = -minimax_discriminator_loss(
            ones_like(discriminator_gen_outputs),
            discriminator_gen_outputs,
            label_smoothing,
            weights,
            weights,
            full,
            loss_collection,
            reduction,
        )
    if add_summaries:
        summary.scalar("generator_minimax_loss", loss)
    return loss


def modified_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """`minimax_discriminator_loss` by another name."""
    return minimax_discriminator_loss(
        discriminator_real_outputs,
        discriminator_gen_outputs,
        label_smoothing,
        real_weights,
        generated_weights,
        scope or "discriminator_modified_loss",
        loss_collection,
        reduction,
        add_summaries,
    )


def modified_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """-log(sigmoid(D(G(z)))) (Goodfellow et al., arXiv:1406.2661, section 3)."""
    with framework.name_scope(scope, "generator_modified_loss") as full:
        outputs = convert_to_tensor(discriminator_gen_outputs)
        loss = sigmoid_cross_entropy(
            ones_like(outputs), outputs, weights, label_smoothing, full, loss_collection, reduction
        )
        if add_summaries:
            summary.scalar("generator_modified_loss", loss)
    return loss


def least_squares_generator_loss(
    discriminator_gen_outputs: Any,
    real_label: Any = 1,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """(D(G(z)) - `real_label`)² / 2 (Mao et al., arXiv:1611.04076)."""
    with framework.name_scope(scope, "lsq_generator_loss") as full:
        losses = squared_difference(to_float(discriminator_gen_outputs), float(real_label)) / 2.0
        loss = compute_weighted_loss(losses, weights, full, loss_collection, reduction)
    if add_summaries:
        summary.scalar("generator_lsq_loss", loss)
    return loss


def least_squares_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_label: Any = 1,
    fake_label: Any = 0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """(D(x) - `real_label`)² / 2 + (D(G(z)) - `fake_label`)² / 2 (Mao et al., arXiv:1611.04076).

    Raises:
        ValueError: the shapes of both outputs differ.
    """
    with framework.name_scope(scope, "lsq_discriminator_loss") as full:
        real, generated = _same_shapes(discriminator_real_outputs, discriminator_gen_outputs)
        on_real = compute_weighted_loss(
            squared_difference(real, float(real_label)) / 2.0, real_weights, full, None, reduction
        )
        on_generated = compute_weighted_loss(
            squared_difference(generated, float(fake_label)) / 2.0, generated_weights, full, None, reduction
        )
    return _of_both("lsq", on_generated, on_real, on_real + on_generated, loss_collection, add_summaries)
