"""`tf.contrib.gan.eval`: summaries of adversarial models, and distances of real and generated data."""

import typing as _typing

from tensorfleet.contrib.adversarial.classifier_metrics import (
    INCEPTION_DEFAULT_IMAGE_SIZE as INCEPTION_DEFAULT_IMAGE_SIZE,
    INCEPTION_FINAL_POOL as INCEPTION_FINAL_POOL,
    INCEPTION_INPUT as INCEPTION_INPUT,
    INCEPTION_OUTPUT as INCEPTION_OUTPUT,
    classifier_score as classifier_score,
    classifier_score_from_logits as classifier_score_from_logits,
    diagonal_only_frechet_classifier_distance_from_activations as diagonal_only_frechet_classifier_distance_from_activations,  # noqa: E501
    frechet_classifier_distance as frechet_classifier_distance,
    frechet_classifier_distance_from_activations as frechet_classifier_distance_from_activations,
    frechet_inception_distance as frechet_inception_distance,
    get_graph_def_from_disk as get_graph_def_from_disk,
    inception_score as inception_score,
    kernel_classifier_distance as kernel_classifier_distance,
    kernel_classifier_distance_and_std as kernel_classifier_distance_and_std,
    kernel_classifier_distance_and_std_from_activations as kernel_classifier_distance_and_std_from_activations,  # noqa: E501
    kernel_classifier_distance_from_activations as kernel_classifier_distance_from_activations,
    kernel_inception_distance as kernel_inception_distance,
    kernel_inception_distance_and_std as kernel_inception_distance_and_std,
    mean_only_frechet_classifier_distance_from_activations as mean_only_frechet_classifier_distance_from_activations,  # noqa: E501
    preprocess_image as preprocess_image,
    run_image_classifier as run_image_classifier,
    run_inception as run_inception,
)
from tensorfleet.contrib.adversarial.image_summaries import (
    add_gan_model_image_summaries as add_gan_model_image_summaries,
    add_gan_model_summaries as add_gan_model_summaries,
    add_image_comparison_summaries as add_image_comparison_summaries,
    add_regularization_loss_summaries as add_regularization_loss_summaries,
    image_grid as image_grid,
    image_reshaper as image_reshaper,
)
from tensorfleet.contrib.adversarial.sliced_wasserstein import (
    sliced_wasserstein_distance as sliced_wasserstein_distance,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
