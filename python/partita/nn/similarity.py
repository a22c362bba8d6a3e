"""How much images resemble each other, and their gradients over rows and columns."""

import math
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.nn.made import cell
from partita.ops import functional as F
from partita.ops.other_losses import require_number

__all__ = "ImageGradients MSSSIM PSNR SSIM".split()


def _alike(where, a, b):
    if a.ndim != 4 or a.shape != b.shape or a.dtype != b.dtype:
        raise ValueError(f"[{where}] the images differ, got {a.dtype} {a.shape} and {b.dtype} {b.shape}, expected one")


def _window(size, sigma):
    """The weights of a Gaussian window of size x size."""
    line = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (line / sigma) ** 2)
    made = np.outer(weights, weights)
    return made / made.sum()


class _Measure:
    """The structural similarity of images: Z. Wang et al., Image quality assessment: from error visibility to
    structural similarity, 2004."""

    def __init__(self, where, max_val, filter_size, filter_sigma, k1, k2):
        self._where, self._size = where, filter_size
        for name, one in (("max_val", max_val), ("filter_sigma", filter_sigma), ("k1", k1), ("k2", k2)):
            require_number(where, name, one, 0)
        if isinstance(filter_size, bool) or not isinstance(filter_size, int) or filter_size < 1:
            raise ValueError(f"[{where}] bad filter_size, got {filter_size!r}, expected an integer from 1")
        self._low, self._high = (k1 * max_val) ** 2, (k2 * max_val) ** 2
        self._weights = _window(filter_size, filter_sigma).astype(np.float32)

    def _means(self, x):
        n, c, h, w = x.shape
        if min(h, w) < self._size:
            raise ValueError(f"[{self._where}] the images are smaller than a window, got {h} x {w} of {self._size}")
        window = Tensor(self._weights[None, None], x.dtype)
        made = F.conv2d(F.reshape(x, [n * c, 1, h, w]), window, None, 1, "valid")
        return F.reshape(made, [n, c, *made.shape[2:]])

    def parts(self, a, b):
        """(the similarity, that of contrast and structure) of each channel, [n, c]."""
        mean_a, mean_b = self._means(a), self._means(b)
        product, squares = F.mul(mean_a, mean_b), F.add(F.square(mean_a), F.square(mean_b))
        light = F.div(F.add(F.mul(product, 2.0), self._low), F.add(squares, self._low))
        both = F.sub(self._means(F.mul(a, b)), product)
        each = F.sub(self._means(F.add(F.square(a), F.square(b))), squares)
        contrast = F.div(F.add(F.mul(both, 2.0), self._high), F.add(each, self._high))
        return F.reduce_mean(F.mul(light, contrast), (2, 3)), F.reduce_mean(contrast, (2, 3))


@cell
def SSIM(max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03):
    """The structural similarity of two images x[n, c, h, w] for each sample, as a mean over windows and channels."""
    measure = _Measure("SSIM", max_val, filter_size, filter_sigma, k1, k2)

    def call(img1, img2):
        _alike("SSIM", img1, img2)
        return F.reduce_mean(measure.parts(img1, img2)[0], 1)

    return call


@cell
def MSSSIM(
    max_val: float = 1.0,
    power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
):
    """The structural similarity of two images x[n, c, h, w] at several scales, each half as large as the one before,
    for each sample: Z. Wang et al., Multiscale structural similarity for image quality assessment, 2003."""
    measure = _Measure("MSSSIM", max_val, filter_size, filter_sigma, k1, k2)
    if not isinstance(power_factors, (tuple, list)) or not power_factors:
        raise TypeError(f"[MSSSIM] bad power_factors, got {power_factors!r}, expected a tuple of numbers")

    def call(img1, img2):
        _alike("MSSSIM", img1, img2)
        total = None
        for i, power in enumerate(power_factors):
            if i:
                img1, img2 = (F.avg_pool2d(one, 2, 2) for one in (img1, img2))
            found = measure.parts(img1, img2)[0 if i == len(power_factors) - 1 else 1]
            part = F.pow(F.relu(found), float(power))
            total = part if total is None else F.mul(total, part)
        return F.reduce_mean(total, 1)

    return call


@cell
def PSNR(max_val: float = 1.0):
    """The ratio of the largest number to the differences of two images x[n, c, h, w] for each sample, in decibels."""
    require_number("PSNR", "max_val", max_val, 0)

    def call(img1, img2):
        _alike("PSNR", img1, img2)
        errors = F.reduce_mean(F.square(F.sub(img1, img2)), (1, 2, 3))
        return F.mul(F.log(F.div(max_val**2, errors)), 10 / math.log(10))

    return call


@cell
def ImageGradients():
    """(differences to the next rows, to the next columns) of images x[n, c, h, w], 0 at the last ones."""

    def call(images):
        if images.ndim != 4:
            raise ValueError(f"[ImageGradients] wrong number of dimensions, got {images.shape}, expected 4")
        down = F.pad(F.sub(images[:, :, 1:], images[:, :, :-1]), (0, 0, 0, 1)) if images.shape[2] > 1 else None
        right = F.pad(F.sub(images[..., 1:], images[..., :-1]), (0, 1)) if images.shape[3] > 1 else None
        return tuple(F.zeros_like(images) if one is None else one for one in (down, right))

    return call
