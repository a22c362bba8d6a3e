"""Tensors with more elements at their edges."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.elementwise import cast, duplicate
from partita.ops.reversal import reversed_along
from partita.ops.shapes import concat, sliced
from partita.ops.support import F, as_tensor, attributes, run

__all__ = ("pad",)

_MODES = ("constant", "reflect", "replicate", "circular", "symmetric")


def _pairs(x, padding):
    """(elements before, elements after) of each dimension, from those of the last dimensions, the last one first."""
    given = padding.asnumpy().tolist() if isinstance(padding, Tensor) else padding
    given = [given] if isinstance(given, numbers.Integral) else list(given)
    if len(given) % 2 or len(given) > 2 * x.ndim:
        raise ValueError(
            f"[pad] wrong number of sizes, got {len(given)} for shape {x.shape}, expected two for each of the last "
            "dimensions"
        )
    pairs = [(int(given[i]), int(given[i + 1])) for i in range(0, len(given), 2)]
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]


def _part(x, axis, begin, end):
    return sliced(x, [(begin, end) if i == axis else (0, n) for i, n in enumerate(x.shape)])


def _filled(x, axis, count, value):
    shape = [count if i == axis else n for i, n in enumerate(x.shape)]
    return full(shape, value, dtype=x.dtype)


def _edges(x, axis, before, after, mode):
    """The elements that are added before and after a dimension."""
    size = x.shape[axis]
    if mode == "symmetric":
        if max(before, after) > size:
            raise ValueError(
                f"[pad] more is added than can be mirrored, got {(before, after)} at a dimension of {size}, expected at"
                f" most {size}"
            )
        first, last = (0, before), (size - after, size)
    elif mode == "reflect":
        if max(before, after) >= size:
            raise ValueError(
                f"[pad] more is added than can be reflected, got {(before, after)} at a dimension of {size}, expected "
                f"at most {size - 1}"
            )
        first, last = (1, before + 1), (size - 1 - after, size - 1)
    elif mode == "circular":
        if max(before, after) > size:
            raise ValueError(
                f"[pad] more is added than there is, got {(before, after)} at a dimension of {size}, expected at most "
                f"{size}"
            )
        first, last = (size - before, size), (0, after)
    else:
        first, last = (0, 1), (size - 1, size)
    made = []
    for (begin, end), count in ((first, before), (last, after)):
        if count <= 0:
            made.append(None)
            continue
        part = _part(x, axis, begin, end)
        if mode == "replicate":
            part = concat([part] * count, axis)
        made.append(reversed_along(part, axis) if mode in ("reflect", "symmetric") else part)
    return made


def pad(
    input_x: Tensor | float, padding: int | Sequence[int] | Tensor, mode: str = "constant", value: float | None = None
) -> Tensor:
    """More elements around the last dimensions, in the type of `input_x`. `padding` has the numbers before and after
    each of them, the last one first; numbers below zero take elements away. They are `value` (0 without one), or
    ("reflect", "symmetric", "replicate", "circular") those that mirror without and with the edge, repeat or go round.
    Raises ValueError for an odd number of them, more than two for each dimension, another mode, a `value` with it, and
    more than can be mirrored.

    >>> ops.pad(ms.Tensor([[1.0, 2.0]]), [1, 0], value=9.0).asnumpy().tolist()
    [[9.0, 1.0, 2.0]]
    """
    x = as_tensor(input_x, "pad")
    if mode not in _MODES:
        raise ValueError(f"[pad] unknown mode, got {mode!r}, expected one of {_MODES}")
    if mode != "constant" and value is not None:
        raise ValueError(f"[pad] this mode takes no value, got {value!r} with {mode}, expected None")
    pairs = _pairs(x, padding)
    cut = [(max(0, -before), n - max(0, -after)) for (before, after), n in zip(pairs, x.shape)]
    if any(end <= begin for begin, end in cut):
        sizes = [n + before + after for n, (before, after) in zip(x.shape, pairs)]
        if mode == "constant" and min(sizes) > 0:  # what was there is cut off
            return full(sizes, value or 0, dtype=x.dtype)
        raise ValueError(f"[pad] nothing is left, got padding {tuple(pairs)} of shape {x.shape}, expected less")
    if not any(before or after for before, after in pairs):
        return duplicate(x)
    x = sliced(x, cut)
    pairs = [(max(0, before), max(0, after)) for before, after in pairs]
    if mode == "constant" and not value and mstype.is_float(x.dtype):
        return _with_zeros(x, pairs)
    for axis, (before, after) in enumerate(pairs):
        if mode == "constant":
            edges = [_filled(x, axis, n, value or 0) if n else None for n in (before, after)]
        else:
            edges = _edges(x, axis, before, after, mode)
        parts = [one for one in (edges[0], x, edges[1]) if one is not None]
        x = concat(parts, axis) if len(parts) > 1 else x
    return x


def _with_zeros(x, pairs):
    if not any(before or after for before, after in pairs):
        return x
    wide = cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x
    attrs = attributes(before=[before for before, _ in pairs], after=[after for _, after in pairs])
    return cast(run(lambda trace, a: F.apply(trace, "pad", [a], attrs)[0], wide), x.dtype)
