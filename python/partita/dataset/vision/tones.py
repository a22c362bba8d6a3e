"""Maps that change colours and tones by given amounts, and those that do so with a probability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.dataset.vision import adjusted
from partita.dataset.vision.base import (
    Drawn,
    ImageMap,
    of_each,
    require_colors,
    require_image,
    require_integer,
    require_kind,
    require_number,
)
from partita.dataset.vision.drawn import _probability
from partita.dataset.vision.enhanced import AutoContrast, Equalize, Invert, _bytes_of, _tones_of
from partita.dataset.vision.enums import ConvertMode
from partita.dataset.vision.pillow import enhanced, hue_turned, to_pil


class _Adjust(ImageMap):
    """The base of maps of colours by one factor: its name, its range, its function, and what Pillow calls it."""

    _name, _range, _function, _pillow = "", (0, np.inf), None, ""

    def __init__(self, factor):
        self.factor = float(require_number(type(self).__name__, self._name, factor, *self._range))

    def of_array(self, image):
        require_colors(type(self).__name__, image)
        return type(self)._function(image, self.factor)

    def of_pil(self, image):
        return enhanced(type(self).__name__, self._pillow, image, self.factor)


class AdjustBrightness(_Adjust):
    """The colours of an image [height,width,3] times a factor from 0; uint8 is cut to 0 to 255. Raises ValueError for
    other shapes and negative factors."""

    _name, _function, _pillow = "brightness_factor", staticmethod(adjusted.brightened), "Brightness"

    def __init__(self, brightness_factor: float):
        super().__init__(brightness_factor)


class AdjustContrast(_Adjust):
    """The colours of an image [height,width,3] between its mean brightness, at 0, and themselves, at 1, or beyond.
    Raises ValueError for other shapes and negative factors."""

    _name, _function, _pillow = "contrast_factor", staticmethod(adjusted.contrasted), "Contrast"

    def __init__(self, contrast_factor: float):
        super().__init__(contrast_factor)


class AdjustSaturation(_Adjust):
    """The colours of an image [height,width,3] between gray ones, at 0, and themselves, at 1, or beyond. Raises
    ValueError for other shapes and negative factors."""

    _name, _function, _pillow = "saturation_factor", staticmethod(adjusted.saturated), "Color"

    def __init__(self, saturation_factor: float):
        super().__init__(saturation_factor)


class AdjustHue(_Adjust):
    """The colours of an image [height,width,3] with their hue turned by a share of the circle, from -0.5 to 0.5. Raises
    ValueError for other shapes and factors."""

    _name, _range, _function = "hue_factor", (-0.5, 0.5), staticmethod(adjusted.turned)

    def __init__(self, hue_factor: float):
        super().__init__(hue_factor)

    def of_pil(self, image):
        return hue_turned("AdjustHue", image, self.factor)


class AdjustSharpness(_Adjust):
    """An image of uint8 or floats between a blurred version, at 0, and itself, at 1, or sharper. Raises TypeError for
    other elements, ValueError for negative factors."""

    _name, _pillow = "sharpness_factor", "Sharpness"

    def __init__(self, sharpness_factor: float):
        super().__init__(sharpness_factor)

    def of_array(self, image):
        return adjusted.sharpened(_tones_of("AdjustSharpness", image), self.factor)


class AdjustGamma(ImageMap):
    """gain * tone^gamma, of tones to 1; for images of floats (gain * tone)^gamma, cut to 0 to 1."""

    def __init__(self, gamma: float, gain: float = 1):
        self.gamma = float(require_number("AdjustGamma", "gamma", gamma, 0))
        self.gain = float(require_number("AdjustGamma", "gain", gain))

    @of_each
    def of_array(self, image):
        require_image("AdjustGamma", image)
        if image.dtype.kind == "f":
            return np.clip((image * np.float32(self.gain)) ** np.float32(self.gamma), 0, 1).astype(image.dtype)
        return adjusted.tone_table(self.gamma, self.gain)[_bytes_of("AdjustGamma", image)]

    def of_pil(self, image):
        table = [int((255 + 1 - 1e-3) * self.gain * (tone / 255.0) ** self.gamma) for tone in range(256)]
        return image.point(table * len(image.getbands()))


class Posterize(ImageMap):
    """An image of uint8 with the highest `bits` bits, 0 to 8, of each element alone. Raises TypeError for other
    elements."""

    def __init__(self, bits: int):
        self.bits = require_integer("Posterize", "bits", bits, 0, 8)

    def of_array(self, image):
        return adjusted.posterized(_bytes_of("Posterize", image), self.bits)


class Solarize(ImageMap):
    """An image with 255 minus the elements within two thresholds, tones from 0 to 255, or from one on."""

    def __init__(self, threshold: float | Sequence[float]):
        pair = (threshold, threshold) if isinstance(threshold, (int, float)) else tuple(threshold)
        if len(pair) != 2 or pair[0] > pair[1]:
            raise ValueError(f"[Solarize] bad threshold, got {threshold!r}, expected a number or two rising ones")
        self.threshold = [float(require_number("Solarize", "threshold", one, 0, 255)) for one in pair]

    def of_array(self, image):
        require_image("Solarize", image)
        return adjusted.solarized(image, *self.threshold)


class _Perhaps(Drawn):
    """The base of maps that happen with a probability."""

    def __init__(self, step, prob):
        self.step, self.prob = step, _probability(type(self).__name__, prob)

    def drawn(self, image, generator):
        return self.step.of_array(image) if generator.random() < self.prob else image

    def drawn_pil(self, image, generator):
        return self.step.of_pil(image) if generator.random() < self.prob else image


class RandomAdjustSharpness(_Perhaps):
    """AdjustSharpness by `degree`, at least 0, with the probability `prob`, of an image of uint8."""

    def __init__(self, degree: float | Sequence[float], prob: float = 0.5):
        super().__init__(AdjustSharpness(degree), prob)


class RandomAutoContrast(_Perhaps):
    """AutoContrast with the probability `prob`, of an image of uint8."""

    def __init__(self, cutoff: float = 0.0, ignore: int | Sequence[int] | None = None, prob: float = 0.5):
        super().__init__(AutoContrast(cutoff, ignore), prob)


class RandomEqualize(_Perhaps):
    """Equalize with the probability `prob`, of an image of uint8."""

    def __init__(self, prob: float = 0.5):
        super().__init__(Equalize(), prob)


class RandomInvert(_Perhaps):
    """Invert with the probability `prob`, of an image of uint8."""

    def __init__(self, prob: float = 0.5):
        super().__init__(Invert(), prob)


class Grayscale(ImageMap):
    """The brightness of colours [height,width,3], as `num_output_channels` equal channels, 1 or 3, of the same
    elements."""

    def __init__(self, num_output_channels: int = 1):
        self.num_output_channels = require_integer("Grayscale", "num_output_channels", num_output_channels, 1, 3)
        if num_output_channels == 2:
            raise ValueError("[Grayscale] bad num_output_channels, got 2, expected 1 or 3")

    def of_array(self, image):
        gray = image if image.ndim == 2 else None
        if gray is None:
            require_colors("Grayscale", image)
            gray = adjusted.gray_of(image)
        return gray if self.num_output_channels == 1 else np.stack([gray] * 3, -1)

    def of_pil(self, image):
        gray = image.convert("L")
        return gray if self.num_output_channels == 1 else to_pil(np.stack([np.asarray(gray)] * 3, -1))


class RandomGrayscale(Drawn):
    """Grayscale with a probability, with as many channels as before."""

    def __init__(self, prob: float = 0.1):
        self.prob = _probability("RandomGrayscale", prob)

    def drawn(self, image, generator):
        if generator.random() >= self.prob:
            return image
        return Grayscale(1 if image.ndim == 2 else 3).of_array(image)

    def drawn_pil(self, image, generator):
        if generator.random() >= self.prob:
            return image
        return Grayscale(1 if image.mode == "L" else 3).of_pil(image)


# Which channel each of the new ones is; 3 is that of transparency, or 255 where there was none.
_ORDERS = {
    ConvertMode.COLOR_BGR2BGRA: (0, 1, 2, 3),
    ConvertMode.COLOR_BGRA2BGR: (0, 1, 2),
    ConvertMode.COLOR_BGR2RGBA: (2, 1, 0, 3),
    ConvertMode.COLOR_RGBA2BGR: (2, 1, 0),
    ConvertMode.COLOR_BGR2RGB: (2, 1, 0),
    ConvertMode.COLOR_BGRA2RGBA: (2, 1, 0, 3),
    ConvertMode.COLOR_GRAY2BGR: (0, 0, 0),
    ConvertMode.COLOR_GRAY2BGRA: (0, 0, 0, 3),
}


class ConvertColor(ImageMap):
    """An image in another order of colours, with or without transparency or gray, as `convert_mode` says: COLOR_BGR2RGB
    of [height,width,3]. Gray images are [height,width]. Raises ValueError for another number of channels than the mode
    takes."""

    def __init__(self, convert_mode: ConvertMode):
        self.convert_mode = require_kind("ConvertColor", "convert_mode", convert_mode, ConvertMode)

    def of_array(self, image):
        require_image("ConvertColor", image)
        begins = self.convert_mode.name.split("_")[1].split("2")[0]
        channels = {"GRAY": 1}.get(begins, len(begins))
        image = image[..., None] if image.ndim == 2 else image
        if image.shape[2] != channels:
            raise ValueError(
                f"[ConvertColor] another number of channels, got shape {image.shape}, expected (height, width, "
                f"{channels}) for {self.convert_mode.name}"
            )
        if self.convert_mode not in _ORDERS:  # to gray
            is_blue_first = self.convert_mode in (ConvertMode.COLOR_BGR2GRAY, ConvertMode.COLOR_BGRA2GRAY)
            return adjusted.gray_of(image[..., (2, 1, 0) if is_blue_first else (0, 1, 2)])
        opaque = 255 if image.dtype == np.uint8 else 1
        order = _ORDERS[self.convert_mode]
        made = [image[..., c] if c < channels else np.full_like(image[..., 0], opaque) for c in order]
        return np.ascontiguousarray(np.stack(made, -1))


class NormalizePad(ImageMap):
    """(value - mean) / std of each channel, and a channel of zeros after them."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], dtype: str = "float32", is_hwc: bool = True):
        if len(mean) != len(std):
            raise ValueError(
                f"[NormalizePad] different numbers of means and deviations, got {len(mean)} and {len(std)}, expected "
                "as many"
            )
        if dtype not in ("float32", "float16"):
            raise ValueError(f"[NormalizePad] bad dtype, got {dtype!r}, expected float32 or float16")
        self.mean, self.std = (np.array(one, np.float32) for one in (mean, std))
        self.dtype, self.axis = np.dtype(dtype), 2 if is_hwc else 0

    def of_array(self, image):
        if image.ndim != 3 or image.shape[self.axis] != len(self.mean):
            raise ValueError(
                f"[NormalizePad] another number of channels, got shape {image.shape}, expected {len(self.mean)} on "
                f"axis {self.axis}"
            )
        shape = [-1 if i == self.axis else 1 for i in range(3)]
        made = (image.astype(np.float32) - self.mean.reshape(shape)) / self.std.reshape(shape)
        return np.pad(made, [(0, int(i == self.axis)) for i in range(3)]).astype(self.dtype)


class LinearTransformation(ImageMap):
    """The elements of an array, minus a mean, times a square matrix: such as for whitening. `transformation_matrix` is
    [n,n] and `mean_vector` [n], for arrays of n elements in all, which keep their shape. Raises ValueError for
    others."""

    def __init__(self, transformation_matrix: np.ndarray, mean_vector: np.ndarray):
        self.matrix, self.mean = np.asarray(transformation_matrix), np.asarray(mean_vector)
        if self.matrix.ndim != 2 or self.matrix.shape != (len(self.mean),) * 2:
            raise ValueError(
                f"[LinearTransformation] shapes that do not fit, got {self.matrix.shape} and {self.mean.shape}, "
                "expected (n, n) and (n,)"
            )

    def of_array(self, image):
        if image.size != len(self.mean):
            raise ValueError(
                f"[LinearTransformation] another number of elements, got shape {image.shape}, expected "
                f"{len(self.mean)} in all"
            )
        return ((image.reshape(1, -1) - self.mean) @ self.matrix).reshape(image.shape)


# Eigenvectors of the colours of ImageNet times their eigenvalues, Krizhevsky et al. 2012.
_LIGHTS = np.array([55.46, 4.794, 1.148]) * np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


class RandomLighting(Drawn):
    """Colours [height,width,3] plus a normal number of deviation `alpha` times each main direction of the colours of
    ImageNet."""

    def __init__(self, alpha: float = 0.05):
        self.alpha = float(require_number("RandomLighting", "alpha", alpha, 0))

    def drawn(self, image, generator):
        require_colors("RandomLighting", image)
        more = _LIGHTS @ (generator.standard_normal(3) * self.alpha)
        return adjusted.stored(image.astype(np.float32) + more.astype(np.float32), image.dtype)


class _OfChannels(ImageMap):
    """The base of maps of three channels, (height, width, 3) or (3, height, width), or of a batch of such."""

    def __init__(self, is_hwc: bool = False):
        if not isinstance(is_hwc, bool):
            raise TypeError(f"[{type(self).__name__}] is_hwc is not a boolean, got {is_hwc!r}, expected True or False")
        self.is_hwc = is_hwc

    def of_array(self, image):
        axis = -1 if self.is_hwc else -3
        if image.ndim not in (3, 4) or image.shape[axis] != 3:
            raise TypeError(
                f"[{type(self).__name__}] no colours, got shape {image.shape}, expected 3 on axis {axis} of 3 or 4 axes"
            )
        return np.stack(self._mapped(*(np.take(image, c, axis) for c in range(3))), axis)


class RgbToHsv(_OfChannels):
    """Hue, saturation and value of red, green and blue, in float64; the value keeps the range of the colours."""

    @staticmethod
    def _mapped(red, green, blue):
        red, green, blue = (one.astype(np.float64) for one in (red, green, blue))
        value, least = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
        range_ = value - least
        scale = np.where(range_ == 0, 1, range_)
        far = [(value - one) / scale for one in (red, green, blue)]
        hue = np.where(
            red == value, far[2] - far[1], np.where(green == value, 2 + far[0] - far[2], 4 + far[1] - far[0])
        )
        is_gray = range_ == 0
        hue = np.where(is_gray, 0, (hue / 6) % 1)
        return hue, np.where(is_gray, 0, range_ / np.where(is_gray, 1, value)), value


class HsvToRgb(_OfChannels):
    """Red, green and blue of hue, saturation and value, in float64."""

    @staticmethod
    def _mapped(hue, saturation, value):
        hue, saturation, value = (one.astype(np.float64) for one in (hue, saturation, value))
        sector = np.trunc(hue * 6).astype(np.int64)
        rest = hue * 6 - sector
        low, falling = value * (1 - saturation), value * (1 - saturation * rest)
        rising, sector = value * (1 - saturation * (1 - rest)), sector % 6
        parts = (
            (value, falling, low, low, rising, value),
            (rising, value, value, falling, low, low),
            (low, low, rising, value, value, falling),
        )
        return tuple(np.where(saturation == 0, value, np.choose(sector, part)) for part in parts)
