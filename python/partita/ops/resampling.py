"""Lines, images and volumes of other sizes."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.layers import matmul
from partita.ops.shapes import slices_at, swapaxes
from partita.ops.support import as_tensor

__all__ = ("interpolate", "upsample")

_RANKS = {
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "linear": (3,),
    "bilinear": (4,),
    "trilinear": (5,),
    "bicubic": (4,),
    "area": (3, 4, 5),
}


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


def nearest_places(size, wanted, factor=None, is_exact=False):
    """The places of the elements that are nearest: those at or before a place or, if it is exact, around its middle."""
    scale = np.float32(size / wanted) if factor is None else np.float32(1 / factor)
    places = np.arange(wanted, dtype=np.float32) + np.float32(0.5 if is_exact else 0)
    return np.minimum((places * scale).astype(np.int64), size - 1)


def positions(size, wanted, factor, align_corners, half_pixels=True):
    """Where elements of a line of the wanted size lie in one of `size`: with corners at corners, with middles in the
    middles, or with first elements at first elements."""
    places = np.arange(wanted, dtype=np.float64)
    if align_corners:
        return places * (size - 1) / (wanted - 1) if wanted > 1 else places * 0
    scale = size / wanted if factor is None else 1 / factor
    return (places + 0.5) * scale - 0.5 if half_pixels else places * scale


def linear_weights(size, wanted, factor=None, align_corners=False, half_pixels=True):
    """The weights of the elements in each of the wanted ones, between the two next to it."""
    at = np.maximum(positions(size, wanted, factor, align_corners, half_pixels), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    high, share = np.minimum(low + 1, size - 1), at - low
    made = np.zeros((wanted, size))
    np.add.at(made, (np.arange(wanted), low), 1 - share)
    np.add.at(made, (np.arange(wanted), high), share)
    return made


def cubic_weights(size, wanted, factor=None, align_corners=False, half_pixels=True):
    """The weights of the four elements around each of the wanted ones: R. Keys, Cubic convolution interpolation for
    digital image processing, 1981. With middles in the middles the kernel has the slope -1/2 and leaves out elements
    beyond the edges, else it has -3/4 and the elements at the edges stand for them. Places between elements are
    multiples of 1/1024, like those of the documented kernel."""
    at = positions(size, wanted, factor, align_corners, half_pixels)
    is_half = half_pixels and not align_corners
    low = np.floor(at)
    share = np.rint((at - low) * 1024) / 1024
    made, rows = np.zeros((wanted, size)), np.arange(wanted)
    for k in range(-1, 3):
        place = np.clip(low + k, 0, size - 1)
        own = cubic(np.abs(share - k), -0.5 if is_half else -0.75)
        np.add.at(made, (rows, place.astype(np.int64)), np.where(place == low + k, own, 0) if is_half else own)
    return made / made.sum(1, keepdims=True) if is_half else made


def cubic(distance, slope):
    """Keys' kernel, of which `slope` is the derivative at 1."""
    d = distance
    near = ((slope + 2) * d - (slope + 3)) * d * d + 1
    far = ((slope * d - 5 * slope) * d + 8 * slope) * d - 4 * slope
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def parts_of(size, wanted):
    """The weights of the means of parts that overlap by less than an element."""
    made = np.zeros((wanted, size))
    for i in range(wanted):
        begin, end = i * size // wanted, -(-(i + 1) * size // wanted)
        made[i, begin:end] = 1 / (end - begin)
    return made


def weighted(x, axis, weights):
    """Sums of the elements along a dimension with weights[wanted, size]."""
    factors = Tensor(weights.T.astype(np.float32), x.dtype)
    return swapaxes(matmul(swapaxes(x, axis, -1), factors), axis, -1)


def interpolate(
    input: Tensor | float,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Lines, images or volumes x[n, c, ..] of another size, in their type: of the nearest elements ("nearest", and
    "nearest-exact" by their middles), of those between which an element is ("linear" lines, "bilinear" images,
    "trilinear" volumes), of the sixteen around it ("bicubic" images), or of the means of parts ("area"). `size` is that
    of the last dimensions, in elements, or `scale_factor` what it is multiplied with. Raises ValueError for both or
    none of them, sizes below 1, another mode, or a number of dimensions that it has not."""
    x = as_tensor(input, "interpolate")
    if mode not in _RANKS:
        raise ValueError(f"[interpolate] unknown mode, got {mode!r}, expected one of {list(_RANKS)}")
    if x.ndim not in _RANKS[mode]:
        raise ValueError(
            f"[interpolate] wrong number of dimensions, got {x.shape} with {mode}, expected {_RANKS[mode]}"
        )
    is_nearest = mode in ("nearest", "nearest-exact")
    if align_corners is not None and (is_nearest or mode == "area"):
        raise ValueError(f"[interpolate] this mode has no corners, got align_corners={align_corners!r}, expected None")
    wanted, factors = _sizes(x, size, scale_factor)
    if recompute_scale_factor:
        factors = [None] * len(factors)
    if min(wanted) < 1:
        raise ValueError(f"[interpolate] nothing is left, got sizes {wanted}, expected sizes from 1")
    for axis, (n, factor) in enumerate(zip(wanted, factors), 2):
        own = x.shape[axis]
        if is_nearest:
            if own != n:
                x = slices_at(x, Tensor(nearest_places(own, n, factor, mode != "nearest").astype(np.int32)), axis)
        elif mode == "area":
            x = weighted(x, axis, parts_of(own, n))
        else:
            weights = cubic_weights if mode == "bicubic" else linear_weights
            x = weighted(x, axis, weights(own, n, factor, bool(align_corners)))
    return x


def upsample(
    input: Tensor | float,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """`interpolate` by another name."""
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)
