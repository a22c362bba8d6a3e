"""Images with borders, and windows of them."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from partita.dataset.vision.base import Drawn, ImageMap, of_each, require_image, require_integer, require_kind
from partita.dataset.vision.drawn import sizes_of
from partita.dataset.vision.enums import Border
from partita.dataset.vision.pillow import padded_pil


def padding_of(where, padding):
    """[left, top, right, bottom] of one number, of two for x and y, or of four. Raises TypeError or ValueError."""
    values = [padding] * 4 if isinstance(padding, numbers.Number) else list(padding)
    values = values * 2 if len(values) == 2 else values
    if len(values) != 4:
        raise ValueError(f"[{where}] bad padding, got {padding!r}, expected an integer, two or four")
    return [require_integer(where, "padding", one, 0) for one in values]


def fill_of(where, value):
    """Three numbers of one, or of three."""
    values = [value] * 3 if isinstance(value, numbers.Number) else list(value)
    if len(values) != 3:
        raise TypeError(f"[{where}] bad fill_value, got {value!r}, expected an integer or three")
    return [require_integer(where, "fill_value", one, 0, 255) for one in values]


def bordered(image, padding, fill, mode):
    """An image with a border of `padding`, (left, top, right, bottom)."""
    left, top, right, bottom = padding
    around = [(top, bottom), (left, right), (0, 0)][: image.ndim]
    if mode != Border.CONSTANT:
        return np.pad(image, around, mode.value)
    made = np.empty([n + sum(one) for n, one in zip(image.shape, around)], image.dtype)
    made[...] = np.resize(fill, image.shape[2]) if image.ndim == 3 else fill[0]
    made[top : top + image.shape[0], left : left + image.shape[1]] = image
    return made


class Pad(ImageMap):
    """An image [height,width] or [height,width,channels] with a border of `padding` elements: one number, (left and
    right, top and bottom) or (left, top, right, bottom). It is filled with `fill_value`, one number or one for each
    channel, or as `padding_mode` says."""

    def __init__(
        self, padding: int | Sequence[int], fill_value: int | Sequence[int] = 0, padding_mode: Border = Border.CONSTANT
    ):
        self.padding, self.fill_value = padding_of("Pad", padding), fill_of("Pad", fill_value)
        self.padding_mode = require_kind("Pad", "padding_mode", padding_mode, Border)

    def of_array(self, image):
        require_image("Pad", image)
        return bordered(image, self.padding, self.fill_value, self.padding_mode)

    def of_pil(self, image):
        return padded_pil("Pad", image, self.padding, self.fill_value, self.padding_mode.value)


class PadToSize(ImageMap):
    """The image with a border that makes it (height, width). It is in the middle, or `offset` (top, left) from the
    corner."""

    def __init__(
        self,
        size: int | Sequence[int],
        offset: int | Sequence[int] | None = None,
        fill_value: int | Sequence[int] = 0,
        padding_mode: Border = Border.CONSTANT,
    ):
        where = "PadToSize"
        self.size, self.fill_value = sizes_of(where, size), fill_of(where, fill_value)
        offset = [offset] * 2 if isinstance(offset, numbers.Number) else offset
        self.offset = None if offset is None or not len(offset) else [
            require_integer(where, "offset", one, 0) for one in offset
        ]
        self.padding_mode = require_kind(where, "padding_mode", padding_mode, Border)

    def of_array(self, image):
        require_image("PadToSize", image)
        more = [wanted - n for wanted, n in zip(self.size, image.shape)]
        first = [one // 2 for one in more] if self.offset is None else self.offset
        last = [one - begin for one, begin in zip(more, first)]
        if min(first + last) < 0:
            raise ValueError(
                f"[PadToSize] the image does not fit, got {image.shape[0]} x {image.shape[1]}, expected at most "
                f"{self.size[0]} x {self.size[1]} from {self.offset or 'its middle'}"
            )
        return bordered(image, [first[1], first[0], last[1], last[0]], self.fill_value, self.padding_mode)


class RandomCropWith(Drawn):
    """A window at a random place of an image with any border: what RandomCrop is made of."""

    def __init__(self, size, padding, pad_if_needed, fill_value, padding_mode):
        where = "RandomCrop"
        self.size, self.padding = sizes_of(where, size), padding_of(where, 0 if padding is None else padding)
        self.pad_if_needed, self.fill_value = bool(pad_if_needed), fill_of(where, fill_value)
        self.padding_mode = require_kind(where, "padding_mode", padding_mode, Border)
        self.is_plain = not self.pad_if_needed and padding_mode == Border.CONSTANT and not any(self.fill_value)

    def borders(self, height, width):
        """The borders that an image gets, in turn, and its size after them."""
        borders = [self.padding] if any(self.padding) else []
        height, width = height + self.padding[1] + self.padding[3], width + self.padding[0] + self.padding[2]
        if self.pad_if_needed:
            down, across = max(0, self.size[0] - height), max(0, self.size[1] - width)
            borders += [[across, 0, across, 0]] if across else []
            borders += [[0, down, 0, down]] if down else []
            height, width = height + 2 * down, width + 2 * across
        return borders, height, width

    def place(self, height, width, generator):
        """(top, left) of the window in an image with its border."""
        if height < self.size[0] or width < self.size[1]:
            raise ValueError(
                f"[RandomCrop] the image is smaller than the window, got {height} x {width}, expected at least "
                f"{self.size[0]} x {self.size[1]}, or pad_if_needed=True"
            )
        return int(generator.integers(height - self.size[0] + 1)), int(generator.integers(width - self.size[1] + 1))

    @of_each
    def drawn(self, image, generator):
        require_image("RandomCrop", image)
        borders, height, width = self.borders(*image.shape[:2])
        top, left = self.place(height, width, generator)
        for one in borders:
            image = bordered(image, one, self.fill_value, self.padding_mode)
        return np.ascontiguousarray(image[top : top + self.size[0], left : left + self.size[1]])

    def drawn_pil(self, image, generator):
        borders, height, width = self.borders(image.size[1], image.size[0])
        top, left = self.place(height, width, generator)
        for one in borders:
            image = padded_pil("RandomCrop", image, one, self.fill_value, self.padding_mode.value)
        return image.crop((left, top, left + self.size[1], top + self.size[0]))
