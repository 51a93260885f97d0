"""How near generated images are to real ones, by what a classifier says (`tf.contrib.gan.eval`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorfleet.contrib.plain_layers import flatten
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.import_graph import import_graph_def
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.joining import split, stack
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.functional.map_fn import map_fn
from tensorfleet.ops.image.resize_ops import resize_bilinear
from tensorfleet.ops.linalg.linalg import svd
from tensorfleet.ops.linalg.matrix_parts import diag_part, matrix_diag, trace
from tensorfleet.ops.math.comparison import less
from tensorfleet.ops.math.elementwise import exp, log, sqrt, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum
from tensorfleet.ops.nn.activation import log_softmax, softmax

INCEPTION_DEFAULT_IMAGE_SIZE = 299
INCEPTION_INPUT, INCEPTION_OUTPUT, INCEPTION_FINAL_POOL = "Mul:0", "logits:0", "pool_3:0"


def preprocess_image(
    images: Any,
    height: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    width: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    scope: str | None = None,
) -> Any:
    """Images from 0 to 255 as Inception takes them: of its size, from -1 to 1
    (`tf.contrib.gan.eval.preprocess_image`).

    Args:
        images: `[batch, height, width, channels]`, or one image.
    """
    images = convert_to_tensor(images)
    is_single = images.shape.ndims == 3
    with framework.name_scope(scope, "preprocess", [images, height, width]):
        if not images.dtype.is_floating:
            images = cast(images, dtypes.float32)
        images = resize_bilinear(images[None] if is_single else images, [height, width])
        images = (images - 128.0) / 128.0
        return images[0] if is_single else images


def get_graph_def_from_disk(filename: str) -> Any:
    """The GraphDef in a file (`tf.contrib.gan.eval.get_graph_def_from_disk`)."""
    from tensorfleet.proto.graph_pb2 import GraphDef

    with open(filename, "rb") as file:
        return GraphDef.FromString(file.read())


def run_image_classifier(
    tensor: Any, graph_def: Any, input_tensor: str, output_tensor: Any, scope: str = "RunClassifier"
) -> Any:
    """The outputs of a frozen graph (`tf.contrib.gan.eval.run_image_classifier`).

    Args:
        tensor: its input.
        graph_def: the graph.
        input_tensor: its name there.
        output_tensor: the name of an output, or a list of names.

    Raises:
        ValueError: the graph has no such tensors.
    """
    is_single = isinstance(output_tensor, str)
    names = [output_tensor] if is_single else list(output_tensor)
    found: Any = import_graph_def(graph_def, {input_tensor: tensor}, names, name=scope)
    return found[0] if is_single else found


def run_inception(
    images: Any,
    graph_def: Any = None,
    default_graph_def_fn: Callable[[], Any] | None = None,
    image_size: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    input_tensor: str = INCEPTION_INPUT,
    output_tensor: Any = INCEPTION_OUTPUT,
) -> Any:
    """What a frozen Inception says of images, as matrices (`tf.contrib.gan.eval.run_inception`).

    Args:
        images: `[batch, image_size, image_size, 3]` from `preprocess_image`.
        graph_def: the graph; `default_graph_def_fn` gets it otherwise. TensorFlow downloads one by default,
            which is not done here.

    Raises:
        ValueError: there is no graph, or images have another shape.
    """
    images = convert_to_tensor(images)
    images.shape.with_rank(4).assert_is_compatible_with([None, image_size, image_size, None])
    if graph_def is None:
        if default_graph_def_fn is None:
            raise ValueError(
                "There is no Inception of its own here: give `graph_def`, e. g. "
                "tf.contrib.gan.eval.get_graph_def_from_disk(path)."
            )
        graph_def = default_graph_def_fn()
    found = run_image_classifier(images, graph_def, input_tensor, output_tensor)
    if isinstance(found, list):
        return [each if each.shape.ndims == 2 else flatten(each) for each in found]
    return found if found.shape.ndims == 2 else flatten(found)


def _classified(classifier_fn: Callable[..., Any], batches: list[Any]) -> Any:
    """What the classifier says of each batch, one after the other, `[batches, batch, n]`."""
    return map_fn(
        classifier_fn,
        stack(batches),
        parallel_iterations=1,
        back_prop=False,
        swap_memory=True,
        name="RunClassifier",
    )


def _joined(outputs: Any) -> Any:
    """`[batches · batch, n]`."""
    return reshape(outputs, [-1, outputs.shape.as_list()[-1] or shape(outputs)[-1]])


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, computed in float64, with results of its arguments' dtype."""

    @functools.wraps(function)
    def computed(*values: Any, **kwargs: Any) -> Any:
        tensors = [convert_to_tensor(value) for value in values]
        for tensor in tensors:
            tensor.shape.assert_has_rank(2)
        dtype = tensors[0].dtype
        found = function(*(cast(tensor, dtypes.float64) for tensor in tensors), **kwargs)
        if isinstance(found, tuple):
            return tuple(cast(each, dtype) for each in found)
        return cast(found, dtype)

    return computed


@_in_double
def classifier_score_from_logits(logits: Any) -> Any:
    """exp(E[KL(p(y|x) ‖ p(y))]), the Inception score (`tf.contrib.gan.eval.classifier_score_from_logits`;
    Salimans et al., arXiv:1606.03498).

    Args:
        logits: `[images, classes]`.
    """
    p = softmax(logits)
    divergences = reduce_sum(p * (log_softmax(logits) - log(reduce_mean(p, axis=0))), axis=1)
    return exp(reduce_mean(divergences))


def classifier_score(images: Any, classifier_fn: Callable[..., Any], num_batches: int = 1) -> Any:
    """`classifier_score_from_logits` of a classifier (`tf.contrib.gan.eval.classifier_score`).

    Args:
        classifier_fn: from images to logits.
        num_batches: into how many batches the images are split for it.
    """
    outputs = _classified(classifier_fn, split(images, num_batches))
    return classifier_score_from_logits(_joined(outputs))


def _root(matrix: Any, epsilon: float = 1e-10) -> Any:
    """The root of a symmetric, positive semidefinite matrix."""
    values, left, right = svd(matrix)
    roots = where_v2(less(values, epsilon), values, sqrt(values))
    return matmul(matmul(left, matrix_diag(roots)), right, transpose_b=True)


def trace_sqrt_product(sigma: Any, sigma_v: Any) -> Any:
    """The trace of the root of the product of two covariances, which is that of √σ · σᵥ · √σ."""
    root = _root(sigma)
    return trace(_root(matmul(root, matmul(sigma_v, root))))


def _moments(activations: Any) -> tuple[Any, Any, Any]:
    """The mean, the values without it, and their number less 1."""
    mean = reduce_mean(activations, 0)
    return mean, activations - mean, cast(shape(activations)[0] - 1, dtypes.float64)


@_in_double
def frechet_classifier_distance_from_activations(real_activations: Any, generated_activations: Any) -> Any:
    """|m - mᵥ|² + trace(σ + σᵥ - 2√(σ·σᵥ)) of means and covariances
    (`tf.contrib.gan.eval.frechet_classifier_distance_from_activations`; Heusel et al., arXiv:1706.08500).

    Args:
        real_activations, generated_activations: `[images, n]`.
    """
    mean, centered, count = _moments(real_activations)
    other_mean, other_centered, _ = _moments(generated_activations)
    sigma = matmul(centered, centered, transpose_a=True) / count
    other_sigma = matmul(other_centered, other_centered, transpose_a=True) / count
    spread = trace(sigma + other_sigma) - 2.0 * trace_sqrt_product(sigma, other_sigma)
    return spread + reduce_sum(square(mean - other_mean))


@_in_double
def mean_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """|m - mᵥ|² (`tf.contrib.gan.eval.mean_only_frechet_classifier_distance_from_activations`)."""
    return reduce_sum(square(reduce_mean(real_activations, 0) - reduce_mean(generated_activations, 0)))


@_in_double
def diagonal_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """The Fréchet distance of normal distributions without covariances
    (`tf.contrib.gan.eval.diagonal_only_frechet_classifier_distance_from_activations`)."""
    mean, centered, _ = _moments(real_activations)
    other_mean, other_centered, _ = _moments(generated_activations)
    var, other_var = reduce_mean(square(centered), 0), reduce_mean(square(other_centered), 0)
    spread = reduce_sum(var + other_var) - 2.0 * reduce_sum(sqrt(var * other_var))
    return spread + reduce_sum(square(mean - other_mean))


def _of_both(
    real_images: Any, generated_images: Any, classifier_fn: Callable[..., Any], num_batches: int
) -> tuple[Any, Any]:
    batches = split(real_images, num_batches) + split(generated_images, num_batches)
    outputs = _classified(classifier_fn, batches)
    return _joined(outputs[:num_batches]), _joined(outputs[num_batches:])


def frechet_classifier_distance(
    real_images: Any, generated_images: Any, classifier_fn: Callable[..., Any], num_batches: int = 1
) -> Any:
    """`frechet_classifier_distance_from_activations` of a classifier
    (`tf.contrib.gan.eval.frechet_classifier_distance`).

    Args:
        classifier_fn: from images to activations `[images, n]`.
        num_batches: into how many batches the images are split for it.
    """
    return frechet_classifier_distance_from_activations(
        *_of_both(real_images, generated_images, classifier_fn, num_batches)
    )


@_in_double
def kernel_classifier_distance_and_std_from_activations(
    real_activations: Any, generated_activations: Any, max_block_size: int = 1024, dtype: Any = None
) -> tuple[Any, Any]:
    """The mean and standard error of the unbiased squared discrepancy by the kernel (x·y/n + 1)³
    (`tf.contrib.gan.eval.kernel_classifier_distance_and_std_from_activations`; Bińkowski et al.,
    arXiv:1801.01401).

    Args:
        real_activations, generated_activations: `[images, n]` of known shapes, with the same n.
        max_block_size: the means are over blocks of at most so many images.

    Raises:
        ValueError: a shape is not known.
    """
    for activations in (real_activations, generated_activations):
        activations.shape.assert_is_fully_defined()
    counts = [each.shape.as_list()[0] for each in (real_activations, generated_activations)]
    features = real_activations.shape.as_list()[1]
    blocks = -(-max(counts) // max_block_size)

    def kernel(x: Any, y: Any) -> Any:
        return (matmul(x, y, transpose_b=True) / float(features) + 1.0) ** 3

    found = []
    for real, generated in zip(
        split(real_activations, _sizes(counts[0], blocks)),
        split(generated_activations, _sizes(counts[1], blocks)),
        strict=True,
    ):
        own = []
        for each in (real, generated):
            products, count = kernel(each, each), float(int(each.shape[0]))
            own.append((reduce_sum(products) - reduce_sum(diag_part(products))) / (count * (count - 1)))
        found.append(own[0] + own[1] - 2.0 * reduce_mean(kernel(real, generated)))
    distances = stack(found)
    mean = reduce_mean(distances)
    if blocks == 1:
        return mean, zeros_like(mean) + float("nan")
    return mean, sqrt(reduce_sum(square(distances - mean)) / float(blocks - 1) / float(blocks))


def _sizes(count: int, blocks: int) -> list[int]:
    """Of the blocks; the last ones have the rest."""
    size, rest = divmod(count, blocks)
    return [size] * (blocks - rest) + [size + 1] * rest


def kernel_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any, max_block_size: int = 1024, dtype: Any = None
) -> Any:
    """The first of `kernel_classifier_distance_and_std_from_activations`."""
    return kernel_classifier_distance_and_std_from_activations(
        real_activations, generated_activations, max_block_size=max_block_size, dtype=dtype
    )[0]


def kernel_classifier_distance_and_std(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Callable[..., Any],
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> tuple[Any, Any]:
    """`kernel_classifier_distance_and_std_from_activations` of a classifier."""
    found: tuple[Any, Any] = kernel_classifier_distance_and_std_from_activations(
        *_of_both(real_images, generated_images, classifier_fn, num_classifier_batches),
        max_block_size=max_block_size,
        dtype=dtype,
    )
    return found


def kernel_classifier_distance(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Callable[..., Any],
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> Any:
    """The first of `kernel_classifier_distance_and_std`."""
    options = (num_classifier_batches, max_block_size, dtype)
    return kernel_classifier_distance_and_std(real_images, generated_images, classifier_fn, *options)[0]


inception_score = functools.partial(
    classifier_score, classifier_fn=functools.partial(run_inception, output_tensor=INCEPTION_OUTPUT)
)
_POOLED = functools.partial(run_inception, output_tensor=INCEPTION_FINAL_POOL)
frechet_inception_distance = functools.partial(frechet_classifier_distance, classifier_fn=_POOLED)
kernel_inception_distance = functools.partial(kernel_classifier_distance, classifier_fn=_POOLED)
kernel_inception_distance_and_std = functools.partial(
    kernel_classifier_distance_and_std, classifier_fn=_POOLED
)
