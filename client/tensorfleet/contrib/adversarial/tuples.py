"""The records of `tf.contrib.gan`: models, losses and training operations."""

from __future__ import annotations

from typing import Any, NamedTuple


# None of these is an instance of another, as in TensorFlow.
class GANModel(NamedTuple):
    """A generator and a discriminator, their inputs, outputs and variables (`tf.contrib.gan.GANModel`)."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class InfoGANModel(NamedTuple):
    """A GANModel whose discriminator also predicts some of the generator's inputs, as distributions
    (`tf.contrib.gan.InfoGANModel`; Chen et al., arXiv:1606.03657)."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    structured_generator_inputs: Any
    predicted_distributions: Any
    discriminator_and_aux_fn: Any


class ACGANModel(NamedTuple):
    """A GANModel whose discriminator also classifies (`tf.contrib.gan.ACGANModel`; Odena et al.,
    arXiv:1610.09585)."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    one_hot_labels: Any
    discriminator_real_classification_logits: Any
    discriminator_gen_classification_logits: Any


class CycleGANModel(NamedTuple):
    """A model from X to Y, one from Y to X, and what both in turn make of their inputs
    (`tf.contrib.gan.CycleGANModel`; Zhu et al., arXiv:1703.10593)."""

    model_x2y: Any
    model_y2x: Any
    reconstructed_x: Any
    reconstructed_y: Any


class StarGANModel(NamedTuple):
    """One generator between several domains (`tf.contrib.gan.StarGANModel`; Choi et al.,
    arXiv:1711.09020). The spelling of "predication" is TensorFlow's."""

    input_data: Any
    input_data_domain_label: Any
    generated_data: Any
    generated_data_domain_target: Any
    reconstructed_data: Any
    discriminator_input_data_source_predication: Any
    discriminator_generated_data_source_predication: Any
    discriminator_input_data_domain_predication: Any
    discriminator_generated_data_domain_predication: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class GANLoss(NamedTuple):
    """The losses of both parts (`tf.contrib.gan.GANLoss`)."""

    generator_loss: Any
    discriminator_loss: Any


class CycleGANLoss(NamedTuple):
    """The GANLoss of each direction (`tf.contrib.gan.CycleGANLoss`)."""

    loss_x2y: Any
    loss_y2x: Any


class GANTrainOps(NamedTuple):
    """The operations that train both parts, the one that counts steps, and hooks that these need
    (`tf.contrib.gan.GANTrainOps`)."""

    generator_train_op: Any
    discriminator_train_op: Any
    global_step_inc_op: Any
    train_hooks: Any = ()


class GANTrainSteps(NamedTuple):
    """How often each part is trained in one step (`tf.contrib.gan.GANTrainSteps`)."""

    generator_train_steps: int
    discriminator_train_steps: int
