"""Maps of images by NumPy: crops, flips and colours, most of which are drawn for each row."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from partita.dataset.vision.adjusted import ADJUST
from partita.dataset.vision.base import Drawn, ImageMap, of_each, require_colors, require_image
from partita.dataset.vision.enums import Inter
from partita.dataset.vision.pillow import enhanced, hue_turned, resized_pil
from partita.dataset.vision.resized import require_interpolation, resized


def _probability(where, prob):
    if isinstance(prob, bool) or not isinstance(prob, numbers.Real):
        raise TypeError(f"[{where}] prob is not a number, got {prob!r}, expected one from 0 to 1")
    if not 0 <= prob <= 1:
        raise ValueError(f"[{where}] bad prob, got {prob}, expected 0 to 1")
    return float(prob)


def _interval(where, name, value, least=0.0):
    """Two numbers in rising order."""
    fits = isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(x, numbers.Real) for x in value)
    if not fits or not least <= value[0] <= value[1]:
        raise ValueError(f"[{where}] bad {name}, got {value!r}, expected two rising numbers from {least:g}")
    return float(value[0]), float(value[1])


def flipped(image, axis):
    """An image, or several, in reverse order along their rows (0) or columns (1)."""
    if image.ndim > 3:
        return np.ascontiguousarray(np.flip(image, axis - 3))
    if image.ndim == 3 and axis == 1 and image.flags.c_contiguous:  # whole elements are copied, not their channels
        size = image.dtype.itemsize * image.shape[2]
        return image.view(f"V{size}")[:, ::-1].copy().view(image.dtype).reshape(image.shape)
    return np.ascontiguousarray(np.flip(image, axis))


def require_images(where, image):
    """Raises ValueError unless it is an image, or several of the same size: [.., height, width, channels]."""
    require_image(where, image.reshape(-1, *image.shape[-2:]) if image.ndim > 3 else image)


class _Flip(Drawn):
    def __init__(self, prob: float = 0.5):
        self.prob = _probability(type(self).__name__, prob)

    def drawn(self, image, generator):
        require_images(type(self).__name__, image)
        return flipped(image, self._axis) if generator.random() < self.prob else image


class RandomVerticalFlip(_Flip):
    """Exchanges top and bottom of an image [height,width] or [height,width,channels] with the probability `prob`.
    Raises ValueError for a probability outside of 0 to 1."""

    _axis = 0


class RandomHorizontalFlipWith(_Flip):
    """Left and right exchanged with a probability."""

    _axis = 1


RandomHorizontalFlipWith.__name__ = "RandomHorizontalFlip"  # as errors say it


def sizes_of(where, size):
    """(height, width), of two integers or one."""
    values = [size, size] if isinstance(size, numbers.Integral) and not isinstance(size, bool) else list(size)
    if len(values) != 2 or not all(isinstance(one, numbers.Integral) and one > 0 for one in values):
        raise ValueError(f"[{where}] bad size, got {size!r}, expected an integer or two from 1")
    return [int(one) for one in values]


class CenterCrop(ImageMap):
    """The window (height, width), or the square of one side, in the middle of an image [height,width] or
    [..,height,width,channels] of any element type, with zeros where the image is smaller."""

    def __init__(self, size: int | Sequence[int]):
        self.size = sizes_of("CenterCrop", size)

    @of_each
    def of_array(self, image):
        require_image("CenterCrop", image)
        for axis, wanted in enumerate(self.size):
            more = max(0, wanted - image.shape[axis])
            around = [(more - more // 2, more // 2) if i == axis else (0, 0) for i in range(image.ndim)]
            image = np.pad(image, around) if more else image
        top, left = ((n - wanted) // 2 for n, wanted in zip(image.shape, self.size))
        return np.ascontiguousarray(image[top : top + self.size[0], left : left + self.size[1]])

    def of_pil(self, image):
        left, top = (round((n - wanted) / 2) for n, wanted in zip(image.size, self.size[::-1]))
        return image.crop((left, top, left + self.size[1], top + self.size[0]))


class RandomResizedCrop(Drawn):
    """A window of an image [height,width] or [height,width,channels], one for all of several
    [..,height,width,channels], resized to (height, width), or to a square of one side. Its area is a share of that of
    the image, drawn from `scale`. Width over height is drawn from `ratio`, so that all proportions and their inverses
    are as likely. After `max_attempts` windows that do not fit, it is in the middle."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ):
        where = type(self).__name__
        self.size = sizes_of(where, size)
        self.scale, self.ratio = _interval(where, "scale", scale), _interval(where, "ratio", ratio, 1e-9)
        if not isinstance(max_attempts, int) or max_attempts < 1:
            raise ValueError(f"[{where}] bad max_attempts, got {max_attempts!r}, expected an integer from 1")
        require_interpolation(where, interpolation)
        self.interpolation, self.max_attempts = interpolation, max_attempts

    def window(self, height, width, generator):
        """(top, left, height, width)."""
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        for _ in range(self.max_attempts):
            area = height * width * generator.uniform(*self.scale)
            ratio = math.exp(generator.uniform(low, high))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                return int(generator.integers(height - h + 1)), int(generator.integers(width - w + 1)), h, w
        ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
        h, w = min(height, round(width / ratio)), min(width, round(height * ratio))
        return (height - h) // 2, (width - w) // 2, max(1, h), max(1, w)

    def drawn(self, image, generator):
        require_images(type(self).__name__, image)
        window = self.window(*image.shape[-3 if image.ndim > 3 else 0 :][:2], generator)
        return self._cut(image, window)

    @of_each
    def _cut(self, image, window):
        top, left, h, w = window
        return resized(np.ascontiguousarray(image[top : top + h, left : left + w]), self.size, self.interpolation)

    def drawn_pil(self, image, generator):
        width, height = image.size
        top, left, h, w = self.window(height, width, generator)
        image = image.crop((left, top, left + w, top + h))
        return resized_pil(type(self).__name__, image, tuple(self.size), self.interpolation)


class RandomErasing(Drawn):
    """With the probability `prob`, gives a window of an image with channels first, [channels,height,width], such as
    after ToTensor, one `value`, one for each channel, or normal numbers ("random"). `scale` bounds the share of the
    area, `ratio` height over width; after `max_attempts` windows that do not fit the image stays. Raises ValueError for
    other than three dimensions."""

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | Sequence[float] | str = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ):
        self.prob = _probability("RandomErasing", prob)
        self.scale = _interval("RandomErasing", "scale", scale)
        self.ratio = _interval("RandomErasing", "ratio", ratio, 1e-9)
        if value != "random" and not isinstance(value, (numbers.Real, tuple, list)):
            raise ValueError(f"[RandomErasing] bad value, got {value!r}, expected a number, three, or 'random'")
        self.value, self.inplace, self.max_attempts = value, inplace, max_attempts

    def drawn(self, image, generator):
        if image.ndim != 3:
            raise ValueError(f"[RandomErasing] no image, got shape {image.shape}, expected (channels, height, width)")
        if generator.random() >= self.prob:
            return image
        channels, height, width = image.shape
        for _ in range(self.max_attempts):
            area = height * width * generator.uniform(*self.scale)
            ratio = math.exp(generator.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            h, w = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < h < height and 0 < w < width:
                top, left = int(generator.integers(height - h + 1)), int(generator.integers(width - w + 1))
                made = image if self.inplace and image.flags.writeable else image.copy()
                if self.value == "random":
                    values = generator.standard_normal((channels, h, w))
                else:
                    values = np.reshape(np.broadcast_to(np.asarray(self.value), channels), (-1, 1, 1))
                made[:, top : top + h, left : left + w] = values.astype(image.dtype)
                return made
        return image


class RandomColorAdjust(Drawn):
    """Brightness, contrast and saturation of an image [height,width,3] times drawn factors, and its hue plus a drawn
    share of the circle, in drawn order; a result of uint8 is cut to 0 to 255. A pair is an interval to draw from. A
    number x stands for 1 - x, at least 0, to 1 + x, for the hue for -x to x, at most 0.5. Raises ValueError for an
    image of other shapes."""

    def __init__(
        self,
        brightness: float | Sequence[float] = (1, 1),
        contrast: float | Sequence[float] = (1, 1),
        saturation: float | Sequence[float] = (1, 1),
        hue: float | Sequence[float] = (0, 0),
    ):
        def interval(name, value, center):
            if isinstance(value, numbers.Real) and not isinstance(value, bool):
                value = (max(0.0, 1 - value), 1 + value) if center else (-value, value)
            return _interval("RandomColorAdjust", name, value, 0.0 if center else -0.5)

        self.brightness, self.contrast = interval("brightness", brightness, 1), interval("contrast", contrast, 1)
        self.saturation, self.hue = interval("saturation", saturation, 1), interval("hue", hue, 0)
        if self.hue[1] > 0.5:
            raise ValueError(f"[RandomColorAdjust] bad hue, got {hue!r}, expected -0.5 to 0.5")

    def _factors(self, generator):
        """(which of the four, its factor) in drawn order."""
        for kind in generator.permutation(4):
            low, high = (self.brightness, self.contrast, self.saturation, self.hue)[kind]
            factor = generator.uniform(low, high)
            yield int(kind), factor

    def drawn(self, image, generator):
        require_colors("RandomColorAdjust", image)
        for kind, factor in self._factors(generator):
            if factor != (0.0 if kind == 3 else 1.0):
                image = ADJUST[kind](image, factor)
        return image

    def drawn_pil(self, image, generator):
        for kind, factor in self._factors(generator):
            if kind == 3:
                image = hue_turned("RandomColorAdjust", image, factor)
            else:
                image = enhanced("RandomColorAdjust", ("Brightness", "Contrast", "Color")[kind], image, factor)
        return image
