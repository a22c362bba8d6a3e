"""Maps of images in height, width, channel order."""

import io
import sys
from enum import Enum

import numpy as np

from partita import _core
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.dataset.transforms import PyTensorOperation, Transform  # noqa: F401
from partita.dataset.vision.drawn import (  # noqa: F401
    CenterCrop,
    RandomColorAdjust,
    RandomErasing,
    RandomHorizontalFlipWith,
    RandomResizedCrop,
    RandomVerticalFlip,
    require_image,
)
from partita.dataset.vision.enhanced import (  # noqa: F401
    AutoContrast,
    Equalize,
    GaussianBlur,
    Invert,
    RandomAffine,
    RandomColor,
    RandomPosterize,
    RandomRotation,
    RandomSharpness,
    RandomSolarize,
)
from partita.dataset.vision.resized import Inter, require_interpolation, resized  # noqa: F401

_data = _core.data


class Border(Enum):
    """How images are padded at their borders."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


def _sizes(where, size):
    values = [size, size] if isinstance(size, int) else list(size)
    if len(values) != 2 or not all(isinstance(one, int) and one > 0 for one in values):
        raise ValueError(f"[{where}] bad size, got {size!r}, expected an integer or two from 1")
    return values


class Decode:
    """The bytes of an image file as an array u8[height,width,3]. Pillow reads them."""

    def __init__(self, to_pil=False):
        if to_pil:
            raise NotImplementedError("[Decode] images of Pillow are not supported, got to_pil=True, expected False")

    def __call__(self, data):
        try:
            from PIL import Image
        except ImportError:
            raise ImportError(
                "[Decode] no reader of images, got no module PIL, expected Pillow: python3-pil or pip install pillow"
            ) from None
        try:
            with Image.open(io.BytesIO(np.asarray(data, np.uint8).tobytes())) as image:
                return np.asarray(image.convert("RGB"))
        except (OSError, ValueError, SyntaxError) as error:
            raise ValueError(
                f"[Decode] no image, got {np.size(data)} bytes: {error}, expected those of a file"
            ) from None


class Rescale(Transform):
    """value * rescale + shift, as float32."""

    def __init__(self, rescale, shift):
        self.rescale, self.shift = float(rescale), float(shift)

    def core(self, seed):
        return _data.rescale(self.rescale, self.shift)


class Normalize(Transform):
    """(value - mean) / std of each channel."""

    def __init__(self, mean, std, is_hwc=True):
        if not is_hwc:
            raise NotImplementedError(
                "[Normalize] channels cannot come first, got is_hwc=False, expected Normalize before HWC2CHW"
            )
        if len(mean) != len(std):
            raise ValueError(
                f"[Normalize] different numbers of means and deviations, got {len(mean)} and {len(std)}, expected as "
                "many"
            )
        self.mean, self.std = [float(one) for one in mean], [float(one) for one in std]

    def core(self, seed):
        return _data.normalize(self.mean, self.std)


class HWC2CHW(Transform):
    """Channels first."""

    def core(self, seed):
        return _data.hwc_to_chw()


class Resize(Transform):
    """Bilinear, cubic or of the nearest elements, to (height, width), or to one size along the shorter side, the other
    side in proportion."""

    def __init__(self, size, interpolation=Inter.LINEAR):
        require_interpolation("Resize", interpolation)
        self.keeps_ratio, self.size = isinstance(size, int), _sizes("Resize", size)
        self.interpolation = interpolation

    def core(self, seed):
        if self.interpolation != Inter.LINEAR:
            return self._resized
        return _data.resize_shorter(self.size[0]) if self.keeps_ratio else _data.resize(*self.size)

    def _resized(self, image):
        image, size = np.asarray(image), self.size
        if self.keeps_ratio:
            shorter = min(image.shape[:2])
            size = [int(one * self.size[0] / shorter) for one in image.shape[:2]]
        return resized(image, size, self.interpolation)

    def __call__(self, value):
        return super().__call__(value) if self.interpolation == Inter.LINEAR else self._resized(value)


class RandomCropDecodeResize(RandomResizedCrop):
    """The bytes of an image file as a window of it, resized; see RandomResizedCrop."""

    def drawn(self, image, generator):
        return super().drawn(Decode()(image), generator)


class RandomCrop(Transform):
    """A window at a random place of the image with zeros around it; padding is (left, top, right, bottom)."""

    def __init__(self, size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=Border.CONSTANT):
        if pad_if_needed or fill_value not in (0, (0, 0, 0)) or padding_mode != Border.CONSTANT:
            raise NotImplementedError(
                "[RandomCrop] only borders of zeros are supported, got pad_if_needed, fill_value or padding_mode, "
                "expected their defaults"
            )
        self.size = _sizes("RandomCrop", size)
        padding = 0 if padding is None else padding
        if isinstance(padding, int):
            padding = (padding,) * 4
        if len(padding) == 2:
            padding = (padding[0], padding[1]) * 2
        self.padding = [int(one) for one in padding]

    def core(self, seed):
        return _data.random_crop(*self.size, self.padding, seed)


class RandomHorizontalFlip(Transform):
    """Left and right exchanged with a probability."""

    def __init__(self, prob=0.5):
        self._flip = RandomHorizontalFlipWith(prob)

    def core(self, seed):
        return _data.random_horizontal_flip(seed) if self._flip.prob == 0.5 else self._flip.seeded(seed)

    def __call__(self, value):
        return super().__call__(value) if self._flip.prob == 0.5 else self._flip(value)


class ToTensor:
    """An image (height, width, channels) of numbers to 255 as one with channels first, of numbers to 1."""

    def __init__(self, output_type=np.float32):
        self.output_type = mstype.to_dtype(output_type)

    def __call__(self, image):
        image = np.asarray(image)
        require_image("ToTensor", image)
        image = image[..., None] if image.ndim == 2 else image
        return np.ascontiguousarray(np.transpose(image, (2, 0, 1)) * np.float32(1 / 255)).astype(self.output_type.numpy)


transforms = sys.modules[__name__]  # the name of its file in the documented system
__getattr__ = refuse_missing(globals())
