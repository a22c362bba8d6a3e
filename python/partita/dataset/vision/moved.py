"""Maps that move an image by given amounts, and by a drawn perspective."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from partita.dataset.vision.base import Drawn, ImageMap, of_each, require_integer, require_number
from partita.dataset.vision.drawn import _probability
from partita.dataset.vision.enhanced import _bytes_of, _require_resample, _tones_of
from partita.dataset.vision.enums import Inter
from partita.dataset.vision.pillow import pillow, resampling
from partita.dataset.vision.warped import affine, filled, perspective, rotated, seen, warped


def _like(made, image):
    return made[..., 0] if image.ndim == 2 else made


class Affine(ImageMap):
    """An image of uint8 or floats turned against the clock by `degrees`, moved by shares of its width and height
    (`translate`), scaled by a factor and sheared by degrees around its middle."""

    def __init__(
        self,
        degrees: float,
        translate: Sequence[float],
        scale: float,
        shear: float | Sequence[float],
        resample: Inter = Inter.NEAREST,
        fill_value: int | Sequence[int] = 0,
    ):
        where = "Affine"
        self.degrees = require_number(where, "degrees", degrees, -180, 180)
        shear = (shear, 0.0) if isinstance(shear, numbers.Real) else shear
        for name, pair in (("translate", translate), ("shear", shear)):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(f"[Affine] bad {name}, got {pair!r}, expected two numbers")
        self.translate = [require_number(where, "translate", one, -1, 1) for one in translate]
        self.shear = [require_number(where, "shear", one, -360, 360) for one in shear]
        self.scale_ = require_number(where, "scale", scale, 1e-9)
        self.resample, self.fill_value = _require_resample(where, resample), filled(where, fill_value)

    def of_array(self, image):
        image = _tones_of("Affine", image)
        moved = [share * side for share, side in zip(self.translate, image.shape[1::-1])]
        matrix = affine(image.shape, self.degrees, moved, self.scale_, self.shear)
        return _like(warped(image, matrix, image.shape[:2], self.resample, self.fill_value), image)


class Rotate(ImageMap):
    """An image of uint8 or floats turned against the clock by `degrees`; the other options are those of
    RandomRotation."""

    def __init__(
        self,
        degrees: float,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill_value: int | Sequence[int] = 0,
    ):
        self.degrees = require_number("Rotate", "degrees", degrees) % 360
        self.resample, self.expand = _require_resample("Rotate", resample), bool(expand)
        self.center, self.fill_value = center, filled("Rotate", fill_value)

    @of_each
    def of_array(self, image):
        image = _tones_of("Rotate", image)
        fill = self.fill_value[::-1]  # as the documented map has it
        return _like(rotated(image, self.degrees, self.resample, self.expand, self.center, fill), image)


def _points(where, name, points):
    fits = isinstance(points, (tuple, list)) and len(points) == 4 and all(len(one) == 2 for one in points)
    if not fits:
        raise TypeError(f"[{where}] bad {name}, got {points!r}, expected four points (x, y)")
    return [[require_integer(where, name, one, -(2**31)) for one in point] for point in points]


def _seen_by_pillow(image, starts, ends, resample):
    coefficients = perspective(ends, starts, by_least_squares=True).reshape(-1)[:8]
    transform = getattr(pillow("Perspective"), "Transform", pillow("Perspective")).PERSPECTIVE
    return image.transform(image.size, transform, coefficients.tolist(), resample)


class Perspective(ImageMap):
    """An image of uint8 or floats seen so that four points (x, y), in elements from the corner, move to four others."""

    def __init__(
        self,
        start_points: Sequence[Sequence[float]],
        end_points: Sequence[Sequence[float]],
        interpolation: Inter = Inter.BILINEAR,
    ):
        self.starts = _points("Perspective", "start_points", start_points)
        self.ends = _points("Perspective", "end_points", end_points)
        self.interpolation = _require_resample("Perspective", interpolation)

    def of_array(self, image):
        image = _tones_of("Perspective", image)
        return _like(seen(image, perspective(self.starts, self.ends), self.interpolation), image)

    def of_pil(self, image):
        return _seen_by_pillow(image, self.starts, self.ends, resampling("Perspective", self.interpolation))


class RandomPerspective(Drawn):
    """With a probability, the image seen so that its corners move inwards, by at most `distortion_scale` of the half
    width and height each."""

    def __init__(self, distortion_scale: float = 0.5, prob: float = 0.5, interpolation: Inter = Inter.BICUBIC):
        self.scale = require_number("RandomPerspective", "distortion_scale", distortion_scale, 0, 1)
        self.prob = _probability("RandomPerspective", prob)
        self.interpolation = _require_resample("RandomPerspective", interpolation)

    def _corners(self, height, width, generator):
        down, across = int(height / 2 * self.scale), int(width / 2 * self.scale)
        starts = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        moves = [(int(generator.integers(across + 1)), int(generator.integers(down + 1))) for _ in starts]
        ends = [(abs(x - one), abs(y - other)) for (x, y), (one, other) in zip(starts, moves)]
        return starts, ends

    def drawn(self, image, generator):
        if generator.random() >= self.prob:
            return image
        image = _bytes_of("RandomPerspective", image)
        starts, ends = self._corners(*image.shape[:2], generator)
        return _like(seen(image, perspective(starts, ends), self.interpolation), image)

    def drawn_pil(self, image, generator):
        if generator.random() >= self.prob:
            return image
        starts, ends = self._corners(image.size[1], image.size[0], generator)
        return _seen_by_pillow(image, starts, ends, resampling("RandomPerspective", self.interpolation))
