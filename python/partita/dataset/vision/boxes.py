"""Maps of images along with the boxes in them: rows (left, top, width, height, ..), in elements of the image."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from partita.dataset.vision.base import Drawn, require_image, require_number
from partita.dataset.vision.drawn import RandomResizedCrop, _probability, flipped, sizes_of
from partita.dataset.vision.enums import Border, Inter
from partita.dataset.vision.padded import RandomCropWith, bordered
from partita.dataset.vision.policies import applied
from partita.dataset.vision.resized import require_interpolation, resized, shorter_to


class _OfBoxes(Drawn):
    """The base: `mapped(image, boxes, generator)` is the image and a copy of the boxes, changed."""

    takes_columns = True

    def drawn(self, image, boxes, generator):
        where = type(self).__name__
        require_image(where, image)
        if boxes.ndim != 2 or boxes.shape[1] < 4:
            raise ValueError(f"[{where}] no boxes, got shape {boxes.shape}, expected (boxes, 4 or more)")
        ends = boxes[:, :2] + boxes[:, 2:4]
        if len(boxes) and ((boxes[:, :2] < 0).any() or (ends > [image.shape[1], image.shape[0]]).any()):
            raise ValueError(
                f"[{where}] boxes that are not in the image, got {boxes[:, :4].tolist()}, expected them in "
                f"{image.shape[1]} x {image.shape[0]}"
            )
        image, made = self.mapped(image, boxes.astype(np.float32), generator)
        return image, made


def _cut(boxes, top, left, height, width):
    """The boxes that a window shows, in its coordinates."""
    first, last = boxes[:, :2], boxes[:, :2] + boxes[:, 2:4]
    corner, end = np.array([left, top], np.float32), np.array([left + width, top + height], np.float32)
    seen = ~((first > end).any(1) | (last < corner).any(1))
    made = boxes[seen]
    first, last = np.maximum(first[seen], corner) - corner, np.minimum(last[seen], end) - corner
    made[:, :2], made[:, 2:4] = first, last - first
    return made


def _scaled(boxes, old, new):
    across, down = np.float32(new[1] / old[1]), np.float32(new[0] / old[0])
    boxes[:, :4] *= [across, down, across, down]
    return boxes


class RandomHorizontalFlipWithBBox(_OfBoxes):
    """Left and right exchanged with a probability."""

    _axis = 1

    def __init__(self, prob: float = 0.5):
        self.prob = _probability(type(self).__name__, prob)

    def mapped(self, image, boxes, generator):
        if generator.random() < self.prob:
            at = 1 - self._axis
            boxes[:, at] = image.shape[self._axis] - (boxes[:, at] + boxes[:, at + 2])
            image = flipped(image, self._axis)
        return image, boxes


class RandomVerticalFlipWithBBox(RandomHorizontalFlipWithBBox):
    """Top and bottom exchanged with a probability."""

    _axis = 0


class ResizeWithBBox(_OfBoxes):
    """Another size, see Resize."""

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.LINEAR):
        where = type(self).__name__
        require_interpolation(where, interpolation)
        self.keeps_ratio, self.size, self.interpolation = isinstance(size, int), sizes_of(where, size), interpolation

    def mapped(self, image, boxes, generator):
        size = shorter_to(image, self.size[0]) if self.keeps_ratio else self.size
        made = resized(image, size, self.interpolation, type(self).__name__)
        return made, _scaled(boxes, image.shape[:2], made.shape[:2])


class RandomResizeWithBBox(ResizeWithBBox):
    """Another size, with an interpolation that is drawn: linear, nearest, cubic or by area."""

    def __init__(self, size: int | Sequence[int]):
        super().__init__(size)

    def mapped(self, image, boxes, generator):
        chosen = (Inter.LINEAR, Inter.NEAREST, Inter.CUBIC, Inter.AREA)[int(generator.integers(4))]
        return ResizeWithBBox(self.size[0] if self.keeps_ratio else self.size, chosen).mapped(image, boxes, generator)


class RandomCropWithBBox(_OfBoxes):
    """A window at a random place, see RandomCrop, and the boxes that it shows."""

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill_value: int | Sequence[int] = 0,
        padding_mode: Border = Border.CONSTANT,
    ):
        self._crop = RandomCropWith(size, padding, pad_if_needed, fill_value, padding_mode)

    def mapped(self, image, boxes, generator):
        crop = self._crop
        borders, height, width = crop.borders(*image.shape[:2])
        top, left = crop.place(height, width, generator)
        for one in borders:
            image = bordered(image, one, crop.fill_value, crop.padding_mode)
            boxes[:, :2] += np.array(one[:2], np.float32)
        height, width = crop.size
        image = np.ascontiguousarray(image[top : top + height, left : left + width])
        return image, _cut(boxes, top, left, height, width)


class RandomResizedCropWithBBox(_OfBoxes):
    """A window of the image, resized, see RandomResizedCrop, and the boxes that it shows."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ):
        self._crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def mapped(self, image, boxes, generator):
        top, left, height, width = self._crop.window(*image.shape[:2], generator)
        boxes = _scaled(_cut(boxes, top, left, height, width), (height, width), self._crop.size)
        cut = np.ascontiguousarray(image[top : top + height, left : left + width])
        return resized(cut, self._crop.size, self._crop.interpolation, type(self).__name__), boxes


class BoundingBoxAugment(_OfBoxes):
    """A map of the part of the image in each box, with a probability `ratio`."""

    def __init__(self, transform: Callable, ratio: float = 0.3):
        if not callable(transform):
            raise TypeError(f"[BoundingBoxAugment] bad transform, got {transform!r}, expected a map")
        self.transform, self.ratio = transform, require_number("BoundingBoxAugment", "ratio", ratio, 0, 1)

    def mapped(self, image, boxes, generator):
        made = image.copy()
        for left, top, width, height in boxes[:, :4].astype(int).tolist():
            if generator.random() < self.ratio and width > 0 and height > 0:
                part = made[top : top + height, left : left + width]
                mapped = applied(self.transform, np.ascontiguousarray(part), generator)
                part[...] = resized(mapped, (height, width))
        return made, boxes
