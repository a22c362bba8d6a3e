"""Functions of images that old scripts import from here."""

import numpy as np

from partita._names import refuse_missing
from partita.dataset.vision.maps import HWC2CHW
from partita.dataset.vision.pillow import is_pil  # noqa: F401


def is_numpy(img):
    """Whether it is an array of NumPy."""
    return isinstance(img, np.ndarray)


def hwc_to_chw(img):
    """An array (height, width, channels) with its channels first; one without channels as it is."""
    if not is_numpy(img):
        raise TypeError(f"[hwc_to_chw] no image, got {type(img).__name__}, expected an array of NumPy")
    return img if img.ndim == 2 else HWC2CHW.in_python(img)


__getattr__ = refuse_missing(globals())
