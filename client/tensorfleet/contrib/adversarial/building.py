"""Generators and discriminators put together: `tf.contrib.gan.gan_model` and its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.contrib.adversarial.penalties import check_distributions
from tensorfleet.contrib.adversarial.tuples import (
    ACGANModel,
    CycleGANModel,
    GANModel,
    InfoGANModel,
    StarGANModel,
)
from tensorfleet.contrib.model_variables import get_trainable_variables
from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.indexing import one_hot
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.random.random_ops import random_uniform
from tensorfleet.ops.state.variable_scope import variable_scope


def to_tensors(values: Any) -> Any:
    """A tensor, or a list or dict of them."""
    if isinstance(values, (list, tuple)):
        return [convert_to_tensor(value) for value in values]
    if isinstance(values, dict):
        return {key: convert_to_tensor(value) for key, value in values.items()}
    return convert_to_tensor(values)


def _check_shapes(generated: Any, real: Any) -> None:
    if not generated.shape.is_compatible_with(real.shape):
        raise ValueError(
            f"Generator output shape ({generated.shape}) must be the same shape as real data ({real.shape})."
        )


def _parts(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    scopes: tuple[Any, Any],
    check_shapes: bool,
    outputs_of: Callable[[Any], tuple[Any, Any]],
) -> tuple[list[Any], list[Any], Any, Any]:
    """The fields of a GANModel up to the real data, those of the discriminator's variables, and what
    `outputs_of` makes of its outputs: those on real data, and those on generated data."""
    with variable_scope(scopes[0]) as generator_scope:
        generator_inputs = to_tensors(generator_inputs)
        generated = generator_fn(generator_inputs)
    with variable_scope(scopes[1]) as discriminator_scope:
        of_generated = outputs_of(discriminator_fn(generated, generator_inputs))
    with variable_scope(discriminator_scope, reuse=True):
        real_data = convert_to_tensor(real_data)
        of_real = outputs_of(discriminator_fn(real_data, generator_inputs))
    if check_shapes:
        _check_shapes(generated, real_data)
    variables = get_trainable_variables(generator_scope)
    first = [generator_inputs, generated, variables, generator_scope, generator_fn, real_data]
    last = [get_trainable_variables(discriminator_scope), discriminator_scope]
    return first, last, of_real, of_generated


def gan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> GANModel:
    """A generator, and a discriminator on real and on generated data (`tf.contrib.gan.gan_model`).

    Args:
        generator_fn: from `generator_inputs` to data.
        discriminator_fn: from data and `generator_inputs` to outputs of any value.
        real_data: a tensor.
        generator_inputs: a tensor, or a list or dict of them.
        generator_scope, discriminator_scope: variable scopes, or their names.
        check_shapes: whether generated data must have the shape of real data.

    Raises:
        ValueError: their shapes differ.
    """
    scopes = (generator_scope, discriminator_scope)
    first, last, (real, _), (generated, _) = _parts(
        generator_fn,
        discriminator_fn,
        real_data,
        generator_inputs,
        scopes,
        check_shapes,
        lambda outputs: (outputs, None),
    )
    return GANModel._make((*first, real, generated, *last, discriminator_fn))


def infogan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    unstructured_generator_inputs: Sequence[Any],
    structured_generator_inputs: Sequence[Any],
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> InfoGANModel:
    """A GAN whose discriminator also predicts inputs of the generator (`tf.contrib.gan.infogan_model`).

    Args:
        discriminator_fn: to (outputs, one distribution for each structured input).
        unstructured_generator_inputs, structured_generator_inputs: lists of tensors; the generator takes
            both as one list.

    Raises:
        ValueError: generated data has not the shape of real data, or the distributions are wrong.
    """
    structured = to_tensors(structured_generator_inputs)

    def outputs_of(outputs: Any) -> tuple[Any, Any]:
        check_distributions(outputs[1], structured)
        return outputs[0], outputs[1]

    first, last, (real, _), (generated, predicted) = _parts(
        generator_fn,
        discriminator_fn,
        real_data,
        to_tensors(unstructured_generator_inputs) + structured,
        (generator_scope, discriminator_scope),
        True,
        outputs_of,
    )
    return InfoGANModel._make(
        (
            *first,
            real,
            generated,
            *last,
            lambda data, inputs: discriminator_fn(data, inputs)[0],
            structured,
            predicted,
            discriminator_fn,
        )
    )


def acgan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    one_hot_labels: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> ACGANModel:
    """A GAN whose discriminator also classifies (`tf.contrib.gan.acgan_model`).

    Args:
        discriminator_fn: to (outputs, logits of the classes).
        one_hot_labels: `[batch, classes]`.

    Raises:
        ValueError: generated data has not the shape of real data.
        TypeError: the discriminator does not return a pair.
    """
    first, last, (real, real_logits), (generated, logits) = _parts(
        generator_fn,
        discriminator_fn,
        real_data,
        generator_inputs,
        (generator_scope, discriminator_scope),
        check_shapes,
        _pair,
    )
    return ACGANModel._make(
        (*first, real, generated, *last, discriminator_fn, one_hot_labels, real_logits, logits)
    )


def _pair(outputs: Any) -> tuple[Any, Any]:
    if not isinstance(outputs, (list, tuple)) or len(outputs) != 2:
        raise TypeError(
            "A discriminator function for ACGAN must output a tuple consisting of (discrimination logits, "
            "classification logits)."
        )
    return outputs[0], outputs[1]


def cyclegan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    data_x: Any,
    data_y: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    model_x2y_scope: Any = "ModelX2Y",
    model_y2x_scope: Any = "ModelY2X",
    check_shapes: bool = True,
) -> CycleGANModel:
    """Two GANs, from X to Y and from Y to X (`tf.contrib.gan.cyclegan_model`).

    Args:
        generator_fn: from data of one set to data of the other.
        discriminator_fn: from data, and the generator's input, to outputs.
        data_x, data_y: tensors.

    Raises:
        ValueError: generated data has not the shape of the other set's.
    """
    scopes = (generator_scope, discriminator_scope, check_shapes)
    with variable_scope(model_x2y_scope):
        x2y = gan_model(generator_fn, discriminator_fn, data_y, data_x, *scopes)
    with variable_scope(model_y2x_scope):
        y2x = gan_model(generator_fn, discriminator_fn, data_x, data_y, *scopes)
    with variable_scope(y2x.generator_scope, reuse=True):
        reconstructed_x = y2x.generator_fn(x2y.generated_data)
    with variable_scope(x2y.generator_scope, reuse=True):
        reconstructed_y = x2y.generator_fn(y2x.generated_data)
    return CycleGANModel(x2y, y2x, reconstructed_x, reconstructed_y)


def stargan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    input_data: Any,
    input_data_domain_label: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> StarGANModel:
    """A GAN between several domains, with random targets (`tf.contrib.gan.stargan_model`).

    Args:
        generator_fn: from data and the one-hot targets `[batch, domains]` to data.
        discriminator_fn: from data and the number of domains to (outputs, logits of the domains).
        input_data: a tensor, or a list that is joined.
        input_data_domain_label: one-hot `[batch, domains]`, or a list of such that is joined.

    Raises:
        ValueError: the shape of the labels is not fully known.
    """
    data, labels = to_tensors(input_data), to_tensors(input_data_domain_label)
    data = concat(data, 0) if isinstance(data, list) else data
    labels = concat(labels, 0) if isinstance(labels, list) else labels
    labels.shape.assert_has_rank(2)
    labels.shape.assert_is_fully_defined()
    batch, domains = labels.shape.as_list()
    with variable_scope(generator_scope) as generator_scope:
        target = one_hot(random_uniform([batch], maxval=domains, dtype=dtypes.int32), domains)
        generated = generator_fn(data, target)
    with variable_scope(generator_scope, reuse=True):
        reconstructed = generator_fn(generated, labels)
    with variable_scope(discriminator_scope) as discriminator_scope:
        generated_source, generated_domain = discriminator_fn(generated, domains)
    with variable_scope(discriminator_scope, reuse=True):
        source, domain = discriminator_fn(data, domains)
    return StarGANModel(
        input_data=data,
        input_data_domain_label=labels,
        generated_data=generated,
        generated_data_domain_target=target,
        reconstructed_data=reconstructed,
        discriminator_input_data_source_predication=source,
        discriminator_generated_data_source_predication=generated_source,
        discriminator_input_data_domain_predication=domain,
        discriminator_generated_data_domain_predication=generated_domain,
        generator_variables=get_trainable_variables(generator_scope),
        generator_scope=generator_scope,
        generator_fn=generator_fn,
        discriminator_variables=get_trainable_variables(discriminator_scope),
        discriminator_scope=discriminator_scope,
        discriminator_fn=discriminator_fn,
    )
