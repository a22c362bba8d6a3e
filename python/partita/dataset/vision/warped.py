"""Images that an affine map of the plane moves, in the fixed-point arithmetic of OpenCV, whose results these equal."""

import functools
import math
import numbers

import numpy as np

from partita.dataset.vision.enums import Inter

_BITS = 5  # of the place between two elements
_PLACES = 1 << _BITS
_COORDINATE_BITS = 10  # of the fraction of coordinates
_ONE = 1 << 15  # the sum of the weights of a result


def _cubic(x):
    """Weights of the four elements around a place, x beyond the second."""
    a = -0.75
    first = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    second = ((a + 2) * x - (a + 3)) * x * x + 1
    third = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1
    return [first, second, third, 1 - first - second - third]


@functools.lru_cache(maxsize=2)
def _exact_weights(is_cubic):
    """Weights of [place of the row, place of the column, element of the row, element of the column], in float32."""
    lines = np.array([_cubic(i / _PLACES) if is_cubic else [1 - i / _PLACES, i / _PLACES] for i in range(_PLACES)])
    return np.einsum("ai,bj->abij", lines, lines).astype(np.float32)


@functools.lru_cache(maxsize=2)
def _weights(is_cubic):
    """The weights as integers that add up to _ONE."""
    lines = np.array([_cubic(i / _PLACES) if is_cubic else [1 - i / _PLACES, i / _PLACES] for i in range(_PLACES)])
    made = np.rint(np.einsum("ai,bj->abij", lines, lines) * _ONE).astype(np.int64)
    size, middle = lines.shape[1], lines.shape[1] // 2
    for one in made.reshape(-1, size, size):
        more = int(one.sum()) - _ONE
        if more:
            inner = one[middle : middle + 2, middle : middle + 2]
            index = np.unravel_index((inner.argmax if more < 0 else inner.argmin)(), inner.shape)
            inner[index] -= more
    return made


def filled(where, value):
    """Three numbers of one, or of three. Raises TypeError or ValueError for others."""
    values = [value] * 3 if isinstance(value, numbers.Integral) else list(value)
    if len(values) != 3 or not all(isinstance(one, numbers.Integral) for one in values):
        raise TypeError(f"[{where}] bad fill_value, got {value!r}, expected an integer or three")
    if not all(0 <= one <= 255 for one in values):
        raise ValueError(f"[{where}] bad fill_value, got {value!r}, expected integers from 0 to 255")
    return values


def _inverse(matrix):
    """The inverse [2, 3] of an affine matrix [2, 3], in the order of operations that OpenCV has."""
    (a, b, x), (c, d, y) = matrix
    determinant = a * d - b * c
    scale = 1 / determinant if determinant else 0.0
    a, b, c, d = d * scale, -b * scale, -c * scale, a * scale
    return [[a, b, -a * x - b * y], [c, d, -c * x - d * y]]


def warped(image, matrix, size, interpolation, fill):
    """The image whose element at (x, y) is the given image's at the place that `matrix`, [2, 3], maps to (x, y). `size`
    is (height, width), and `fill` stands around the given image."""
    inverse = _inverse(matrix)
    is_nearest = interpolation == Inter.NEAREST
    delta = 1 << (_COORDINATE_BITS - 1) if is_nearest else 1 << (_COORDINATE_BITS - _BITS - 1)
    places = []
    for row in inverse:  # of x, then of y
        across = np.rint(row[0] * np.arange(size[1]) * (1 << _COORDINATE_BITS)).astype(np.int64)
        down = np.rint((row[1] * np.arange(size[0]) + row[2]) * (1 << _COORDINATE_BITS)).astype(np.int64)
        places.append(down[:, None] + across[None, :] + delta)
    shift = _COORDINATE_BITS if is_nearest else _COORDINATE_BITS - _BITS
    return _sampled(image, [one >> shift for one in places], interpolation, fill)


def seen(image, matrix, interpolation, fill=(0, 0, 0)):
    """The image that a perspective [3, 3] maps the given one to, of its size."""
    inverse, size = np.linalg.inv(matrix), image.shape[:2]
    x, y = np.meshgrid(np.arange(size[1]), np.arange(size[0]))
    mapped = [row[0] * x + row[1] * y + row[2] for row in inverse]
    scale = 1 if interpolation == Inter.NEAREST else _PLACES
    weight = np.divide(scale, mapped[2], out=np.zeros(size), where=mapped[2] != 0)
    limit = 2.0**31
    places = [np.rint(np.clip(one * weight, -limit, limit - 1)).astype(np.int64) for one in mapped[:2]]
    return _sampled(image, places, interpolation, fill)


def _sampled(image, places, interpolation, fill):
    """The elements at places (x, y) of an image, in whole elements, or for others than the nearest in 32nds of them."""
    image = image[..., None] if image.ndim == 2 else image
    fill = np.resize(np.asarray(fill, np.int64), image.shape[2])
    columns, rows = places
    if interpolation == Inter.NEAREST:
        return _taken(image, rows, columns, fill).astype(image.dtype)
    is_cubic, is_exact = interpolation == Inter.BICUBIC, image.dtype.kind == "f"
    weights = (_exact_weights if is_exact else _weights)(is_cubic)[rows & (_PLACES - 1), columns & (_PLACES - 1)]
    total = np.zeros((*rows.shape, image.shape[2]), image.dtype if is_exact else np.int64)
    for i in range(weights.shape[2]):
        for j in range(weights.shape[3]):
            taken = _taken(image, (rows >> _BITS) + i - is_cubic, (columns >> _BITS) + j - is_cubic, fill)
            total += taken * weights[:, :, i, j, None]
    return total if is_exact else np.clip((total + (_ONE >> 1)) >> 15, 0, 255).astype(image.dtype)


def _taken(image, rows, columns, fill):
    """Elements of an image, those around it included."""
    height, width = image.shape[:2]
    is_inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    taken = image[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]
    taken = taken if image.dtype.kind == "f" else taken.astype(np.int64)
    return np.where(is_inside[..., None], taken, fill)


def affine(shape, degrees, translation, scale, shear):
    """The matrix [2, 3] of a rotation, a translation in elements, a scale and two shears, in degrees, around the middle
    of an image. Its numbers are of float32, as those of the documented map are."""
    real = np.float32
    angle, across, down = (real(math.pi * float(real(one)) / 180) for one in (degrees, shear[0], -shear[1]))
    scale, one, turned = real(scale), real(1), angle + down
    cosine, sine = (lambda one: real(math.cos(one))), (lambda one: real(math.sin(one)))
    a = scale * cosine(turned) / cosine(down)
    b = scale * (-cosine(turned) * real(math.tan(across)) / cosine(down) - sine(angle))
    c = scale * sine(turned) / cosine(down)
    d = scale * (-sine(turned) * real(math.tan(across)) / cosine(down) + cosine(angle))
    x, y = real((shape[1] - 1) / 2), real((shape[0] - 1) / 2)
    moved = (one - a) * x - b * y + real(translation[0]), (one - d) * y - c * x + real(translation[1])
    return np.array([[a, b, moved[0]], [c, d, moved[1]]], np.float64)


def _span(height, width, angle):
    """(width, height) of a turned rectangle, in float32."""
    a, b = np.float32(math.sin(angle)) * np.float32(0.5), np.float32(math.cos(angle)) * np.float32(0.5)
    height, width = np.float32(height), np.float32(width)
    xs = np.array([-a * height - b * width, a * height - b * width])
    ys = np.array([b * height - a * width, -b * height - a * width])
    return tuple(float(max(one.max(), (-one).max()) - min(one.min(), (-one).min())) for one in (xs, ys))


def rotated(image, degrees, interpolation, expands, center, fill):
    """An image turned against the clock. With `expands` the result is as large as the turned image."""
    height, width = image.shape[:2]
    x, y = ((width - 1) / 2, (height - 1) / 2) if center is None else center
    angle = float(np.float32(degrees)) * (math.pi / 180)
    cosine, sine = math.cos(angle), math.sin(angle)
    matrix = np.array([[cosine, sine, (1 - cosine) * x - sine * y], [-sine, cosine, sine * x + (1 - cosine) * y]])
    size = (height, width)
    if expands:
        span = _span(height, width, angle)
        size = round(span[1]), round(span[0])
        matrix[:, 2] += span[0] / 2 - width / 2, span[1] / 2 - height / 2
    return warped(image, matrix, size, interpolation, fill)


def perspective(starts, ends, by_least_squares=False):
    """The matrix [3, 3] that maps four points (x, y) to four others."""
    rows, values = [], []
    for (x, y), (u, v) in zip(starts, ends):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    rows, values = np.array(rows, float), np.array(values, float)
    solved = np.linalg.lstsq(rows, values, rcond=None)[0] if by_least_squares else np.linalg.solve(rows, values)
    return np.append(solved, 1.0).reshape(3, 3)
