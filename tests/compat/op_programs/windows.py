"""Dilation, erosion, and pooling by windows of different sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F = np.float32
random = np.random.RandomState(2)
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}


def values(*shape: int, dtype: Any = F) -> Any:
    return random.randint(-20, 20, shape).astype(dtype)


for _dtype in (F, np.float64, np.int32, np.uint8):
    for _padding in ("SAME", "VALID"):
        for _step, _rate in ((1, 1), (2, 1), (1, 2), (2, 2)):
            _attrs: Any = {
                "strides": [1, _step, _step, 1],
                "rates": [1, _rate, _rate, 1],
                "padding": _padding,
            }
            _images, _window = values(2, 7, 6, 3, dtype=_dtype), values(3, 2, 3, dtype=_dtype)
            node("Dilation2D", _images, _window, **_attrs)
            if _dtype is np.float64:
                _rows = (7, 6) if _padding == "SAME" else (7 - 2 * _rate, 6 - _rate)
                _out = [-(-size // _step) for size in _rows]
                for _name in ("Input", "Filter"):
                    node(
                        f"Dilation2DBackprop{_name}",
                        _images,
                        _window,
                        values(2, *_out, 3, dtype=_dtype),
                        **_attrs,
                    )
node(*("Dilation2D", values(1, 4, 4, 2), values(2, 2, 3)), strides=[1] * 4, rates=[1] * 4, padding="SAME")
node(*("Dilation2D", values(1, 2, 2, 2), values(4, 4, 2)), strides=[1] * 4, rates=[1] * 4, padding="VALID")


_IMAGES, _WINDOW = values(1, 6, 6, 2), values(2, 3, 2)


@program("Dilation2D", **CLOSE)
def dilation_and_erosion(make: Maker) -> Any:
    tf = make.tf
    x, w = tf.constant(_IMAGES), tf.constant(_WINDOW)
    y = tf.nn.dilation2d(x, w, [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    z = tf.nn.erosion2d(x, w, [1, 1, 1, 1], [1, 2, 2, 1], "VALID")
    return y, z, tf.gradients([y**2, z], [x, w])


for _dtype in (F, np.float64, np.int32, np.int64):
    for _name in ("FractionalMaxPool", "FractionalAvgPool"):
        for _pseudo in (False, True):
            for _overlapping in (False, True):
                node(
                    *(_name, values(2, 9, 11, 2, dtype=_dtype)),
                    pooling_ratio=[1.0, 1.44, 1.73, 1.0],
                    pseudo_random=_pseudo,
                    overlapping=_overlapping,
                    deterministic=True,
                    seed=3,
                    seed2=5,
                    settings={**CLOSE, "shapes": False},  # of the sequences TensorFlow says one less
                )
_image = values(1, 6, 6, 1)
for _name in ("FractionalMaxPool", "FractionalAvgPool"):
    node(_name, _image, pooling_ratio=[1.0, 2.0, 3.0, 1.0], settings={"shapes": False})
    node(_name, _image, pooling_ratio=[1.0, 0.5, 1.0, 1.0])
    node(_name, _image, pooling_ratio=[1.0, 1.5, 1.0, 2.0])
    node(_name, _image, pooling_ratio=[1.0, 1.5, 1.5, 1.0], seed=3)


def _gradient(name: str, overlapping: bool) -> None:
    def made(make: Maker) -> Any:
        x = make.tf.constant(values_of_gradient)
        y, *_ = make(
            *(name, x),
            pooling_ratio=[1.0, 1.44, 1.73, 1.0],
            overlapping=overlapping,
            deterministic=True,
            seed=3,
            seed2=5,
        )
        return make.tf.gradients(y**2, x)

    made.__name__ = f"gradient_of_{name}_{overlapping}"
    program(f"{name}Grad", **CLOSE)(made)


values_of_gradient = values(2, 9, 11, 2)
for _overlapping in (False, True):
    _gradient("FractionalMaxPool", _overlapping)
    _gradient("FractionalAvgPool", _overlapping)
