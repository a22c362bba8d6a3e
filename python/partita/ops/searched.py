"""Counts, ranks and sets of elements, outside of programs that are compiled once: NumPy finds them."""

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


def bincount(input, weights=None, minlength=0):
    """How often each integer from 0 stands, or the sums of their weights, as float32; at least `minlength` of them."""
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


def searchsorted(sorted_sequence, values, *, out_int32=False, side=None, right=False, sorter=None):
    """Where values belong in rows that rise, the last dimension, so that they stay in order: before equal elements, or
    with `right` after them."""
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


def bucketize(input, boundaries, *, right=False):
    """In which bucket each element is, as int32: the number of boundaries below it, or with `right` not above it."""
    (values,) = _values("bucketize", input)
    return Tensor(np.searchsorted(np.asarray(boundaries), values, "right" if right else "left").astype(np.int32))


def unique(input):
    """The different elements in the order in which they are met first, and which of them each element is."""
    (values,) = _values("unique", input)
    found, first, which = np.unique(values.reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    kind = np.int64 if values.dtype == np.int64 else np.int32
    return Tensor(found[order]), Tensor(place[which].reshape(values.shape).astype(kind))


def randperm(n, seed=0, offset=0, dtype=mstype.int64):
    """The integers below `n` in an order that is drawn, as numbers of any type."""
    if isinstance(n, Tensor):
        n = int(n)
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"[randperm] bad count, got {n!r}, expected an integer from 0")
    keys = _core.initial("uniform", [0.0, 1.0], "f32", [n], seeds.seed_or_default(), seeds.next_name("draw"))
    return cast(Tensor(np.argsort(np.asarray(keys), kind="stable").astype(np.int64)), dtype)
