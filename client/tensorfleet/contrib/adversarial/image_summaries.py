"""Summaries of adversarial models, and images side by side (`tf.contrib.gan.eval`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from tensorfleet.contrib.adversarial.tuples import CycleGANModel
from tensorfleet.graph import framework
from tensorfleet.losses.collection import get_regularization_loss
from tensorfleet.ops.array.casting import to_float
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.joining import concat, stack, unstack
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.elementwise import abs as absolute


def image_grid(
    input_tensor: Any,
    grid_shape: tuple[int, int],
    image_shape: Sequence[int] = (32, 32),
    num_channels: int = 3,
) -> Any:
    """Images in rows and columns, as one (`tf.contrib.gan.eval.image_grid`).

    Args:
        input_tensor: `[rows · columns, height · width · channels]`, or that in more dimensions.
        grid_shape: rows and columns.
        image_shape: height and width.

    Returns:
        `[1, rows · height, columns · width, channels]`.

    Raises:
        ValueError: the number of images is another one.
    """
    rows, columns = grid_shape
    count = input_tensor.shape.as_list()[0]
    if count is not None and rows * columns != count:
        raise ValueError(f"Grid shape {tuple(grid_shape)} incompatible with minibatch size {count}.")
    if input_tensor.shape.ndims not in (2, 4):
        raise ValueError("Unrecognized input tensor format.")
    height, width = image_shape
    images = reshape(input_tensor, [rows, columns, height, width, num_channels])
    images = transpose(images, [0, 2, 1, 3, 4])
    return reshape(images, [1, rows * height, columns * width, num_channels])


def image_reshaper(images: Any, num_cols: int | None = None) -> Any:
    """Images in columns, as one (`tf.contrib.gan.eval.image_reshaper`).

    Args:
        images: a list of `[height, width, channels]`, or one tensor of them.
        num_cols: by default a row for all.

    Returns:
        `[1, rows · height, columns · width, channels]`; what is left of the last row is 0.
    """
    each = list(images) if isinstance(images, (list, tuple)) else unstack(images)
    columns = num_cols or len(each)
    rows = -(-len(each) // columns)
    each += [zeros_like(each[-1])] * (rows * columns - len(each))
    lines = [concat(each[row * columns : (row + 1) * columns], 1) for row in range(rows)]
    return stack([concat(lines, 0)])


def _in_both_directions(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A function of a GANModel also takes a CycleGANModel, in name scopes of its directions."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def of_model(gan_model: Any, *args: Any, **kwargs: Any) -> None:
            if not isinstance(gan_model, CycleGANModel):
                function(gan_model, *args, **kwargs)
                return
            for direction, part in (("x2y", gan_model.model_x2y), ("y2x", gan_model.model_y2x)):
                with framework.name_scope(f"cyclegan_{direction}_{name}"):
                    function(part, *args, **kwargs)

        of_model.__name__, of_model.__doc__ = function.__name__, function.__doc__
        return of_model

    return decorate


def _check_image(data: Any) -> None:
    data.shape.assert_has_rank(4)
    data.shape[1:].assert_is_fully_defined()


@_in_both_directions("summaries")
def add_gan_model_summaries(gan_model: Any) -> None:
    """A histogram of each variable (`tf.contrib.gan.eval.add_gan_model_summaries`)."""
    for part, variables in (
        ("generator", gan_model.generator_variables),
        ("discriminator", gan_model.discriminator_variables),
    ):
        with framework.name_scope(f"{part}_variables"):
            for variable in variables:
                summary.histogram(variable.op.name, variable)


@_in_both_directions("image_summaries")
def add_gan_model_image_summaries(gan_model: Any, grid_size: int = 4, model_summaries: bool = True) -> None:
    """A square of real and one of generated images (`tf.contrib.gan.eval.add_gan_model_image_summaries`).

    Args:
        gan_model: of images.
        grid_size: the number of rows, and of columns.
        model_summaries: whether the variables get their summaries as well.

    Raises:
        ValueError: the data are no images.
    """
    for name in ("real_data", "generated_data"):
        data = getattr(gan_model, name)
        _check_image(data)
        _, height, width, channels = data.shape.as_list()
        grid = image_grid(data[: grid_size**2], (grid_size, grid_size), (height, width), channels)
        summary.image(name, grid, max_outputs=1)
    if model_summaries:
        add_gan_model_summaries(gan_model)


@_in_both_directions("image_comparison_summaries")
def add_image_comparison_summaries(
    gan_model: Any, num_comparisons: int = 2, display_diffs: bool = False
) -> None:
    """The generator's inputs over what it made of them, over real data
    (`tf.contrib.gan.eval.add_image_comparison_summaries`).

    Args:
        gan_model: from images to images of one size.
        num_comparisons: how many columns.
        display_diffs: whether the last row has the differences of generated and real data.

    Raises:
        ValueError: these are no images, or not of one size.
    """
    rows = [gan_model.generator_inputs, gan_model.generated_data, gan_model.real_data]
    for data in rows:
        _check_image(data)
    for before, after in pairwise(rows):
        after.shape.assert_is_compatible_with(before.shape)
    rows = [data[:num_comparisons] for data in rows]
    if display_diffs:
        rows.append(absolute(to_float(rows[1]) - to_float(rows[2])))
    images = [image for data in rows for image in unstack(data, num=num_comparisons)]
    summary.image("image_comparison", image_reshaper(images, num_comparisons), max_outputs=1)


@_in_both_directions("regularization_loss_summaries")
def add_regularization_loss_summaries(gan_model: Any) -> None:
    """The regularization losses of each part (`tf.contrib.gan.eval.add_regularization_loss_summaries`)."""
    for part in ("generator", "discriminator"):
        scope = getattr(gan_model, f"{part}_scope")
        if scope:
            summary.scalar(f"{part}_regularization_loss", get_regularization_loss(scope.name))
