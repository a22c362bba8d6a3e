"""Images of other sizes."""

import numbers

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.layers import matmul
from partita.ops.shapes import gather, swapaxes
from partita.ops.support import as_tensor

__all__ = ("interpolate",)


def _sizes(x, size, scale_factor):
    """The sizes of the dimensions after the first two, and how often each is larger, None where this is not said."""
    count = x.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError(
            f"[interpolate] one of two is to be given, got size={size!r} and scale_factor={scale_factor!r},"
            " expected one"
        )
    given = scale_factor if size is None else size
    given = [given] * count if isinstance(given, numbers.Real) else list(given)
    if len(given) != count:
        raise ValueError(f"[interpolate] wrong number of sizes, got {given} for shape {x.shape}, expected {count}")
    if size is not None:
        return [int(one) for one in given], [None] * count
    return [int(n * one) for n, one in zip(x.shape[2:], given)], [float(one) for one in given]


def _nearest(size, wanted, factor):
    """The places of the elements that are nearest."""
    scale = np.float32(size / wanted) if factor is None else np.float32(1 / factor)
    return np.minimum((np.arange(wanted, dtype=np.float32) * scale).astype(np.int64), size - 1)


def _weights(size, wanted, factor, align_corners):
    """The weights of the elements in each of the wanted ones, between the two next to it."""
    places = np.arange(wanted, dtype=np.float64)
    if align_corners:
        at = places * (size - 1) / (wanted - 1) if wanted > 1 else places * 0
    else:
        at = np.maximum((places + 0.5) * (size / wanted if factor is None else 1 / factor) - 0.5, 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    high, share = np.minimum(low + 1, size - 1), at - low
    made = np.zeros((wanted, size))
    made[np.arange(wanted), low] += 1 - share
    made[np.arange(wanted), high] += share
    return made


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    """Images x[n, c, ..] of another size: of the nearest elements, or ("linear", "bilinear") of those between which an
    element is, or ("area") of the means of equal parts."""
    x = as_tensor(input, "interpolate")
    ranks = {"nearest": (3, 4, 5), "linear": (3,), "bilinear": (4,), "area": (3, 4, 5)}
    if mode not in ranks:
        raise ValueError(f"[interpolate] unknown mode, got {mode!r}, expected one of {list(ranks)}")
    if x.ndim not in ranks[mode]:
        raise ValueError(f"[interpolate] wrong number of dimensions, got {x.shape} with {mode}, expected {ranks[mode]}")
    if align_corners is not None and mode in ("nearest", "area"):
        raise ValueError(f"[interpolate] this mode has no corners, got align_corners={align_corners!r}, expected None")
    wanted, factors = _sizes(x, size, scale_factor)
    if recompute_scale_factor:
        factors = [None] * len(factors)
    if min(wanted) < 1:
        raise ValueError(f"[interpolate] nothing is left, got sizes {wanted}, expected sizes from 1")
    for axis, (n, factor) in enumerate(zip(wanted, factors), 2):
        own = x.shape[axis]
        if mode == "nearest":
            x = gather(x, Tensor(_nearest(own, n, factor).astype(np.int32)), axis) if own != n else x
            continue
        if mode == "area":
            made = _parts(own, n)
        else:
            made = _weights(own, n, factor, bool(align_corners))
        weights = Tensor(made.T.astype(np.float32), x.dtype)
        x = swapaxes(matmul(swapaxes(x, axis, -1), weights), axis, -1)
    return x


def _parts(size, wanted):
    """The weights of the means of parts that overlap by less than an element."""
    made = np.zeros((wanted, size))
    for i in range(wanted):
        begin, end = i * size // wanted, -(-(i + 1) * size // wanted)
        made[i, begin:end] = 1 / (end - begin)
    return made
