"""Images and volumes at places between their elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.arithmetic import round as nearest
from partita.ops.derived import stop_gradient
from partita.ops.elementwise import (
    abs,
    add,
    cast,
    clip,
    floor,
    greater_equal,
    less_equal,
    logical_and,
    mul,
    remainder,
    smaller,
    sub,
)
from partita.ops.layers import matmul
from partita.ops.shapes import broadcast_to, expand_dims, reshape, swapaxes
from partita.ops.support import F, as_tensor, run

__all__ = ("affine_grid", "grid_sample")

_MODES, _PADDINGS = ("bilinear", "nearest"), ("zeros", "border", "reflection")


def affine_grid(theta: Tensor | float, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The places of the elements of images or volumes of a size, [n, h, w, 2] or [n, d, h, w, 3], after the affine map
    theta[n, 2, 3] or theta[n, 3, 4]. Places are from -1 to 1 and have x first. Raises ValueError for shapes that do not
    fit."""
    maps, sizes = as_tensor(theta, "affine_grid"), [int(one) for one in size]
    count = len(sizes) - 2
    if count not in (2, 3) or maps.shape != (sizes[0], count, count + 1):
        raise ValueError(
            f"[affine_grid] the shapes do not fit, got {maps.shape} and size {tuple(sizes)}, expected [n, 2, 3] for 4 "
            "sizes, or [n, 3, 4] for 5"
        )
    lines = []
    for one in sizes[2:]:
        line = np.linspace(-1, 1, one) if one > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (one - 1) / one)
    points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(sizes[2:])], -1).reshape(1, -1, count + 1)
    rows = broadcast_to(Tensor(points.astype(np.float32), maps.dtype), [sizes[0], *points.shape[1:]])
    return reshape(matmul(rows, swapaxes(maps, 1, 2)), [sizes[0], *sizes[2:], count])


def _at(place, size, padding_mode, align_corners):
    """Places from -1 to 1 as numbers of elements, those outside as `padding_mode` has them."""
    if align_corners:
        x = mul(add(place, 1.0), (size - 1) / 2)
    else:
        x = sub(mul(add(place, 1.0), size / 2), 0.5)
    if padding_mode == "border":
        return clip(x, 0.0, float(size - 1))
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return mul(x, 0.0)
        turned = remainder(abs(sub(x, low)), 2 * span)
        return clip(add(smaller(turned, sub(2 * span, turned)), low), 0.0, float(size - 1))
    return x


def _picked(flat, corners, sizes):
    """The elements of x[n, c, elements] at numbers of places [n, points] of each dimension, 0 outside."""
    number, inside = None, None
    for place, size in zip(corners, sizes):
        within = logical_and(greater_equal(place, 0.0), less_equal(place, float(size - 1)))
        inside = within if inside is None else logical_and(inside, within)
        own = cast(clip(place, 0.0, float(size - 1)), mstype.int32)
        number = own if number is None else add(mul(number, size), own)
    n, c, _ = flat.shape
    ids = broadcast_to(expand_dims(number, 1), [n, c, number.shape[-1]])
    found = run(lambda trace, a, i: F.take_along(a, i), flat, ids)
    return mul(found, expand_dims(cast(inside, flat.dtype), 1))


def sampled(x, places, mode):
    """x[n, c, *sizes] at numbers of places, a tensor [n, points] for each dimension: the nearest elements, or the
    weighted ones around each place, 0 outside. The result is [n, c, points]."""
    sizes = x.shape[2:]
    flat = reshape(x, [*x.shape[:2], math.prod(sizes)])
    if mode == "nearest":
        return _picked(flat, [nearest(one) for one in places], sizes)
    lows = [_whole(one) for one in places]
    total = None
    for corner in range(2 ** len(sizes)):
        ends, weight = [], None
        for i, (place, low) in enumerate(zip(places, lows)):
            is_high = corner >> i & 1
            share = sub(place, low)
            ends.append(add(low, 1.0) if is_high else low)
            own = share if is_high else sub(1.0, share)
            weight = own if weight is None else mul(weight, own)
        part = mul(_picked(flat, ends, sizes), expand_dims(weight, 1))
        total = part if total is None else add(total, part)
    return total


def _whole(place):
    """The numbers before places, which have no gradient."""
    return stop_gradient(floor(place))


def grid_sample(
    input: Tensor | float,
    grid: Tensor | float,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """x[n, c, h, w] at the places grid[n, rows, columns, 2], or x[n, c, d, h, w] at grid[n, .., 3]: the nearest
    elements, or the weighted ones around each place. Places are from -1 to 1 and have x first. Beyond the edges there
    are zeros, the edge ("border") or what mirrors ("reflection"). Raises ValueError for shapes that do not fit, or
    another mode."""
    x, points = as_tensor(input, "grid_sample"), as_tensor(grid, "grid_sample")
    for name, value, known in (("mode", mode, _MODES), ("padding_mode", padding_mode, _PADDINGS)):
        if value not in known:
            raise ValueError(f"[grid_sample] unknown {name}, got {value!r}, expected one of {known}")
    count = x.ndim - 2
    if count not in (2, 3) or points.ndim != x.ndim or points.shape[-1] != count or points.shape[0] != x.shape[0]:
        raise ValueError(
            f"[grid_sample] the shapes do not fit, got {x.shape} and grid {points.shape}, expected [n, c, h, w] and "
            "[n, rows, columns, 2], or [n, c, d, h, w] and [n, .., 3]"
        )
    flat = reshape(points, [x.shape[0], -1, count])
    places = [
        _at(flat[:, :, count - 1 - i], size, padding_mode, bool(align_corners)) for i, size in enumerate(x.shape[2:])
    ]
    return reshape(sampled(x, places, mode), [*x.shape[:2], *points.shape[1:-1]])
