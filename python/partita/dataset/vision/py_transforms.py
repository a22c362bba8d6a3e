"""The transforms of partita.dataset.vision, under the name that old scripts import, with what was otherwise then: files
became images of Pillow, and arrays had their channels first."""

from partita._names import refuse_missing
from partita.dataset.transforms import Compose  # noqa: F401
from partita.dataset.vision import *  # noqa: F401,F403
from partita.dataset.vision import cut, maps, tones


class Decode(maps.Decode):
    """The bytes of an image file as an image of Pillow."""

    def __init__(self):
        super().__init__(to_pil=True)


class Normalize(maps.Normalize):
    """(value - mean) / std of each channel of an array with channels first."""

    def __init__(self, mean, std):
        super().__init__(mean, std, is_hwc=False)


class NormalizePad(tones.NormalizePad):
    """(value - mean) / std of each channel of an array with channels first, and a channel of zeros after them."""

    def __init__(self, mean, std, dtype="float32"):
        super().__init__(mean, std, dtype, is_hwc=False)


class CutOut(cut.CutOut):
    """Zeros in squares of an array with channels first."""

    def __init__(self, length, num_patches=1):
        super().__init__(length, num_patches, is_hwc=False)


__getattr__ = refuse_missing(globals())
