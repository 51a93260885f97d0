"""Calls of `tf.image` that are made both of TensorFlow and of this library."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

Build = Callable[[Any], Any]
_random = np.random.RandomState(7)

FLOATS = _random.rand(2, 7, 5, 3).astype(np.float32)
BYTES = _random.randint(0, 256, (2, 6, 9, 3)).astype(np.uint8)
ONE = FLOATS[0]
GREY = FLOATS[..., :1]
SIZES = ([7, 5], [3, 4], [14, 11], [1, 1], [9, 2])
BOXES = np.array(
    [[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.6], [0.9, 0.8, 0.1, 0.2], [-0.5, 0.3, 1.4, 0.5]], np.float32
)

RESIZES: dict[str, Build] = {}
for _name, _size, (_align, _half) in product(
    ("bilinear", "bicubic", "nearest_neighbor"), SIZES, ((False, False), (True, False), (False, True))
):
    RESIZES[f"{_name} {_size} {_align} {_half}"] = lambda t, n=_name, s=_size, a=_align, h=_half: getattr(
        t.image, f"resize_{n}"
    )(FLOATS, s, align_corners=a, half_pixel_centers=h)
for _size, _align in product(SIZES, (False, True)):
    RESIZES[f"area {_size} {_align}"] = lambda t, s=_size, a=_align: t.image.resize_area(FLOATS, s, a)
for _dtype in (np.uint8, np.int8, np.int32, np.int64, np.uint16, np.float16, np.float64):
    for _name in ("bilinear", "bicubic", "nearest_neighbor", "area"):
        RESIZES[f"{_name} of {_dtype.__name__}"] = lambda t, n=_name, d=_dtype: getattr(
            t.image, f"resize_{n}"
        )((BYTES // 2).astype(d), [4, 12])

# Functions whose gradient by their first argument is compared as well.
DIFFERENTIABLE: dict[str, tuple[Build, Any]] = {}
for _name, _size, (_align, _half) in product(
    ("bilinear", "bicubic", "nearest_neighbor"), SIZES[1:], ((False, False), (True, False), (False, True))
):
    DIFFERENTIABLE[f"{_name} {_size} {_align} {_half}"] = (
        lambda t, x=None, n=_name, s=_size, a=_align, h=_half: getattr(t.image, f"resize_{n}")(
            x, s, align_corners=a, half_pixel_centers=h
        ),
        FLOATS,
    )
for _method, _crop in product(("bilinear", "nearest"), ([3, 4], [1, 1], [8, 2])):
    DIFFERENTIABLE[f"crop_and_resize {_method} {_crop}"] = (
        lambda t, x=None, m=_method, c=_crop: t.image.crop_and_resize(
            x, BOXES, [0, 1, 1, 0], c, method=m, extrapolation_value=0.5
        ),
        FLOATS,
    )
DIFFERENTIABLE |= {
    "crop_and_resize boxes": (
        lambda t, x=None: t.image.crop_and_resize(FLOATS, x, [0, 1, 1, 0], [4, 3]),
        BOXES + np.float32(0.013),
    ),
    "crop_and_resize boxes to one": (
        lambda t, x=None: t.image.crop_and_resize(FLOATS, x, [0, 1, 1, 0], [1, 3]),
        BOXES + np.float32(0.013),
    ),
    "rgb_to_hsv": (lambda t, x=None: t.image.rgb_to_hsv(x), FLOATS),
    "patches": (
        lambda t, x=None: t.extract_image_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1], "SAME"),
        FLOATS,
    ),
    "patches, valid": (
        lambda t, x=None: t.extract_image_patches(x, [1, 2, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], "VALID"),
        FLOATS,
    ),
    "volume patches": (
        lambda t, x=None: t.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 2, 1, 1, 1], "SAME"),
        _random.rand(2, 4, 5, 3, 2).astype(np.float32),
    ),
    "standardized": (lambda t, x=None: t.image.per_image_standardization(x), FLOATS),
    "flipped": (lambda t, x=None: t.image.flip_left_right(x), FLOATS),
    "psnr": (lambda t, x=None: t.image.psnr(x, FLOATS[::-1], 1.0), FLOATS),
    "total variation": (lambda t, x=None: t.image.total_variation(x), FLOATS),
    "brightness": (lambda t, x=None: t.image.adjust_brightness(x, 0.2), FLOATS),
    "padded": (lambda t, x=None: t.image.resize_image_with_crop_or_pad(x, 9, 3), FLOATS),
    "with pad": (lambda t, x=None: t.image.resize_image_with_pad(x, 9, 3), FLOATS),
}

_A = _random.rand(2, 32, 30, 3).astype(np.float32)
_B = (_A + _random.rand(2, 32, 30, 3).astype(np.float32) / 4) / 1.25
_LARGE = _random.rand(1, 181, 190, 1).astype(np.float32)
_MORE_BOXES = _random.rand(40, 4).astype(np.float32)
_SCORES = np.round(_random.rand(40), 2).astype(np.float32)
_SORTED = np.sort(_MORE_BOXES.reshape(40, 2, 2), 1).reshape(40, 4)
_DISTINCT = np.random.RandomState(8).permutation(40).astype(np.float32).reshape(2, 5, 4) / 40
_PLACES = np.array([[[0.1, 0.2, 0.6, 0.9], [-0.2, 0.3, 0.5, 1.5], [0.5, 0.5, 0.4, 0.6]]] * 2, np.float32)


def _unknown(t: Any, value: Any, shape: Any = None) -> Any:
    return t.placeholder_with_default(value, shape)


CALLS: dict[str, Build] = {
    "resize_images": lambda t: t.image.resize_images(ONE, [4, 4]),
    "resize_images, same": lambda t: t.image.resize_images(ONE, [7, 5]),
    "resize_images, nearest": lambda t: t.image.resize_images(
        BYTES, [4, 4], t.image.ResizeMethod.NEAREST_NEIGHBOR
    ),
    "resize_images, bicubic": lambda t: t.image.resize_images(BYTES, [4, 4], 2, align_corners=True),
    "resize_images, area": lambda t: t.image.resize_images(BYTES, [4, 4], method="area"),
    "resize_images, ratio": lambda t: t.image.resize_images(BYTES, [4, 4], preserve_aspect_ratio=True),
    "resize_images, of unknown size": lambda t: t.image.resize_images(
        _unknown(t, BYTES, [None, None, None, 3]), _unknown(t, [4, 3])
    ),
    "resize_images, no method": lambda t: t.image.resize_images(BYTES, [4, 4], 9),
    "resize_images, three sizes": lambda t: t.image.resize_images(BYTES, [4, 4, 4]),
    "resize_images, no size": lambda t: t.image.resize_images(BYTES, _unknown(t, [0, 4])),
    "resize_images, of rank 2": lambda t: t.image.resize_images(ONE[0], [4, 4]),
    "both grids": lambda t: t.image.resize_bilinear(FLOATS, [3, 3], True, None, True),
    "with pad": lambda t: t.image.resize_image_with_pad(ONE, 10, 10),
    "with pad, of unknown size": lambda t: t.image.resize_image_with_pad(
        _unknown(t, BYTES, [None, None, None, 3]), 5, 20
    ),
    "crop or pad": lambda t: t.image.resize_image_with_crop_or_pad(ONE, 4, 8),
    "crop or pad, odd": lambda t: t.image.resize_with_crop_or_pad(FLOATS, 12, 2),
    "crop or pad, unknown": lambda t: t.image.resize_image_with_crop_or_pad(
        _unknown(t, ONE, [None, None, 3]), _unknown(t, 4, []), 9
    ),
    "crop or pad, no rank": lambda t: t.image.resize_image_with_crop_or_pad(_unknown(t, ONE), 4, 9),
    "crop or pad, no size": lambda t: t.image.resize_image_with_crop_or_pad(ONE, 0, 9),
    "central_crop": lambda t: t.image.central_crop(ONE, 0.5),
    "central_crop, of a batch": lambda t: t.image.central_crop(FLOATS, 0.3),
    "central_crop, unknown": lambda t: t.image.central_crop(_unknown(t, ONE, [None, None, 3]), 0.7),
    "central_crop, a tensor": lambda t: t.image.central_crop(ONE, _unknown(t, 0.6, [])),
    "central_crop, all": lambda t: t.image.central_crop(ONE, 1.0),
    "central_crop, too much": lambda t: t.image.central_crop(ONE, 1.5),
    "crop": lambda t: t.image.crop_to_bounding_box(ONE, 1, 2, 3, 3),
    "crop, unknown": lambda t: t.image.crop_to_bounding_box(
        _unknown(t, FLOATS, [None, None, None, 3]), _unknown(t, 1, []), 2, 3, 3
    ),
    "crop, outside": lambda t: t.image.crop_to_bounding_box(ONE, 1, 2, 9, 3),
    "crop, outside in the run": lambda t: t.image.crop_to_bounding_box(
        _unknown(t, ONE, [None, None, 3]), 1, 2, 9, 3
    ),
    "pad": lambda t: t.image.pad_to_bounding_box(ONE, 1, 2, 10, 9),
    "pad, of a batch": lambda t: t.image.pad_to_bounding_box(BYTES, 1, 2, 10, 12),
    "pad, too small": lambda t: t.image.pad_to_bounding_box(BYTES, 1, 2, 3, 12),
    "pad, too small in the run": lambda t: t.image.pad_to_bounding_box(
        _unknown(t, ONE, [None, None, 3]), 1, 2, 3, 12
    ),
    "flip_left_right": lambda t: t.image.flip_left_right(ONE),
    "flip_up_down": lambda t: t.image.flip_up_down(BYTES),
    "flip, rank 2": lambda t: t.image.flip_up_down(ONE[0]),
    **{f"rot90 {k}": (lambda t, k=k: t.image.rot90(ONE, k)) for k in (0, 1, 2, 3, 5, -1)},
    "rot90 of a batch": lambda t: t.image.rot90(BYTES, _unknown(t, 3, [])),
    "transpose": lambda t: t.image.transpose_image(ONE),
    "transpose of a batch": lambda t: t.image.transpose(BYTES),
    "crop_and_resize of bytes": lambda t: t.image.crop_and_resize(BYTES, BOXES, [0, 1, 1, 0], [3, 3]),
    "crop_and_resize, no image": lambda t: t.image.crop_and_resize(BYTES, BOXES, [0, 1, 2, 0], [3, 3]),
    "crop_and_resize, no size": lambda t: t.image.crop_and_resize(
        BYTES, BOXES, [0, 1, 1, 0], _unknown(t, [0, 3])
    ),
    "brightness of bytes": lambda t: t.image.adjust_brightness(BYTES, 0.3),
    "brightness of half": lambda t: t.image.adjust_brightness(FLOATS.astype(np.float16), 0.3),
    "contrast": lambda t: t.image.adjust_contrast(FLOATS, 2.5),
    "contrast of bytes": lambda t: t.image.adjust_contrast(BYTES, 0.5),
    "hue": lambda t: t.image.adjust_hue(FLOATS, 0.3),
    "hue, back": lambda t: t.image.adjust_hue(FLOATS, -0.7),
    "hue of bytes": lambda t: t.image.adjust_hue(BYTES, 0.1),
    "hue of grey": lambda t: t.image.adjust_hue(_unknown(t, GREY), 0.1),
    "saturation": lambda t: t.image.adjust_saturation(FLOATS, 1.7),
    "saturation, none": lambda t: t.image.adjust_saturation(FLOATS, 0.0),
    "saturation of bytes": lambda t: t.image.adjust_saturation(BYTES, 0.5),
    "gamma": lambda t: t.image.adjust_gamma(FLOATS, 2.2, 0.9),
    "gamma of bytes": lambda t: t.image.adjust_gamma(BYTES, 0.4),
    "gamma, negative": lambda t: t.image.adjust_gamma(BYTES, -0.4),
    "rgb_to_hsv": lambda t: t.image.rgb_to_hsv(FLOATS),
    "rgb_to_hsv of primary colours": lambda t: t.image.rgb_to_hsv(
        np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.5]], np.float64)
    ),
    "hsv_to_rgb": lambda t: t.image.hsv_to_rgb(FLOATS),
    "hsv_to_rgb of half": lambda t: t.image.hsv_to_rgb(FLOATS.astype(np.float16)),
    "grayscale": lambda t: t.image.rgb_to_grayscale(FLOATS),
    "grayscale of bytes": lambda t: t.image.rgb_to_grayscale(BYTES),
    "grayscale_to_rgb": lambda t: t.image.grayscale_to_rgb(t.constant(GREY)),
    "grayscale_to_rgb, unknown": lambda t: t.image.grayscale_to_rgb(_unknown(t, GREY, [None, None, None, 1])),
    "grayscale_to_rgb of colours": lambda t: t.image.grayscale_to_rgb(t.constant(FLOATS)),
    **{
        name: (lambda t, n=name: getattr(t.image, n)(FLOATS))
        for name in ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb", "per_image_standardization")
    },
    "standardized bytes": lambda t: t.image.per_image_standardization(BYTES[0]),
    "standardized, uniform": lambda t: t.image.per_image_standardization(np.ones((4, 4, 3), np.float32)),
    "standardized, unknown": lambda t: t.image.per_image_standardization(_unknown(t, BYTES)),
    **{
        f"{a} to {b}, {s}": (
            lambda t, a=a, b=b, s=s: t.image.convert_image_dtype(
                t.constant((FLOATS * 1.5 - 0.2 if "float" in a else BYTES // 2).astype(a)),
                b,
                saturate=s,
            )
        )
        for a, b, s in product(
            ("uint8", "int16", "int32", "float32", "float16", "uint16"),
            ("uint8", "int16", "float32", "float64", "uint16"),
            (True, False),
        )
        # What a cast gives beyond the range is not defined.
        if s or not ("float" in a and "float" not in b)
    },
    "psnr of bytes": lambda t: t.image.psnr(BYTES, BYTES[::-1], 255),
    "psnr of others": lambda t: t.image.psnr(BYTES, BYTES[:, :4], 255),
    "ssim": lambda t: t.image.ssim(_A, _B, 1.0),
    "ssim of bytes": lambda t: t.image.ssim((_A * 255).astype(np.uint8), (_B * 255).astype(np.uint8), 255),
    "ssim of windows": lambda t: t.image.ssim(_A, _B, 1.0, filter_size=5, return_index_map=True),
    "ssim, too small": lambda t: t.image.ssim(FLOATS, FLOATS, 1.0),
    "ssim_multiscale": lambda t: t.image.ssim_multiscale(_LARGE, _LARGE * 0.9 + 0.01, 1.0),
    "image_gradients": lambda t: t.image.image_gradients(t.constant(FLOATS)),
    "sobel_edges": lambda t: t.image.sobel_edges(t.constant(FLOATS)),
    "total_variation": lambda t: t.image.total_variation(t.constant(ONE)),
    **{
        f"patches of {d.__name__} {p}": (
            lambda t, d=d, p=p: t.image.extract_patches(
                BYTES.astype(d), [1, 3, 3, 1], [1, 2, 3, 1], [1, 2, 1, 1], p
            )
        )
        for d, p in product((np.uint8, np.float64, np.complex64), ("SAME", "VALID"))
    },
    "patches, none": lambda t: t.image.extract_image_patches(
        BYTES, [1, 9, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
    ),
    **{
        f"glimpse {c} {n}": (
            lambda t, c=c, n=n, o=o: t.image.extract_glimpse(FLOATS, [3, 2], o, centered=c, normalized=n)
        )
        for c, n, o in (
            (True, True, np.array([[0.2, -0.3], [0, 0.1]], np.float32)),
            (True, False, np.array([[1, -1], [0, 1]], np.float32)),
            (False, True, np.array([[0.4, 0.4], [0.5, 0.6]], np.float32)),
            (False, False, np.array([[3, 2], [4, 3]], np.float32)),
        )
    },
    "nms": lambda t: t.image.non_max_suppression(_MORE_BOXES, _SCORES, 10),
    "nms of few": lambda t: t.image.non_max_suppression(_MORE_BOXES, _SCORES, 40, 0.1, 0.4),
    "nms of none": lambda t: t.image.non_max_suppression(_MORE_BOXES[:0], _SCORES[:0], 40),
    "nms, wrong": lambda t: t.image.non_max_suppression(_MORE_BOXES, _SCORES, 40, 1.5),
    "nms with scores": lambda t: t.image.non_max_suppression_with_scores(
        _MORE_BOXES, _SCORES, 20, 0.6, 0.1, 0.5
    ),
    "nms with lowered scores of great overlap": lambda t: t.image.non_max_suppression_with_scores(
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1]], [0.9, 0.75], 3, soft_nms_sigma=0.5
    ),
    "nms with hard scores": lambda t: t.image.non_max_suppression_with_scores(_MORE_BOXES, _SCORES, 20, 0.3),
    "nms padded": lambda t: t.image.non_max_suppression_padded(
        t.constant(_SORTED),
        _SCORES,
        30,
        0.2,
        pad_to_max_output_size=True,
    ),
    "nms not padded": lambda t: t.image.non_max_suppression_padded(t.constant(_SORTED), _SCORES, 30, 0.2),
    "nms of a batch": lambda t: t.image.non_max_suppression_padded(
        t.constant(_SORTED.reshape(2, 20, 4)),
        _SCORES.reshape(2, 20),
        30,
        0.2,
        pad_to_max_output_size=True,
    ),
    "nms overlaps": lambda t: t.image.non_max_suppression_overlaps(
        (_MORE_BOXES @ _MORE_BOXES.T) / 2, _SCORES, 20, 0.45, 0.2
    ),
    **{
        f"combined nms {pad} {clip} {q}": (
            lambda t, pad=pad, clip=clip, q=q: t.image.combined_non_max_suppression(
                np.sort(_MORE_BOXES * 1.3, 1).reshape(2, 5, 4, 4)[:, :, :q],
                _DISTINCT,
                2,
                12,
                0.3,
                0.2,
                pad_per_class=pad,
                clip_boxes=clip,
            )
        )
        for pad, clip, q in product((True, False), (True, False), (1, 4))
    },
    "drawn boxes": lambda t: t.image.draw_bounding_boxes(FLOATS, _PLACES),
    "drawn boxes in grey": lambda t: t.image.draw_bounding_boxes(GREY, _PLACES),
    "drawn boxes of colours": lambda t: t.image.draw_bounding_boxes(
        FLOATS, _PLACES, colors=np.array([[0.5, 0.25, 0.125], [1, 0, 0]], np.float32)
    ),
    "drawn boxes in half": lambda t: t.image.draw_bounding_boxes(FLOATS.astype(np.float16), _PLACES),
}

_OBJECTS = np.array([[[0.1, 0.2, 0.6, 0.7], [0.4, 0.4, 0.9, 0.8]]], np.float32)


def _sample(**options: Any) -> Build:
    def build(t: Any) -> Any:
        boxes = options.get("boxes", _OBJECTS)
        rest = {name: value for name, value in options.items() if name != "boxes"}
        made = t.image.sample_distorted_bounding_box([61, 47, 3], boxes, **rest)
        return [made.begin, made.size, made.bboxes]

    return build


# Each is run three times: the seeds give the same rows of numbers.
RANDOM: dict[str, Build] = {
    "flip_left_right": lambda t: t.image.random_flip_left_right(ONE, seed=3),
    "flip_left_right of a batch": lambda t: t.image.random_flip_left_right(FLOATS, seed=3),
    "flip_up_down": lambda t: t.image.random_flip_up_down(BYTES, seed=5),
    "brightness": lambda t: t.image.random_brightness(ONE, 0.4, seed=1),
    "contrast": lambda t: t.image.random_contrast(FLOATS, 0.2, 1.8, seed=1),
    "hue": lambda t: t.image.random_hue(BYTES, 0.4, seed=1),
    "saturation": lambda t: t.image.random_saturation(FLOATS, 0.2, 1.8, seed=1),
    "crop": lambda t: t.image.random_crop(ONE, [3, 3, 3], seed=1),
    "brightness, negative": lambda t: t.image.random_brightness(ONE, -0.4),
    "contrast, no range": lambda t: t.image.random_contrast(ONE, 0.4, 0.4),
    "hue, too much": lambda t: t.image.random_hue(ONE, 0.6),
    "distorted": _sample(seed=4, min_object_covered=0.3),
    "distorted, two seeds": _sample(seed=4, seed2=9),
    "distorted, small": _sample(seed=1, area_range=(0.05, 0.3), aspect_ratio_range=(0.5, 2.0)),
    "distorted, never": _sample(seed=1, min_object_covered=1.0, area_range=(0.01, 0.02)),
    "distorted, without objects": _sample(
        seed=1, boxes=np.zeros((1, 0, 4), np.float32), use_image_if_no_bounding_boxes=True
    ),
    "distorted, nothing": _sample(seed=1, boxes=np.zeros((1, 0, 4), np.float32)),
    "distorted, outside": _sample(seed=1, boxes=_OBJECTS * 2),
    "distorted, few attempts": _sample(seed=1, max_attempts=3, min_object_covered=0.9),
}
