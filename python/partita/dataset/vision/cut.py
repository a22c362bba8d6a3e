"""Windows, patches and mirror images, without chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.dataset.vision.base import (
    Drawn,
    ImageMap,
    ManyMap,
    of_each,
    require_image,
    require_integer,
    require_kind,
    require_number,
)
from partita.dataset.vision.drawn import flipped, require_images, sizes_of
from partita.dataset.vision.enums import Inter, SliceMode
from partita.dataset.vision.pillow import is_pil, to_pil
from partita.dataset.vision.resized import require_interpolation, resized, shorter_to


class HorizontalFlip(ImageMap):
    """Exchanges left and right of images [height,width] or [..,height,width,channels]."""

    _axis = 1

    def of_array(self, image):
        require_images(type(self).__name__, image)
        return flipped(image, self._axis)


class VerticalFlip(HorizontalFlip):
    """Exchanges top and bottom of images [height,width] or [..,height,width,channels]."""

    _axis = 0


def _window(where, image, top, left, height, width):
    require_image(where, image)
    if top + height > image.shape[0] or left + width > image.shape[1]:
        raise ValueError(
            f"[{where}] the window is not in the image, got rows {top} to {top + height} and columns {left} to "
            f"{left + width}, expected them in {image.shape[0]} x {image.shape[1]}"
        )
    return np.ascontiguousarray(image[top : top + height, left : left + width])


class Crop(ImageMap):
    """The window `size`, (height, width) or a square of one side, from `coordinates`, (top, left), of an image
    [height,width] or [height,width,channels]. Raises ValueError where the image is smaller."""

    def __init__(self, coordinates: Sequence[int], size: int | Sequence[int]):
        if not isinstance(coordinates, (tuple, list)) or len(coordinates) != 2:
            raise TypeError(f"[Crop] bad coordinates, got {coordinates!r}, expected (top, left)")
        self.coordinates = [require_integer("Crop", "coordinates", one, 0) for one in coordinates]
        self.size = sizes_of("Crop", size)

    def of_array(self, image):
        return _window("Crop", image, *self.coordinates, *self.size)


class ResizedCrop(ImageMap):
    """The window (height, width) from (top, left), resized to `size`, (height, width) or a square. Raises ValueError
    where the image is smaller."""

    def __init__(
        self,
        top: int,
        left: int,
        height: int,
        width: int,
        size: int | Sequence[int],
        interpolation: Inter = Inter.BILINEAR,
    ):
        where = "ResizedCrop"
        self.place = [require_integer(where, name, one, 0) for name, one in (("top", top), ("left", left))]
        self.window = [require_integer(where, name, one, 1) for name, one in (("height", height), ("width", width))]
        require_interpolation(where, interpolation)
        self.size, self.interpolation = sizes_of(where, size), interpolation

    def of_array(self, image):
        cut = _window("ResizedCrop", image, *self.place, *self.window)
        return resized(cut, self.size, self.interpolation, "ResizedCrop")


class Erase(ImageMap):
    """The window (height, width) from (top, left) with one value, or one for each channel."""

    def __init__(
        self, top: int, left: int, height: int, width: int, value: float | Sequence[float] = 0.0, inplace: bool = False
    ):
        where = "Erase"
        self.place = [require_integer(where, name, one, 0) for name, one in (("top", top), ("left", left))]
        self.window = [require_integer(where, name, one, 1) for name, one in (("height", height), ("width", width))]
        values = [value] if isinstance(value, (int, float)) else list(value)
        if len(values) not in (1, 3):
            raise TypeError(f"[Erase] bad value, got {value!r}, expected a number or three")
        self.value = [int(require_number(where, "value", one, 0, 255)) for one in values]
        self.inplace = bool(inplace)

    def of_array(self, image):
        require_image("Erase", image)
        if any(one > n for one, n in zip(self.window, image.shape)):
            raise ValueError(
                f"[Erase] the window is larger than the image, got {self.window}, expected at most "
                f"{list(image.shape[:2])}"
            )
        made = image if self.inplace and image.flags.writeable else image.copy()
        (top, left), (height, width) = self.place, self.window
        made[top : top + height, left : left + width] = np.resize(self.value, image.shape[2:]) if image.ndim == 3 else (
            self.value[0]
        )
        return made


class FiveCrop(ManyMap):
    """The windows (height, width) in the four corners and in the middle: five images."""

    def __init__(self, size: int | Sequence[int]):
        self.size = sizes_of(type(self).__name__, size)

    def of_array(self, image):
        require_image(type(self).__name__, image)
        return self._five(image)

    def _five(self, image):
        (height, width), (rows, columns) = self.size, image.shape[:2]
        middle = round((rows - height) / 2), round((columns - width) / 2)
        places = (0, 0), (0, columns - width), (rows - height, 0), (rows - height, columns - width), middle
        if height > rows or width > columns:
            raise ValueError(
                f"[{type(self).__name__}] the image is smaller than the window, got {rows} x {columns}, expected at "
                f"least {height} x {width}"
            )
        return tuple(_window(type(self).__name__, image, *place, height, width) for place in places)

    def of_pil(self, image):
        return tuple(to_pil(one, type(self).__name__) for one in self.of_array(np.asarray(image)))


class TenCrop(FiveCrop):
    """The windows of FiveCrop, and those of the mirror image, left and right or top and bottom: ten images."""

    def __init__(self, size: int | Sequence[int], use_vertical_flip: bool = False):
        super().__init__(size)
        self.use_vertical_flip = bool(use_vertical_flip)

    def of_array(self, image):
        return super().of_array(image) + self._five(np.flip(image, 0 if self.use_vertical_flip else 1))


class SlicePatches(ManyMap):
    """The image cut into num_height x num_width patches. One that cannot be cut evenly is padded at its right and its
    bottom, or loses these."""

    def __init__(
        self,
        num_height: int = 1,
        num_width: int = 1,
        slice_mode: SliceMode = SliceMode.PAD,
        fill_value: int | Sequence[int] = 0,
    ):
        where = "SlicePatches"
        given = ("num_height", num_height), ("num_width", num_width)
        self.counts = [require_integer(where, name, one, 1) for name, one in given]
        self.slice_mode = require_kind(where, "slice_mode", slice_mode, SliceMode)
        self.fill_value = require_integer(where, "fill_value", fill_value, 0, 255)

    def of_array(self, image):
        require_image("SlicePatches", image)
        if self.counts == [1, 1]:
            return image
        if any(one > n for one, n in zip(self.counts, image.shape)):
            raise ValueError(
                f"[SlicePatches] more patches than elements, got {self.counts} of {list(image.shape[:2])}, expected "
                "at most one for each"
            )
        adds = self.slice_mode == SliceMode.PAD
        sizes = [-(-n // one) if adds else n // one for n, one in zip(image.shape, self.counts)]
        around = [(0, max(0, size * one - n)) for size, one, n in zip(sizes, self.counts, image.shape)]
        around += [(0, 0)] * (image.ndim - 2)
        image = np.pad(image, around, constant_values=self.fill_value)
        (down, across), (rows, columns) = sizes, self.counts
        return tuple(
            np.ascontiguousarray(image[i * down : (i + 1) * down, j * across : (j + 1) * across])
            for i in range(rows)
            for j in range(columns)
        )


class CutOut(Drawn):
    """Zeros in `num_patches` squares of a side of `length` elements at random places, which may lie partly outside, of
    an image [height,width,channels], or with `is_hwc=False` [channels,height,width]. Raises ValueError for other than
    three dimensions."""

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True):
        self.length = require_integer("CutOut", "length", length, 1)
        self.num_patches, self.is_hwc = require_integer("CutOut", "num_patches", num_patches, 1), bool(is_hwc)

    def drawn(self, image, generator):
        if image.ndim != 3:
            raise ValueError(f"[CutOut] no image, got shape {image.shape}, expected three axes")
        made = image.copy()
        view = made if self.is_hwc else np.moveaxis(made, 0, -1)
        height, width = view.shape[:2]
        if self.length > min(height, width):
            raise ValueError(
                f"[CutOut] the square is larger than the image, got length {self.length}, expected at most "
                f"{min(height, width)}"
            )
        for _ in range(self.num_patches):
            top, left = (int(generator.integers(n + self.length + 1)) - self.length for n in (height, width))
            view[max(0, top) : max(0, top + self.length), max(0, left) : max(0, left + self.length)] = 0
        return made


class RandomResize(Drawn):
    """Another size, see Resize, with an interpolation that is drawn: linear, nearest, cubic or by area."""

    def __init__(self, size: int | Sequence[int]):
        self.keeps_ratio, self.size = isinstance(size, int), sizes_of("RandomResize", size)

    def drawn(self, image, generator):
        chosen = (Inter.LINEAR, Inter.NEAREST, Inter.CUBIC, Inter.AREA)[int(generator.integers(4))]
        return self._resized(image, chosen)

    @of_each
    def _resized(self, image, chosen):
        require_image("RandomResize", image)
        size = shorter_to(image, self.size[0]) if self.keeps_ratio else self.size
        return resized(image, size, chosen, "RandomResize")


class ToNumpy(ImageMap):
    """An image of Pillow, or what is like an array, as an array."""

    def __call__(self, image):
        return np.array(image) if is_pil(image) else super().__call__(image)

    def of_array(self, image):
        return np.array(image)
