"""Images as arrays, and random changes of them (`tf.keras.preprocessing.image`); files need Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.keras.backend.state import floatx, image_data_format

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_FORMATS = ("channels_first", "channels_last")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "Could not import PIL.Image. Images need Pillow: pip install 'tensorfleet[images]'"
        ) from None
    return Image


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Any:
    """An image of Pillow, or an array, as an array (height, width, channels), or with channels first.

    Raises:
        ValueError: an unknown format, or an array that is no image.
    """
    order = _order(data_format)
    x = np.asarray(img, dtype=dtype or floatx())
    if x.ndim == 3:
        return x.transpose(2, 0, 1) if order == "channels_first" else x
    if x.ndim == 2:
        return x[np.newaxis] if order == "channels_first" else x[..., np.newaxis]
    raise ValueError(f"Unsupported image shape: {x.shape}")


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """An array of rank 3 as an image of Pillow.

    Args:
        scale: whether the values are stretched to 0 … 255; else they are taken as they are.

    Raises:
        ValueError: the array is no image.
    """
    image = _pillow()
    values = np.asarray(x, dtype=dtype or floatx())
    if values.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {values.shape}"
        )
    if _order(data_format) == "channels_first":
        values = values.transpose(1, 2, 0)
    if scale:
        values = values - values.min()
        if (top := values.max()) != 0:
            values = values / top
        values = values * 255
    channels = values.shape[2]
    if channels not in _MODES:
        raise ValueError(f"Unsupported channel number: {channels}")
    if channels > 1:
        return image.fromarray(values.astype("uint8"))
    # Images of 32 bits keep values that 8 bits do not hold.
    return image.fromarray(values[:, :, 0].astype("int32" if values.max() > 255 else "uint8"))


def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Writes an array as an image file, by default in the format that the file's name says."""
    img = array_to_img(x, data_format=data_format, scale=scale)
    if img.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        img = img.convert("RGB")
    img.save(path, format=file_format, **kwargs)


def load_img(
    path: Any,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: Any = None,
    interpolation: str = "nearest",
) -> Any:
    """The image of a file, by Pillow.

    Args:
        grayscale: deprecated, as `color_mode="grayscale"`.
        color_mode: "rgb", "rgba" or "grayscale".
        target_size: (height, width), to which it is resized.
        interpolation: of the resizing: "nearest", "bilinear", "bicubic", "lanczos", "box" or "hamming".

    Raises:
        ValueError: an unknown mode or interpolation.
    """
    image = _pillow()
    mode = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}.get("grayscale" if grayscale else color_mode)
    if mode is None:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    with image.open(path) as file:
        img = file if mode == "L" and file.mode in ("I", "I;16") else file.convert(mode)
        img.load()
    if target_size is not None and img.size != (target_size[1], target_size[0]):
        methods = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")
        if interpolation not in methods:
            raise ValueError(
                f"Invalid interpolation method {interpolation} specified. Supported methods are "
                f"{', '.join(methods)}"
            )
        img = img.resize((target_size[1], target_size[0]), image.Resampling[interpolation.upper()])
    return img


def _order(data_format: str | None) -> str:
    order = data_format or image_data_format()
    if order not in _FORMATS:
        raise ValueError(f"Invalid data_format: {order}")
    return order


def random_rotation(
    x: Any,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """The image turned by a random angle of up to `rg` degrees."""
    theta = np.random.uniform(-rg, rg)
    return apply_affine_transform(
        x,
        theta=theta,
        row_axis=row_axis,
        col_axis=col_axis,
        channel_axis=channel_axis,
        fill_mode=fill_mode,
        cval=cval,
        order=interpolation_order,
    )


def random_shift(
    x: Any,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """The image moved by random fractions of its width and height."""
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x,
        tx=tx,
        ty=ty,
        row_axis=row_axis,
        col_axis=col_axis,
        channel_axis=channel_axis,
        fill_mode=fill_mode,
        cval=cval,
        order=interpolation_order,
    )


def random_shear(
    x: Any,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """The image sheared by a random angle of up to `intensity` degrees."""
    shear = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(
        x,
        shear=shear,
        row_axis=row_axis,
        col_axis=col_axis,
        channel_axis=channel_axis,
        fill_mode=fill_mode,
        cval=cval,
        order=interpolation_order,
    )


def random_zoom(
    x: Any,
    zoom_range: Any,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """The image with its height and width scaled by random factors of the range.

    Raises:
        ValueError: the range has not two ends.
    """
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return apply_affine_transform(
        x,
        zx=zx,
        zy=zy,
        row_axis=row_axis,
        col_axis=col_axis,
        channel_axis=channel_axis,
        fill_mode=fill_mode,
        cval=cval,
        order=interpolation_order,
    )


def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0) -> Any:
    """The image with a random number added to all channels."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0) -> Any:
    """The image with a number added, cut off at its least and greatest values."""
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_brightness(x: Any, brightness_range: Any) -> Any:
    """The image with its brightness scaled by a random factor of the range.

    Raises:
        ValueError: the range has not two ends.
    """
    if len(brightness_range) != 2:
        raise ValueError(
            f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}"
        )
    return apply_brightness_shift(x, np.random.uniform(brightness_range[0], brightness_range[1]))


def apply_brightness_shift(x: Any, brightness: float) -> Any:
    """The image, (height, width, channels), with its brightness scaled, by Pillow."""
    _pillow()
    from PIL import ImageEnhance

    return img_to_array(ImageEnhance.Brightness(array_to_img(x)).enhance(brightness))


def apply_affine_transform(
    x: Any,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Any:
    """The image turned, moved, sheared and scaled about its centre.

    Args:
        theta, shear: degrees.
        tx, ty: pixels along the height and the width.
        zx, zy: factors; below 1 the image becomes larger.
        fill_mode: what is outside: "constant", "nearest", "reflect" or "wrap".
        cval: the value of "constant".
        order: 0 takes the nearest pixel, 1 is bilinear.

    Raises:
        ValueError: another mode or order.
    """
    matrix = np.eye(3)
    if theta != 0:
        angle = np.deg2rad(theta)
        matrix = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    if tx != 0 or ty != 0:
        matrix = matrix @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear != 0:
        angle = np.deg2rad(shear)
        matrix = matrix @ np.array([[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        matrix = matrix @ np.diag([zx, zy, 1.0])
    if np.array_equal(matrix, np.eye(3)):
        return x
    rows, columns = x.shape[row_axis], x.shape[col_axis]
    # The centre is where Keras has had it all the time, a pixel beyond the middle.
    middle = np.array([rows / 2 + 0.5, columns / 2 + 0.5])
    linear = matrix[:2, :2]
    offset = matrix[:2, 2] + middle - linear @ middle
    places = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    at = np.tensordot(linear, places, 1) + offset[:, None, None]
    image = np.moveaxis(x, (row_axis, col_axis, channel_axis), (0, 1, 2))
    found = _sampled(image, at, fill_mode, cval, order).astype(x.dtype)
    return np.moveaxis(found, (0, 1, 2), (row_axis, col_axis, channel_axis))


def _sampled(image: Any, at: Any, fill_mode: str, cval: float, order: int) -> Any:
    """The values of an image (rows, columns, channels) at places (2, …)."""
    if order not in (0, 1):
        raise ValueError(f"Only the interpolation orders 0 and 1 are supported. Received: {order}")
    sizes = np.array(image.shape[:2]).reshape(2, *(1 for _ in at.shape[1:]))
    outside = ((at < 0) | (at > sizes - 1)).any(0)
    at = _inside(at, sizes, fill_mode)
    if order == 0:
        row, column = np.floor(at + 0.5).astype(int)
        found = image[np.clip(row, 0, sizes[0] - 1), np.clip(column, 0, sizes[1] - 1)].astype(float)
    else:
        low = np.floor(at).astype(int)
        share = at - low
        ends = [np.clip(low + step, 0, sizes - 1) for step in (0, 1)]
        found = np.zeros((*at.shape[1:], image.shape[2]))
        for i in (0, 1):
            for j in (0, 1):
                weight = np.abs(1 - i - share[0]) * np.abs(1 - j - share[1])
                found += weight[..., None] * image[ends[i][0], ends[j][1]]
    if fill_mode == "constant":
        found[outside] = cval
    return found


def _inside(at: Any, sizes: Any, fill_mode: str) -> Any:
    if fill_mode == "nearest" or fill_mode == "constant":
        return np.clip(at, 0, sizes - 1)
    if fill_mode == "reflect":
        folded = np.mod(at + 0.5, 2 * sizes)
        return np.minimum(folded, 2 * sizes - folded) - 0.5
    if fill_mode == "wrap":
        # The first and the last pixel coincide.
        period = np.maximum(sizes - 1, 1)
        return np.where((at < 0) | (at > sizes - 1), np.mod(at, period), at)
    raise ValueError(f'fill_mode must be "constant", "nearest", "reflect" or "wrap". Received: {fill_mode}')
