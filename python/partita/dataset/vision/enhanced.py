"""Maps of images that change tones, blur, or move the image; most are drawn for each row. Numbers of 8 bits are those
of the documented system."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from partita.dataset.vision.adjusted import posterized, saturated, sharpened, solarized
from partita.dataset.vision.base import Drawn, ImageMap, require_colors, require_image
from partita.dataset.vision.drawn import _interval
from partita.dataset.vision.enums import Inter
from partita.dataset.vision.pillow import enhanced, pillow, resampling
from partita.dataset.vision.warped import affine, filled, rotated, warped


def _bytes_of(where, image):
    """An image of 8 bits. Raises TypeError for others."""
    image = np.asarray(image)
    require_image(where, image)
    if image.dtype != np.uint8:
        raise TypeError(f"[{where}] the image is not of 8 bits, got {image.dtype}, expected uint8")
    return image


def _tones_of(where, image):
    """An image of 8 bits, or of floats. Raises TypeError for others."""
    image = np.asarray(image)
    require_image(where, image)
    return image if image.dtype in (np.float32, np.float64) else _bytes_of(where, image)


def _by_channels(image, function):
    """A function over each channel."""
    if image.ndim == 2:
        return function(image)
    return np.stack([function(image[..., c]) for c in range(image.shape[2])], axis=-1)


class Invert(ImageMap):
    """255 minus the elements of an image [height,width] or [height,width,channels], which keep their type."""

    def of_array(self, image):
        require_image("Invert", image)
        return 255 - image if image.dtype == np.uint8 else (255 - image).astype(image.dtype)

    def of_pil(self, image):
        return pillow("Invert", "ImageOps").invert(image)


class Equalize(ImageMap):
    """Each channel of an image of uint8, [height,width] or [height,width,channels], with its tones spread so that about
    as many elements have each. Raises TypeError for other elements."""

    def of_pil(self, image):
        return pillow("Equalize", "ImageOps").equalize(image)

    def of_array(self, image):
        return _by_channels(_bytes_of("Equalize", image), self._equalized)

    @staticmethod
    def _equalized(channel):
        counts = np.bincount(channel.reshape(-1), minlength=256)
        first = int(np.flatnonzero(counts)[0])
        above = channel.size - counts[first]
        if above == 0:
            return channel
        counts[first] = 0
        scale = np.float32(255.0) / np.float32(above)
        return np.clip(np.rint(np.cumsum(counts).astype(np.float32) * scale), 0, 255).astype(np.uint8)[channel]


class AutoContrast(ImageMap):
    """Each channel of an image of uint8 stretched to 0 to 255, after `cutoff` percent of its elements at both ends.
    Tones in `ignore`, an integer or several, do not count. Raises TypeError for other elements."""

    def __init__(self, cutoff: float = 0.0, ignore: int | Sequence[int] | None = None):
        if isinstance(cutoff, bool) or not isinstance(cutoff, numbers.Real):
            raise TypeError(f"[AutoContrast] cutoff is not a number, got {cutoff!r}, expected one from 0 to 50")
        if not 0 <= cutoff < 50:
            raise ValueError(f"[AutoContrast] bad cutoff, got {cutoff}, expected 0 to 50, 50 excluded")
        ignore = [] if ignore is None else [ignore] if isinstance(ignore, numbers.Integral) else list(ignore)
        if not all(isinstance(one, numbers.Integral) and 0 <= one <= 255 for one in ignore):
            raise ValueError(f"[AutoContrast] bad ignore, got {ignore!r}, expected integers from 0 to 255")
        self.cutoff, self.ignore = float(cutoff), ignore

    def of_pil(self, image):
        return pillow("AutoContrast", "ImageOps").autocontrast(image, self.cutoff, self.ignore)

    def of_array(self, image):
        return _by_channels(_bytes_of("AutoContrast", image), self._stretched)

    def _stretched(self, channel):
        counts = np.bincount(channel.reshape(-1), minlength=256)
        counts[self.ignore] = 0
        cut = int(counts.sum() * (self.cutoff / 100.0))
        for tones in (range(256), range(255, -1, -1)) if cut else ():
            left = cut
            for tone in tones:
                taken = min(left, counts[tone])
                counts[tone] -= taken
                left -= taken
        present = np.flatnonzero(counts)
        if not len(present) or present[0] == present[-1]:
            return channel
        scale = np.float32(255) / np.float32(present[-1] - present[0])
        table = (np.arange(256, dtype=np.float32) * scale + np.float32(-present[0]) * scale).astype(np.int64)
        return np.clip(table, 0, 255).astype(np.uint8)[channel]


class GaussianBlur(ImageMap):
    """An image [height,width] or [height,width,channels] of any element type, blurred by normal weights over
    `kernel_size` elements, an odd number or (width, height). `sigma`, their deviation in elements, is 0.15 *
    kernel_size + 0.35 where it is not given."""

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None):
        sizes = [kernel_size] * 2 if isinstance(kernel_size, numbers.Integral) else list(kernel_size)
        if len(sizes) != 2 or not all(isinstance(one, numbers.Integral) and one > 0 and one % 2 for one in sizes):
            raise ValueError(f"[GaussianBlur] bad kernel_size, got {kernel_size!r}, expected odd integers from 1")
        sigmas = [sigma] * 2 if sigma is None or isinstance(sigma, numbers.Real) else list(sigma)
        if len(sigmas) != 2 or not all(one is None or one >= 0 for one in sigmas):
            raise ValueError(f"[GaussianBlur] bad sigma, got {sigma!r}, expected numbers from 0")
        self.kernel_size = sizes  # (width, height)
        widths = sizes if isinstance(sigma, (tuple, list)) else [sizes[0]] * 2
        self.sigma = [one or n * 0.15 + 0.35 for one, n in zip(sigmas, widths)]

    def of_array(self, image):
        require_image("GaussianBlur", image)
        weights = [self._weights(size, sigma) for size, sigma in zip(self.kernel_size, self.sigma)]
        if image.dtype != np.uint8:
            values = image.astype(np.float64)
            for axis, one in zip((1, 0), weights):
                values = self._along(values, axis, one)
            return values.astype(image.dtype)
        values = image.astype(np.int64)
        for axis, one in zip((1, 0), weights):
            values = self._along(values, axis, self._of_eight_bits(one))
        return np.clip((values + (1 << 15)) >> 16, 0, 255).astype(np.uint8)

    @staticmethod
    def _weights(size, sigma):
        places = np.arange(size) - size // 2
        weights = np.exp(-(places**2) / (2 * sigma**2))
        return weights / weights.sum()

    @staticmethod
    def _of_eight_bits(weights):
        """Integers that add up to 256. What is rounded off goes to the next one, and the middle one gets the rest."""
        made, rest = np.zeros(len(weights), np.int64), 0.0
        for i in range(len(weights) // 2):
            wanted = weights[i] * 256 + rest
            made[i] = made[-1 - i] = round(wanted)
            rest = wanted - made[i]
        made[len(weights) // 2] = 256 - made.sum()
        return made

    @staticmethod
    def _along(values, axis, weights):
        size, length = len(weights), values.shape[axis]
        around = [(size // 2, size // 2) if i == axis else (0, 0) for i in range(values.ndim)]
        padded = np.pad(values, around, "reflect")
        return sum(np.take(padded, range(k, k + length), axis) * weight for k, weight in enumerate(weights))


class RandomColor(Drawn):
    """An image uint8[height,width,3] between its gray version, at 0, and itself, at 1, or beyond, by a number drawn
    from `degrees`. Raises TypeError for other elements, ValueError for other shapes."""

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)):
        self.degrees = _interval("RandomColor", "degrees", degrees)

    def drawn(self, image, generator):
        image, factor = _bytes_of("RandomColor", image), generator.uniform(*self.degrees)
        require_colors("RandomColor", image)
        return saturated(image, factor)

    def drawn_pil(self, image, generator):
        return enhanced("RandomColor", "Color", image, generator.uniform(*self.degrees))


class RandomSharpness(Drawn):
    """An image of uint8 between a blurred version, at 0, and itself, at 1, or sharper, by a number drawn from
    `degrees`. Raises TypeError for other elements."""

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)):
        self.degrees = _interval("RandomSharpness", "degrees", degrees)

    def drawn(self, image, generator):
        image, factor = _bytes_of("RandomSharpness", image), generator.uniform(*self.degrees)
        return sharpened(image, factor)

    def drawn_pil(self, image, generator):
        return enhanced("RandomSharpness", "Sharpness", image, generator.uniform(*self.degrees))


class RandomSolarize(Drawn):
    """An image of uint8 with 255 minus the elements within an interval drawn from `threshold`, tones from 0 to 255;
    with equal limits, of the elements from there on. Raises TypeError for other elements."""

    def __init__(self, threshold: float | Sequence[float] = (0, 255)):
        self.threshold = [int(one) for one in _interval("RandomSolarize", "threshold", threshold)]
        if self.threshold[1] > 255:
            raise ValueError(f"[RandomSolarize] bad threshold, got {threshold!r}, expected integers from 0 to 255")

    def drawn(self, image, generator):
        image = _bytes_of("RandomSolarize", image)
        low, high = sorted(int(one) for one in generator.integers(self.threshold[0], self.threshold[1] + 1, 2))
        return solarized(image, low, high if self.threshold[0] < self.threshold[1] else low)


class RandomPosterize(Drawn):
    """An image of uint8 with the highest bits of each element alone; how many of the 8 is drawn from `bits`, a number
    or an interval. Raises TypeError for other elements."""

    def __init__(self, bits: int | Sequence[int] = (8, 8)):
        bits = (bits, bits) if isinstance(bits, numbers.Integral) else bits
        self.bits = [int(one) for one in _interval("RandomPosterize", "bits", bits, 1)]
        if self.bits[1] > 8:
            raise ValueError(f"[RandomPosterize] bad bits, got {bits!r}, expected integers from 1 to 8")

    def drawn(self, image, generator):
        image = _bytes_of("RandomPosterize", image)
        kept = int(generator.integers(self.bits[0], self.bits[1] + 1))
        return posterized(image, kept)


def _of_sides(where, name, degrees):
    """Two numbers in rising order, of one or two."""
    if isinstance(degrees, numbers.Real) and not isinstance(degrees, bool):
        if degrees < 0:
            raise ValueError(f"[{where}] bad {name}, got {degrees}, expected a number from 0, or two")
        degrees = (-degrees, degrees)
    return _interval(where, name, degrees, -math.inf)


def _require_resample(where, resample):
    if not isinstance(resample, Inter):
        raise TypeError(f"[{where}] bad resample, got {resample!r}, expected Inter.NEAREST, BILINEAR, BICUBIC or AREA")
    return resample


class RandomRotation(Drawn):
    """An image of uint8 or floats, turned against the clock by degrees drawn from `degrees`, an interval, or a number x
    for -x to x. It keeps its size unless `expand`; `center` is the point (x, y) that stays, the middle by default, and
    `fill_value` the tone, or one for each channel, of what comes into sight. Raises TypeError for other elements."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill_value: int | Sequence[int] = 0,
    ):
        self.degrees = _of_sides("RandomRotation", "degrees", degrees)
        self.resample, self.expand, self.center = _require_resample("RandomRotation", resample), bool(expand), center
        self.fill_value = filled("RandomRotation", fill_value)

    def drawn(self, image, generator):
        image = _tones_of("RandomRotation", image)
        fill = self.fill_value[::-1]  # as the documented map has it
        made = rotated(image, generator.uniform(*self.degrees), self.resample, self.expand, self.center, fill)
        return made[..., 0] if image.ndim == 2 else made

    def drawn_pil(self, image, generator):
        degrees, fill = generator.uniform(*self.degrees) % 360, tuple(self.fill_value)
        resample = resampling("RandomRotation", self.resample)
        fill = fill[0] if image.mode in ("L", "1") else fill
        return image.rotate(degrees, resample, self.expand, self.center, fillcolor=fill)


class RandomAffine(Drawn):
    """An image of uint8 or floats turned, moved, scaled and sheared around its middle, each by drawn numbers.
    `degrees`: an interval, or x for -x to x. `translate`: limits of the shares of width and height. `scale`: an
    interval of factors. `shear`: degrees, those of x, or of x and y. None leaves a change out. Raises TypeError for
    other elements."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        resample: Inter = Inter.NEAREST,
        fill_value: int | Sequence[int] = 0,
    ):
        where = "RandomAffine"
        self.degrees = _of_sides(where, "degrees", degrees)
        translate = [0, 0, 0, 0] if translate is None else list(translate)
        self.translate = self._pairs(where, "translate", translate)
        if not all(-1 <= one <= 1 for pair in self.translate for one in pair):
            raise ValueError(f"[{where}] bad translate, got {translate!r}, expected numbers from -1 to 1")
        self.scale = (1.0, 1.0) if scale is None else _interval(where, "scale", scale)
        shear = [0, 0, 0, 0] if shear is None else [-shear, shear] if isinstance(shear, numbers.Real) else list(shear)
        self.shear = self._pairs(where, "shear", shear)
        self.resample, self.fill_value = _require_resample(where, resample), filled(where, fill_value)

    @staticmethod
    def _pairs(where, name, values):
        """Intervals of x and y, of two numbers for x or of four."""
        if len(values) not in (2, 4):
            raise ValueError(f"[{where}] bad {name}, got {values!r}, expected two numbers, or four")
        values = values + [0, 0] if len(values) == 2 else values
        return [_interval(where, name, values[i : i + 2], -math.inf) for i in (0, 2)]

    def drawn(self, image, generator):
        image = _tones_of("RandomAffine", image)
        degrees, scale = generator.uniform(*self.degrees), generator.uniform(*self.scale)
        sides = image.shape[1], image.shape[0]
        moved = [generator.uniform(*pair) * side for pair, side in zip(self.translate, sides)]
        matrix = affine(image.shape, degrees, moved, scale, [generator.uniform(*pair) for pair in self.shear])
        made = warped(image, matrix, image.shape[:2], self.resample, self.fill_value)
        return made[..., 0] if image.ndim == 2 else made
