"""`tf.contrib.image`: projective transforms and warps of images, splines, and matches of boxes."""

import typing as _typing

from tensorfleet.contrib.image_matching import bipartite_match as bipartite_match
from tensorfleet.contrib.image_transforms import (
    angles_to_projective_transforms as angles_to_projective_transforms,
    compose_transforms as compose_transforms,
    flat_transforms_to_matrices as flat_transforms_to_matrices,
    matrices_to_flat_transforms as matrices_to_flat_transforms,
    rotate as rotate,
    transform as transform,
    translate as translate,
    translations_to_projective_transforms as translations_to_projective_transforms,
)
from tensorfleet.contrib.image_warps import (
    dense_image_warp as dense_image_warp,
    interpolate_spline as interpolate_spline,
    sparse_image_warp as sparse_image_warp,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
