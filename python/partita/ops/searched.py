"""Counts, ranks and sets of elements, outside of programs that are compiled once: NumPy finds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita import _core
from partita.common import dtype as mstype
from partita.common import seed as seeds
from partita.common.tensor import Tensor
from partita.ops.elementwise import cast
from partita.ops.picked import require_known
from partita.ops.segments import unsorted_segment_sum
from partita.ops.support import as_tensor

__all__ = "bincount bucketize randperm searchsorted unique".split()


def _values(where, *given):
    tensors = [as_tensor(one, where) for one in given]
    require_known(where, *tensors)
    return [one.asnumpy() for one in tensors]


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 stands in a row [n], or the sums of their weights [n], as float32; at least
    `minlength` of them. Raises TypeError for floats, bools or other than one dimension, ValueError for an integer below
    0, NotImplementedError in a network that is compiled once."""
    (values,) = _values("bincount", input)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"[bincount] no row of integers, got {values.dtype} {values.shape}, expected one dimension")
    if values.size and values.min() < 0:
        raise ValueError(f"[bincount] an integer is below 0, got {values.min()}, expected integers from 0")
    if weights is None:
        return Tensor(np.bincount(values, None, minlength).astype(np.float32))
    size = len(np.bincount(values, _values("bincount", weights)[0], minlength))
    shares = cast(as_tensor(weights, "bincount"), mstype.float32)
    return unsorted_segment_sum(shares, Tensor(values.astype(np.int32)), size)


def searchsorted(
    sorted_sequence: Tensor,
    values: Tensor | float,
    *,
    out_int32: bool = False,
    side: str | None = None,
    right: bool = False,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values belong in rows that rise, the last dimension, so that they stay in order: before equal elements, or
    with `right` after them; as int64, or with `out_int32` as int32, in the shape of `values`. Raises ValueError where
    the other dimensions differ, and for another `side`."""
    if side not in (None, "left", "right"):
        raise ValueError(f"[searchsorted] unknown side, got {side!r}, expected left or right")
    rows, wanted = _values("searchsorted", sorted_sequence, values)
    if sorter is not None:
        rows = np.take_along_axis(rows, _values("searchsorted", sorter)[0], -1)
    if rows.ndim > 1 and rows.shape[:-1] != wanted.shape[:-1]:
        raise ValueError(
            f"[searchsorted] the rows do not fit, got {rows.shape} and {wanted.shape}, expected the same but in the "
            "last dimension"
        )
    way = "right" if right or side == "right" else "left"
    flat = rows.reshape(-1, rows.shape[-1])
    asked = wanted.reshape(len(flat), -1)
    found = np.stack([np.searchsorted(row, one, way) for row, one in zip(flat, asked)])
    return Tensor(found.reshape(wanted.shape).astype(np.int32 if out_int32 else np.int64))


def bucketize(input: Tensor | float, boundaries: Sequence[float], *, right: bool = False) -> Tensor:
    """In which bucket each element is, as int32 in the shape of `input`: the number of boundaries, which rise, below
    it, or with `right` not above it. Raises NotImplementedError in a network that is compiled once."""
    (values,) = _values("bucketize", input)
    return Tensor(np.searchsorted(np.asarray(boundaries), values, "right" if right else "left").astype(np.int32))


def unique(input: Tensor | float) -> tuple[Tensor, Tensor]:
    """The different elements in the order in which they are met first, in one row, and which of them each element is,
    in the shape of `input`: int64 of int64, else int32. Raises NotImplementedError in a network that is compiled once,
    TypeError for bfloat16."""
    (values,) = _values("unique", input)
    found, first, which = np.unique(values.reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    kind = np.int64 if values.dtype == np.int64 else np.int32
    return Tensor(found[order]), Tensor(place[which].reshape(values.shape).astype(kind))


def randperm(n: int, seed: int = 0, offset: int = 0, dtype: mstype.DType | str | type = mstype.int64) -> Tensor:
    """The integers below `n` in an order that is drawn, in one dimension, as numbers of any type. `seed` and `offset`
    have no effect: draws follow from `set_seed`. Raises ValueError for a negative `n`, TypeError for bools."""
    if isinstance(n, Tensor):
        n = int(n)
    kind = mstype.to_dtype(dtype)
    if kind == mstype.bool_:
        raise TypeError(f"[randperm] bad dtype, got {dtype}, expected a type of numbers")
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"[randperm] bad count, got {n!r}, expected an integer from 0")
    keys = _core.initial("uniform", [0.0, 1.0], "f32", [n], seeds.seed_or_default(), seeds.next_name("draw"))
    return cast(Tensor(np.argsort(np.asarray(keys), kind="stable").astype(np.int64)), kind)
