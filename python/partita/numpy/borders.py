"""Arrays with more elements around them, one dimension after the other."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.numpy.tensors import ArrayLike, integers, tensor_of
from partita.ops import functional as F

__all__ = ["pad"]

_PLACES = ("edge", "reflect", "symmetric", "wrap")  # borders of elements of the tensor
_STATISTICS = {"maximum": F.reduce_max, "minimum": F.reduce_min, "mean": F.reduce_mean}


def pad(
    arr: ArrayLike,
    pad_width: int | Sequence,
    mode: str = "constant",
    stat_length: int | Sequence | None = None,
    constant_values: float | Sequence = 0,
    end_values: float | Sequence = 0,
    reflect_type: str = "even",
    **kwargs,
) -> Tensor:
    """More elements around the dimensions: `pad_width` of them, an integer, a pair (before, after), or a pair for each.

    `mode` says which: "constant" `constant_values`, "empty" 0, "edge" the nearest element, "reflect" and "symmetric"
    the tensor mirrored without and with its edge ("odd" `reflect_type`: less from twice the edge), "wrap" its other
    end, "linear_ramp" steps to `end_values`, and "maximum", "minimum" and "mean" those of the next `stat_length`
    elements, or of all; of integers without their fractions. Values and lengths come as widths do. Raises ValueError
    for an unknown mode, NotImplementedError for a function."""
    x = tensor_of(arr)
    if callable(mode) or kwargs:
        raise NotImplementedError(f"[pad] functions are not supported, got {mode!r}, expected the name of a mode")
    if mode not in ("constant", "empty", "linear_ramp", *_PLACES, *_STATISTICS):
        known = ", ".join(["constant", "empty", "linear_ramp", *_PLACES, *_STATISTICS])
        raise ValueError(f"[pad] unknown mode, got {mode!r}, expected one of {known}")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"[pad] unknown reflect_type, got {reflect_type!r}, expected even or odd")
    widths = _pairs("pad_width", pad_width, x.ndim)
    if np.min(widths, initial=0) < 0:
        raise ValueError(f"[pad] bad pad_width, got {pad_width!r}, expected integers from 0")
    values = _pairs("values", {"constant": constant_values, "linear_ramp": end_values}.get(mode, 0), x.ndim)
    lengths = _pairs("stat_length", stat_length, x.ndim)
    is_odd = mode in ("reflect", "symmetric") and reflect_type == "odd"
    for axis, width in enumerate(widths):
        if not any(width):
            continue
        if mode in _PLACES:
            x = _from_places(x, axis, width, mode, is_odd)
            continue
        sides = [_side(x, axis, i, width[i], mode, values[axis][i], lengths[axis][i]) for i in (0, 1)]
        x = F.concat([one for one in (sides[0], x, sides[1]) if one is not None], axis)
    return x


def _pairs(name, given, ndim):
    """(before, after) for each dimension."""
    try:
        return np.broadcast_to(np.asarray(given), (ndim, 2)).tolist()
    except ValueError:
        raise ValueError(f"[pad] bad {name}, got {given!r}, expected a number, a pair or {ndim} pairs") from None


def _from_places(x, axis, width, mode, is_odd):
    size = x.shape[axis]
    if not is_odd:
        return F.gather(x, integers(np.pad(np.arange(size), width, mode)), axis)
    # Elements of the border are sums of elements of the tensor with these weights.
    weights = np.pad(np.eye(size, dtype=np.float32), (width, (0, 0)), mode, reflect_type="odd")
    rows = F.swapaxes(x, axis, 0)
    made = F.matmul(F.cast(Tensor(weights), x.dtype), F.reshape(rows, [size, -1]))
    return F.swapaxes(F.reshape(made, [len(weights), *rows.shape[1:]]), axis, 0)


def _side(x, axis, side, width, mode, value, length):
    """The border of a side, 0 before and 1 after the tensor; None for one without elements."""
    if width == 0:
        return None
    shape = [width if i == axis else size for i, size in enumerate(x.shape)]
    if mode in ("constant", "empty"):
        return F.full(shape, value, dtype=x.dtype)
    size = x.shape[axis]
    if mode == "linear_ramp":
        edge = F.cast(F.gather(x, integers([0 if side == 0 else size - 1]), axis), F.as_float(x).dtype)
        shares = np.arange(1, width + 1)[:: -1 if side == 0 else 1] / width
        shares = F.reshape(Tensor(shares.astype(np.float32)), [-1 if i == axis else 1 for i in range(x.ndim)])
        made = edge + (value - edge) * shares
    else:
        if length is not None and (not isinstance(length, numbers.Integral) or length < 1):
            raise ValueError(f"[pad] bad stat_length, got {length!r}, expected integers from 1")
        length = size if length is None else min(length, size)
        part = F.gather(x, integers(np.arange(length) + (0 if side == 0 else size - length)), axis)
        part = F.as_float(part) if mode == "mean" else part
        made = F.broadcast_to(_STATISTICS[mode](part, axis, True), tuple(shape))
    return F.cast(made, x.dtype)
