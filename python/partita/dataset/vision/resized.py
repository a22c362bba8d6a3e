"""Images of another size."""

from enum import Enum

import numpy as np

from partita import _core

_data = _core.data


class Inter(Enum):
    """How images are resized."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = 2
    LINEAR = 2
    BICUBIC = 3
    CUBIC = 3
    AREA = 4
    PILCUBIC = 5


def require_interpolation(where, interpolation):
    """Raises NotImplementedError for what `resized` cannot do."""
    if interpolation not in (None, Inter.NEAREST, Inter.LINEAR, Inter.BICUBIC):
        raise NotImplementedError(
            f"[{where}] this interpolation is not supported, got {interpolation}, expected Inter.LINEAR, BICUBIC or "
            "NEAREST"
        )


def _cubic(size, wanted):
    """The weights of the four elements next to each of the wanted ones; those beyond the edges are the last ones."""
    at = (np.arange(wanted) + 0.5) * size / wanted - 0.5
    first, made, a = np.floor(at).astype(int), np.zeros((wanted, size)), -0.75
    for k in range(-1, 3):
        x = np.abs(at - (first + k))
        near = (a + 2) * x**3 - (a + 3) * x**2 + 1
        far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
        np.add.at(made, (np.arange(wanted), np.clip(first + k, 0, size - 1)), np.where(x <= 1, near, far))
    return made


def resized(image, size, interpolation=None):
    """An image (height, width, channels) of another size, (height, width): bilinear unless told otherwise."""
    require_interpolation("Resize", interpolation)
    if tuple(image.shape[:2]) == tuple(size):
        return image
    if interpolation in (None, Inter.LINEAR):
        return np.asarray(_data.resize(*size).apply(_core.Array(np.ascontiguousarray(image))))
    if interpolation == Inter.NEAREST:
        rows, columns = (np.minimum(np.arange(n) * m // n, m - 1) for n, m in zip(size, image.shape))
        return np.ascontiguousarray(image[rows][:, columns])
    rows, columns = (_cubic(n, wanted) for n, wanted in zip(image.shape, size))
    if image.dtype == np.uint8:  # weights of eleven bits, as readers of images have them
        total = _weighted(*(np.rint(one * 2048).astype(np.int64) for one in (rows, columns)), image.astype(np.int64))
        return np.clip((total + (1 << 21)) >> 22, 0, 255).astype(np.uint8)
    return _weighted(rows, columns, image.astype(np.float64)).astype(image.dtype)


def _weighted(rows, columns, image):
    """Sums of the elements of an image with weights of its rows and columns."""
    return np.moveaxis(np.tensordot(columns, np.tensordot(rows, image, 1), ([1], [1])), 0, 1)
