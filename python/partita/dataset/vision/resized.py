"""Images of another size."""

import numpy as np

from partita import _core
from partita.dataset.vision.enums import Inter

_data = _core.data


def require_interpolation(where, interpolation):
    """Raises TypeError for what is no interpolation."""
    if interpolation is not None and not isinstance(interpolation, Inter):
        raise TypeError(f"[{where}] bad interpolation, got {interpolation!r}, expected one of Inter, as Inter.LINEAR")


def _scale(size, wanted):
    """Elements for each wanted one, rounded as OpenCV rounds it: 1 over a quotient."""
    return 1.0 / (wanted / size)


def _cubic(size, wanted):
    """(places, weights) of the four elements next to each of the wanted ones, [4, wanted], in float32; those beyond the
    edges are the last ones."""
    at = ((np.arange(wanted) + 0.5) * _scale(size, wanted) - 0.5).astype(np.float32)
    first = np.floor(at).astype(int)
    x, a, one = at - first.astype(np.float32), np.float32(-0.75), np.float32(1)
    weights = [
        ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a,
        ((a + 2) * x - (a + 3)) * x * x + one,
        ((a + 2) * (one - x) - (a + 3)) * (one - x) * (one - x) + one,
    ]
    weights.append(one - weights[0] - weights[1] - weights[2])
    return [np.clip(first + k, 0, size - 1) for k in range(-1, 3)], weights


def _by_cubic(image, size):
    """8-bit elements have weights of eleven bits, exact along rows and in float32 along columns, as OpenCV has them."""
    if image.dtype != np.uint8:
        values = image if image.dtype == np.float64 else image.astype(np.float32)
        return _weighed(_weighed(values, 1, size[1]), 0, size[0]).astype(image.dtype)
    rows = _weighed(image.astype(np.int32), 1, size[1], lambda one: np.rint(one * np.float32(2048)).astype(np.int32))
    places, weights = _cubic(image.shape[0], size[0])
    made = np.zeros((size[0], *rows.shape[1:]), np.float32)
    for place, weight in reversed(list(zip(places, weights))):  # each product and sum is rounded once
        weight = np.rint(weight * np.float32(2048)) / (1 << 22)
        made = (rows[place] * weight.reshape(-1, *[1] * (image.ndim - 1)).astype(np.float64) + made).astype(np.float32)
    return np.clip(np.rint(made), 0, 255).astype(np.uint8)


def _weighed(values, axis, wanted, change=lambda one: one):
    """Sums of four elements along an axis with changed weights."""
    shape = [-1 if i == axis else 1 for i in range(values.ndim)]
    pairs = zip(*_cubic(values.shape[axis], wanted))
    return sum(np.take(values, places, axis) * change(weight).reshape(shape) for places, weight in pairs)


def _pillow_cubic(size, wanted):
    """The weights of Pillow's cubic interpolation, which spans more elements where an image becomes smaller."""
    scale, made, a = size / wanted, np.zeros((wanted, size)), -0.5
    wide = max(scale, 1.0)
    for i in range(wanted):
        middle = (i + 0.5) * scale
        first, end = max(int(middle - 2 * wide + 0.5), 0), min(int(middle + 2 * wide + 0.5), size)
        x = np.abs((np.arange(first, end) - middle + 0.5) / wide)
        near, far = ((a + 2) * x - (a + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * a
        weights = np.where(x < 1, near, np.where(x < 2, far, 0))
        made[i, first:end] = weights / weights.sum()
    return made


def _shares(size, wanted):
    """The share of each of `size` elements in each of the wanted ones, which lie over them."""
    ends = np.arange(wanted + 1) * (size / wanted)
    low, high = np.maximum.outer(ends[:-1], np.arange(size)), np.minimum.outer(ends[1:], np.arange(size) + 1)
    shares = np.clip(high - low, 0, None)
    return shares / shares.sum(1, keepdims=True)


def _linear(size, wanted):
    """Weights of the two elements next to each wanted one, of float32 as OpenCV has them."""
    at = ((np.arange(wanted) + 0.5) * _scale(size, wanted) - 0.5).astype(np.float32)
    first = np.floor(at).astype(int)
    rest, made = at - first.astype(np.float32), np.zeros((wanted, size))
    for k, weight in ((0, 1 - rest), (1, rest)):
        np.add.at(made, (np.arange(wanted), np.clip(first + k, 0, size - 1)), weight)
    return made


def _near_shares(size, wanted):
    """Weights of the two elements next to each wanted one, where an image becomes larger by shares."""
    made = np.zeros((wanted, size))
    first = np.floor(np.arange(wanted) * _scale(size, wanted)).astype(int)
    rest = (np.arange(1, wanted + 1) - (first + 1) * (wanted / size)).astype(np.float32)
    rest = np.where(rest <= 0, 0, rest - np.floor(rest))
    for k, weight in ((0, 1 - rest), (1, rest)):
        np.add.at(made, (np.arange(wanted), np.minimum(first + k, size - 1)), weight)
    return made


def _added(rows, columns, image):
    """Sums of the elements of an image with weights of its rows and columns, in float32 and in their order."""
    rows, columns, image = (one.astype(np.float32) for one in (rows, columns, image))
    across = np.zeros((image.shape[0], len(columns), *image.shape[2:]), np.float32)
    for i, line in enumerate(columns):
        for k in np.flatnonzero(line):
            across[:, i] += image[:, k] * line[k]
    made = np.zeros((len(rows), *across.shape[1:]), np.float32)
    for i, line in enumerate(rows):
        for k in np.flatnonzero(line):
            made[i] += across[k] * line[k]
    return made


def _by_area(image, size):
    if all(n >= wanted for n, wanted in zip(image.shape, size)):
        rows, columns = (_shares(n, wanted) for n, wanted in zip(image.shape, size))
        made = _added(rows, columns, image)
        if image.dtype != np.uint8:
            return made.astype(image.dtype)
        is_half = all(n == 2 * wanted for n, wanted in zip(image.shape, size))
        made = np.floor(made + 0.5) if is_half else np.rint(made.astype(np.float32))
        return np.clip(made, 0, 255).astype(np.uint8)
    rows, columns = (_near_shares(n, wanted) for n, wanted in zip(image.shape, size))
    if image.dtype != np.uint8:
        return _weighted(rows, columns, image.astype(np.float64)).astype(image.dtype)
    rows, columns = (np.rint(one * 2048).astype(np.int64) for one in (rows, columns))
    across = np.moveaxis(np.tensordot(columns, image.astype(np.int64), ([1], [1])), 0, 1) >> 4
    made = np.zeros((size[0], *across.shape[1:]), np.int64)
    for i, row in enumerate(rows):
        made[i] = sum((row[k] * across[k]) >> 16 for k in np.flatnonzero(row))
    return np.clip((made + 2) >> 2, 0, 255).astype(np.uint8)


def _by_pillow_cubic(image, size):
    """Two passes, each rounded to 8 bits, with weights of 22 bits, as Pillow has them."""
    for axis in (1, 0):
        if image.shape[axis] == size[axis]:
            continue
        weights = np.rint(_pillow_cubic(image.shape[axis], size[axis]) * (1 << 22)).astype(np.int64)
        total = np.moveaxis(np.tensordot(weights, image.astype(np.int64), ([1], [axis])), 0, axis)
        image = np.clip((total + (1 << 21)) >> 22, 0, 255).astype(np.uint8)
    return image


def shorter_to(image, side):
    """(height, width) of an image whose shorter side becomes `side`, in proportion."""
    shorter = min(image.shape[:2])
    return [int(one * side / shorter) for one in image.shape[:2]]


def resized(image, size, interpolation=None, where="Resize"):
    """An image (height, width, channels) of another size, (height, width): bilinear unless told otherwise."""
    require_interpolation(where, interpolation)
    if interpolation == Inter.ANTIALIAS:
        raise TypeError(
            f"[{where}] only images of Pillow have Inter.ANTIALIAS, got an array, expected Decode(to_pil=True)"
        )
    if image.ndim not in (2, 3):
        raise ValueError(f"[{where}] no image, got shape {image.shape}, expected (height, width, channels)")
    if tuple(image.shape[:2]) == tuple(size):
        return image
    if interpolation in (None, Inter.LINEAR) and image.ndim == 2:
        return resized(image[..., None], size)[..., 0]
    if interpolation in (None, Inter.LINEAR) and image.dtype == np.float64:
        return _weighted(*(_linear(n, wanted) for n, wanted in zip(image.shape, size)), image)
    if interpolation in (None, Inter.LINEAR):
        return np.asarray(_data.resize(*size).apply(_core.Array(np.ascontiguousarray(image))))
    if interpolation == Inter.AREA:
        return _by_area(image, size)
    if interpolation == Inter.PILCUBIC:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise TypeError(
                f"[{where}] Inter.PILCUBIC takes 8-bit colours, got {image.dtype}{list(image.shape)}, expected uint8 "
                "(height, width, 3)"
            )
        return _by_pillow_cubic(image, size)
    if interpolation == Inter.NEAREST:
        places = (np.floor(np.arange(n) * _scale(m, n)).astype(int) for n, m in zip(size, image.shape))
        rows, columns = (np.minimum(one, m - 1) for one, m in zip(places, image.shape))
        return np.ascontiguousarray(image[rows][:, columns])
    return _by_cubic(image, size)


def _weighted(rows, columns, image):
    """Sums of the elements of an image with weights of its rows and columns."""
    return np.moveaxis(np.tensordot(columns, np.tensordot(rows, image, 1), ([1], [1])), 0, 1)
