"""Images of Pillow, which is there for those who install it: it is imported when it is needed."""

import sys

import numpy as np

from partita.dataset.vision.enums import Inter


def pillow(where, *modules):
    """The module Image of Pillow, or the named ones. Raises ImportError without Pillow."""
    try:
        import PIL.Image
        import PIL.ImageEnhance
        import PIL.ImageOps
    except ImportError:
        raise ImportError(
            f"[{where}] no images of Pillow, got no module PIL, expected Pillow: python3-pil or pip install pillow"
        ) from None
    found = [getattr(PIL, name) for name in modules or ("Image",)]
    return found[0] if len(found) == 1 else found


def is_pil(value):
    """Whether it is an image of Pillow, which is not imported for that."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def to_pil(array, where="ToPIL"):
    """An array (height, width) or (height, width, channels) as an image of Pillow. Raises TypeError for element types
    and ValueError for shapes that those have not."""
    if is_pil(array):
        return array
    array = np.asarray(array)
    if array.ndim not in (2, 3) or array.ndim == 3 and array.shape[2] > 4:
        raise ValueError(
            f"[{where}] no image, got shape {array.shape}, expected (height, width) or (height, width, 1 to 4)"
        )
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    if array.ndim == 3 and array.dtype != np.uint8 or array.dtype.kind not in "biuf":
        raise TypeError(f"[{where}] bad type of elements, got {array.dtype}, expected uint8")
    return pillow(where).fromarray(np.ascontiguousarray(array))


def resampling(where, interpolation):
    """The number that Pillow has for an interpolation. Raises TypeError for those that it has not."""
    numbers = {Inter.NEAREST: 0, Inter.ANTIALIAS: 1, Inter.BILINEAR: 2, Inter.BICUBIC: 3}
    if interpolation not in numbers:
        raise TypeError(
            f"[{where}] images of Pillow have no such interpolation, got {interpolation!r}, expected Inter.NEAREST, "
            "BILINEAR, BICUBIC or ANTIALIAS"
        )
    return numbers[interpolation]


def resized_pil(where, image, size, interpolation):
    """An image of another size, (height, width), or with its shorter side of one size."""
    resample = resampling(where, interpolation)
    if isinstance(size, int):
        width, height = image.size
        if min(width, height) == size:
            return image
        size = (int(size / (width / height)), size) if width < height else (size, int(size * (width / height)))
    return image.resize((size[1], size[0]), resample)


def enhanced(where, kind, image, factor):
    """An image with more or less of "Brightness", "Contrast", "Color" or "Sharpness"."""
    return getattr(pillow(where, "ImageEnhance"), kind)(image).enhance(factor)


def hue_turned(where, image, share):
    """An image of Pillow with its hue turned by a share of the circle; gray ones stay."""
    if image.mode in ("L", "1", "I", "F"):
        return image
    module = pillow(where)
    hue, *others = image.convert("HSV").split()
    turned = np.array(hue, np.uint8) + np.uint8(int(share * 255) % 256)
    return module.merge("HSV", (module.fromarray(turned), *others)).convert(image.mode)


def padded_pil(where, image, padding, fill, mode):
    """An image with a border: `padding` is (left, top, right, bottom), `mode` a name of NumPy."""
    left, top, right, bottom = padding
    if mode == "constant":
        fill = tuple(fill)[:1] if image.mode in ("L", "1") else tuple(fill)
        return pillow(where, "ImageOps").expand(image, border=(left, top, right, bottom), fill=fill)
    array = np.asarray(image)
    return to_pil(np.pad(array, [(top, bottom), (left, right), (0, 0)][: array.ndim], mode), where)


class ToPIL:
    """An array (height, width) or (height, width, channels) as an image of Pillow."""

    def __call__(self, image):
        return to_pil(image.asnumpy() if hasattr(image, "asnumpy") else image)
