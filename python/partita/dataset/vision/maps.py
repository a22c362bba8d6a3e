"""Maps of images that most pipelines have: reading, sizes, numbers and the order of axes."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from partita import _core
from partita.common import dtype as mstype
from partita.common.dtype import DTypeLike
from partita.dataset.vision.base import ImageMap, ImageTransform, array_of, guarded, of_each, require_image
from partita.dataset.vision.drawn import RandomHorizontalFlipWith, RandomResizedCrop, require_images, sizes_of
from partita.dataset.vision.enums import Border, Inter
from partita.dataset.vision.padded import RandomCropWith
from partita.dataset.vision.pillow import is_pil, pillow, resized_pil
from partita.dataset.vision.resized import require_interpolation, resized, shorter_to

_data = _core.data


def opened(where, data, window=lambda image: image):
    """The image of Pillow, in colours, of the bytes of a file, or a window of it. Raises ValueError for other bytes."""
    if is_pil(data) or np.ndim(data) > 1:
        raise TypeError(
            f"[{where}] takes the bytes of a file, got {type(data).__name__}, an image already, expected uint8[n]"
        )
    module = pillow(where)
    data = data if isinstance(data, (bytes, bytearray)) else np.ascontiguousarray(data)
    if isinstance(data, np.ndarray) and data.dtype.itemsize != 1:
        raise TypeError(f"[{where}] takes the bytes of a file, got {data.dtype}{list(data.shape)}, expected uint8[n]")
    try:
        image = window(module.open(io.BytesIO(data)))
        image.load()
        return image if image.mode == "RGB" else image.convert("RGB")
    except (OSError, ValueError, SyntaxError) as error:
        raise ValueError(f"[{where}] no image, got {len(data)} bytes: {error}, expected those of a file") from None


class Decode(ImageMap):
    """The bytes of an image file, uint8[n], as an image in colours, uint8[height,width,3]; with `to_pil` as an image of
    Pillow, which reads the files. Raises TypeError for an array of several dimensions or of other elements, such as an
    image that is decoded already, ValueError for bytes that are no image."""

    def __init__(self, to_pil: bool = False):
        if not isinstance(to_pil, bool):
            raise TypeError(f"[Decode] to_pil is not a boolean, got {to_pil!r}, expected True or False")
        self.to_pil = to_pil

    def __call__(self, data):
        image = guarded("Decode", lambda one: opened("Decode", one), data)
        return image if self.to_pil else np.asarray(image)


class Rescale(ImageTransform):
    """value * rescale + shift, as float32, of an array of any shape: Rescale(1 / 255, 0) brings uint8 to 0 to 1."""

    def __init__(self, rescale: float, shift: float):
        self.rescale, self.shift = float(rescale), float(shift)

    def core(self, seed):
        return _data.rescale(self.rescale, self.shift)

    def of_pil(self, image):
        return self(np.asarray(image))


class Normalize(ImageTransform):
    """(value - mean) / std of each channel, as float32: of images [..,height,width,channels], or without `is_hwc`
    [..,channels,height,width]. One mean and deviation are those of all channels, also of [height,width]. They count in
    the numbers of the image: 0 to 255 of uint8, 0 to 1 after ToTensor or Rescale. Raises ValueError for other numbers
    of means than of deviations, or than of channels."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True):
        if len(mean) != len(std):
            raise ValueError(
                f"[Normalize] different numbers of means and deviations, got {len(mean)} and {len(std)}, expected as "
                "many"
            )
        self.mean, self.std, self.is_hwc = [float(one) for one in mean], [float(one) for one in std], bool(is_hwc)

    def core(self, seed):
        return _data.normalize(self.mean, self.std) if self.is_hwc else self._of_chw

    def _of_chw(self, image):
        return self._normalized(image, -3, "(channels, height, width)")

    def _normalized(self, image, axis, order):
        """Images of any number, of which an axis has the channels; one mean is of all channels."""
        image = array_of(image)
        require_images("Normalize", image)
        if len(self.mean) != 1 and (image.ndim < 3 or image.shape[axis] != len(self.mean)):
            raise ValueError(
                f"[Normalize] another number of channels, got shape {image.shape}, expected {len(self.mean)} in {order}"
            )
        mean, std = (np.array(one, np.float32) for one in (self.mean, self.std))
        if axis == -3 and len(self.mean) > 1:
            mean, std = mean[:, None, None], std[:, None, None]
        return (image.astype(np.float32) - mean) / std

    def __call__(self, image):
        if not self.is_hwc:
            return guarded("Normalize", self._of_chw, image)
        if is_pil(image) or np.ndim(image) == 3 and np.shape(image)[2] == len(self.mean):
            return super().__call__(image)
        return guarded("Normalize", lambda one: self._normalized(one, -1, "(height, width, channels)"), image)

    def of_pil(self, image):
        return self(np.asarray(image))


class HWC2CHW(ImageTransform):
    """Moves the channels first: [height,width,channels] becomes [channels,height,width], of the same elements;
    [height,width] stays. Raises ValueError for more dimensions."""

    def core(self, seed):
        return _data.hwc_to_chw()

    def __call__(self, image):
        return array_of(image) if np.ndim(image) == 2 else super().__call__(image)

    @staticmethod
    def in_python(image):
        """The image with channels first by NumPy, which is faster next to other maps in Python."""
        if image.ndim == 2:
            return image
        if image.ndim != 3:
            raise ValueError(f"[HWC2CHW] no image, got shape {image.shape}, expected (height, width, channels)")
        return np.ascontiguousarray(image.transpose(2, 0, 1))

    def of_pil(self, image):
        return self(np.asarray(image))


class Resize(ImageTransform):
    """Another size (height, width), or with an integer one along the shorter side, with the other side in proportion.
    Images are uint8, float32 or float64, [height,width] or [..,height,width,channels], or of Pillow, and keep their
    element type. `interpolation`: LINEAR (weights of four neighbours, without a blur before images are made smaller),
    NEAREST, CUBIC, AREA, or for images of Pillow ANTIALIAS. Raises ValueError for sizes below 1, and for other
    images."""

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.LINEAR):
        require_interpolation("Resize", interpolation)
        self.keeps_ratio, self.size = isinstance(size, int), sizes_of("Resize", size)
        self.interpolation = interpolation

    def core(self, seed):
        if self.interpolation != Inter.LINEAR:
            return self._resized
        return _data.resize_shorter(self.size[0]) if self.keeps_ratio else _data.resize(*self.size)

    def _resized(self, image):
        if is_pil(image):
            return self.of_pil(image)
        return self._each(array_of(image))

    @of_each
    def _each(self, image):
        size = shorter_to(image, self.size[0]) if self.keeps_ratio and image.ndim > 1 else self.size
        return resized(image, size, self.interpolation)

    def of_pil(self, image):
        return resized_pil("Resize", image, self.size[0] if self.keeps_ratio else self.size, self.interpolation)

    def __call__(self, value):
        is_plain = is_pil(value) or np.ndim(value) == 3 and array_of(value).dtype != np.float64
        is_plain = is_plain and self.interpolation == Inter.LINEAR
        return super().__call__(value) if is_plain else guarded("Resize", self._resized, value)


class RandomCropDecodeResize(RandomResizedCrop):
    """The bytes of an image file, uint8[n], as a drawn window, resized: uint8[height,width,3]. The options are those of
    RandomResizedCrop. Raises ValueError for bytes that are no image."""

    def drawn(self, image, generator):
        def window(whole):
            top, left, height, width = self.window(whole.size[1], whole.size[0], generator)
            return whole.crop((left, top, left + width, top + height))

        where = "RandomCropDecodeResize"
        return resized(np.asarray(opened(where, image, window)), self.size, self.interpolation, where)


class RandomCrop(ImageTransform):
    """A window (height, width), or a square of one side, at a random place of an image [height,width] or
    [height,width,channels] of any element type; each of several images [..,height,width,channels] has its own place.
    The image first gets a border of `padding` elements: one number, (left and right, top and bottom) or (left, top,
    right, bottom), filled with `fill_value`, one number or one for each channel, or as `padding_mode` says. With
    `pad_if_needed` a smaller image gets a larger border; else it raises ValueError."""

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill_value: int | Sequence[int] = 0,
        padding_mode: Border = Border.CONSTANT,
    ):
        self.drawn = RandomCropWith(size, padding, pad_if_needed, fill_value, padding_mode)
        self.size, self.padding = self.drawn.size, self.drawn.padding

    def core(self, seed):
        if self.drawn.is_plain:
            return _data.random_crop(*self.size, self.padding, seed)
        return self.drawn.seeded(seed)

    def __call__(self, image):
        return self.drawn(image)

    def of_pil(self, image):
        return self.drawn(image)


class RandomHorizontalFlip(ImageTransform):
    """Exchanges left and right of an image [height,width] or [height,width,channels], or of all of several
    [..,height,width,channels], with the probability `prob`. Raises ValueError for a probability outside of 0 to 1."""

    def __init__(self, prob: float = 0.5):
        self.drawn = RandomHorizontalFlipWith(prob)

    def core(self, seed):
        return _data.random_horizontal_flip(seed) if self.drawn.prob == 0.5 else self.drawn.seeded(seed)

    def __call__(self, value):
        return self.drawn(value)

    def of_pil(self, image):
        return self.drawn(image)


class ToTensor(ImageMap):
    """An image uint8[height,width,channels] as float32[channels,height,width] of numbers from 0 to 1: it moves the
    channels first and divides by 255, whatever the numbers were, so Rescale must not come before it. An image
    [height,width] gets one channel. `output_type` is the type of the result. Raises ValueError for other than two or
    three dimensions."""

    def __init__(self, output_type: DTypeLike = np.float32):
        self.output_type = mstype.to_dtype(output_type)

    def of_array(self, image):
        require_image("ToTensor", image)
        image = image[..., None] if image.ndim == 2 else image
        return np.ascontiguousarray(np.transpose(image, (2, 0, 1)) * np.float32(1 / 255)).astype(self.output_type.numpy)

    def of_pil(self, image):
        return self.of_array(np.asarray(image))
