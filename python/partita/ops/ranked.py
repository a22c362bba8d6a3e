"""Places in an order: of labels among classes, of values in rows that rise, and of choices by a mask."""

from __future__ import annotations

import functools

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import cast, floor_div, floor_mod, greater, isfinite, less, logical_and
from partita.ops.hosted import Hosted
from partita.ops.picked import gather_elements, nonzero
from partita.ops.reductions import reduce_sum
from partita.ops.shapes import gather, reshape
from partita.ops.segments import sorted_segments
from partita.ops.support import as_tensor

__all__ = "argwhere intopk sparse_segment_mean unique_with_pad".split()


def argwhere(input: Tensor | float) -> Tensor:
    """The places of the elements other than 0, a row for each: [count, dimensions] of int64. Raises NotImplementedError
    in a network that is compiled once."""
    return nonzero(input)


def intopk(x1: Tensor | float, x2: Tensor | float, k: int) -> Tensor:
    """Whether labels x2[n] are among the k largest of x1[n, classes], as bools [n]: fewer than k classes have a larger
    number. False where the number of the label is not finite. Raises ValueError for other shapes, IndexError for a
    label outside of the classes."""
    x, labels = as_tensor(x1, "intopk"), as_tensor(x2, "intopk")
    if x.ndim != 2 or labels.shape != x.shape[:1]:
        raise ValueError(f"[intopk] the shapes do not fit, got {x.shape} and {labels.shape}, expected [n, k] and [n]")
    own = gather_elements(x, 1, reshape(labels, [-1, 1]))
    before = reduce_sum(cast(greater(x, own), mstype.int32), 1)
    return logical_and(less(before, int(k)), reshape(isfinite(own), [-1]))


def _padded(values, other):
    found, first, which = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    row = np.full(values.shape, other, values.dtype)
    row[: len(order)] = found[order]
    return row, place[which.reshape(-1)].astype(values.dtype)


@functools.lru_cache(maxsize=256)
def _padding_with(other):
    return Hosted(
        "unique_with_pad",
        lambda values: _padded(values, other),
        lambda shape: (shape, shape),
        lambda dtype: (dtype, dtype),
        options=(other,),
    )


def unique_with_pad(x: Tensor | float, pad_num: float) -> tuple[Tensor, Tensor]:
    """(the different elements of a row in the order in which they are met first, then `pad_num`, as many as in the row;
    which of them each element is)."""
    x = as_tensor(x, "unique_with_pad")
    if x.ndim != 1:
        raise ValueError(f"[unique_with_pad] not a row, got shape {x.shape}, expected one dimension")
    other = pad_num.asnumpy().item() if isinstance(pad_num, Tensor) else pad_num
    return _padding_with(other)(x)


@functools.lru_cache(maxsize=None)
def _bound(side, kind):
    def find(rows, wanted):
        return np.stack([np.searchsorted(row, one, side) for row, one in zip(rows, wanted)]).astype(kind.numpy)

    return Hosted(f"{side}_bound", find, lambda rows, wanted: wanted, kind)


def bound(where, side, kind, rows, values):
    """Where values[n, k] belong in rows[n, m] that rise: before equal elements ("left") or after them."""
    rows, values = as_tensor(rows, where), as_tensor(values, where)
    if rows.ndim != 2 or values.ndim != 2 or rows.shape[0] != values.shape[0]:
        raise ValueError(f"[{where}] the rows do not fit, got {rows.shape} and {values.shape}, expected [n, m], [n, k]")
    return _bound(side, kind)(rows, values)


def unravelled(numbers, sizes):
    """The places, as a list of tensors for each dimension, of elements with numbers in a row."""
    found = []
    for size in reversed(sizes):
        found.append(floor_mod(numbers, int(size)))
        numbers = floor_div(numbers, int(size))
    return found[::-1]


def sparse_segment_mean(x: Tensor | float, indices: Tensor | float, segment_ids: Tensor | float) -> Tensor:
    """The means of the slices of some numbers, in segments whose ids rise, 0 of none."""
    return sorted_segments("sparse_segment_mean", "mean", gather(x, indices, 0), segment_ids)
