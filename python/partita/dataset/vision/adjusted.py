"""Colours of images (height, width, 3), changed. 8-bit numbers are those of OpenCV, in its fixed-point arithmetic and
its order of float32 operations."""

import numpy as np

_GRAY = (9798, 19235, 3735)  # shares of red, green and blue in 15 bits
GRAY = np.array([0.299, 0.587, 0.114])


def gray_of(image):
    """The brightness (height, width) of colours."""
    if image.dtype == np.uint8:
        total = sum(image[..., c].astype(np.int32) * _GRAY[c] for c in range(3))
        return ((total + (1 << 14)) >> 15).astype(np.uint8)
    return (image @ GRAY.astype(image.dtype if image.dtype.kind == "f" else np.float64)).astype(image.dtype)


def stored(values, dtype):
    """Numbers as a type, integers rounded to even and within their range."""
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        values = np.clip(np.rint(values), limits.min, limits.max)
    return values.astype(dtype)


def weighted_sum(first, factor, second, rest, dtype):
    """first * factor + second * rest in float32, whose first product is not rounded, stored as a type."""
    if dtype == np.float64:
        return first * factor + second * rest
    factor = np.float64(np.float32(factor))
    return stored((first * factor + second.astype(np.float32) * np.float32(rest)).astype(np.float32), dtype)


def blended(other, image, factor):
    """The other image times 1 - factor, and the image times the factor."""
    factor = np.float64(np.float32(factor))
    return weighted_sum(other, 1 - factor, image, factor, image.dtype)


def brightened(image, factor):
    return stored(image.astype(np.float32) * np.float32(factor), image.dtype)


def contrasted(image, factor):
    mean = stored(gray_of(image).mean(dtype=np.float64), image.dtype)
    return blended(np.full_like(image, mean), image, factor)


def saturated(image, factor):
    return blended(np.repeat(gray_of(image)[..., None], 3, 2), image, factor)


def _divided(numerator, count):
    """numerator / 0 to count - 1, rounded; 0 for 0."""
    values = np.zeros(count, np.int64)
    values[1:] = np.rint(numerator / np.arange(1, count))
    return values


_SHIFT = 12
_LANES = 32  # colours of a row that OpenCV converts at once, and then rounds towards zero
_SATURATION = _divided(255 << _SHIFT, 256)
_HUE = _divided((256 << _SHIFT) / 6, 256)


def hsv_of(image):
    """Hue, saturation and value of 8-bit colours, all from 0 to 255."""
    red, green, blue = (image[..., c].astype(np.int64) for c in range(3))
    value, least = image.max(2).astype(np.int64), image.min(2).astype(np.int64)
    range_ = value - least
    half = 1 << (_SHIFT - 1)
    saturation = (range_ * _SATURATION[value] + half) >> _SHIFT
    others = np.where(value == green, blue - red + 2 * range_, red - green + 4 * range_)
    sector = np.where(value == red, green - blue, others)
    hue = (sector * _HUE[range_] + half) >> _SHIFT
    return np.where(hue < 0, hue + 256, hue).astype(np.uint8), saturation, value


# Which part red, green and blue are in each sixth of the circle: the value, the lowest, a falling one, a rising one.
_PLACES = np.array([[0, 3, 1], [2, 0, 1], [1, 0, 3], [1, 2, 0], [3, 1, 0], [0, 1, 2]])


def rgb_of(hue, saturation, value):
    """8-bit colours of hue, saturation and value from 0 to 255."""
    hue = hue.astype(np.float32) * np.float32(6 / 255)
    saturation, value = (x.astype(np.float32) * np.float32(1 / 255) for x in (saturation, value))
    sector = np.floor(hue)
    rest = hue - sector
    places = _PLACES[sector.astype(np.int64) % 6]
    whole = hue.shape[1] // _LANES * _LANES
    parts = value, value * (1 - saturation), value * _rest_of(saturation, rest), value * _rest_of(saturation, 1 - rest)
    made = np.take_along_axis(np.stack(parts, -1), places, -1) * np.float32(255)
    made[:, :whole] = np.trunc(made[:, :whole])
    return np.clip(np.rint(made), 0, 255).astype(np.uint8)


def _rest_of(one, other):
    """1 - one * other, rounded once."""
    return (1 - one.astype(np.float64) * other).astype(np.float32)


def turned(image, share):
    """Colours with their hue turned by a share of the circle."""
    if image.dtype != np.uint8:  # numbers to 255, as those of 8 bits
        return turned(stored(image, np.dtype(np.uint8)), share).astype(image.dtype)
    hue, saturation, value = hsv_of(image)
    return rgb_of(hue + np.uint8(int(share * 255) % 256), saturation, value)


def tone_table(gamma, gain):
    """The 8-bit tones gain * tone^gamma of all 256, which count as numbers to 1."""
    tones = (np.arange(256, dtype=np.float32) / np.float32(255)) ** np.float32(gamma)
    scaled = tones * np.float32(255 + 1 - 1e-3) * np.float32(gain)
    return np.floor(np.minimum(scaled, np.float32(255))).astype(np.uint8)


def sharpened(image, factor):
    """The image between a blurred version, at 0, and itself, at 1, or sharper."""
    values = image.astype(np.float64)
    blurred = values.copy()
    if min(image.shape[:2]) > 2:
        height, width = image.shape[:2]
        total = 4 * values[1:-1, 1:-1]
        for i in range(3):
            total = total + sum(values[i : height - 2 + i, j : width - 2 + j] for j in range(3))
        blurred[1:-1, 1:-1] = total / 13 if image.dtype.kind == "f" else np.rint(total / 13)
    factor = np.float64(np.float32(factor))
    return weighted_sum(values, factor, blurred, 1 - factor, image.dtype)


def solarized(image, low, high):
    """255 minus the elements from `low` to `high`; those from `low` on if both are equal."""
    is_in = (image >= low) & ((image <= high) | (low == high))
    return np.where(is_in, 255 - image, image).astype(image.dtype)


def posterized(image, bits):
    """8-bit elements with their highest bits."""
    return image & np.uint8(256 - (1 << (8 - bits)) if bits else 0)


ADJUST = (brightened, contrasted, saturated, turned)
