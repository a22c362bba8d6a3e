"""Differences of neighbours, shapes as tensors, and masks of lengths."""

from __future__ import annotations

import numbers

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import cast, less, not_equal, sub
from partita.ops.picked import require_known
from partita.ops.shapes import concat, reshape, sliced
from partita.ops.support import as_tensor, axis_of

__all__ = "diff dyn_shape sequence_mask".split()


def _part(x, axis, begin, end):
    return sliced(x, [(begin, end) if i == axis else (0, n) for i, n in enumerate(x.shape)])


def diff(
    x: Tensor | float, n: int = 1, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along an axis, n times; of what is put before and after, too. Of bools whether
    neighbours differ. The size of the axis shrinks by n. Raises ValueError for an n below 0, or an axis that the tensor
    has not."""
    x = as_tensor(x, "diff")
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0 or x.ndim == 0:
        raise ValueError(f"[diff] bad operands, got n={n!r} of shape {x.shape}, expected n from 0, and a dimension")
    axis = axis_of("diff", axis, x.ndim)
    parts = [one for one in (prepend, x, append) if one is not None]
    x = concat([as_tensor(one, "diff") for one in parts], axis) if len(parts) > 1 else x
    for _ in range(int(n)):
        size = x.shape[axis]
        later, before = _part(x, axis, min(1, size), size), _part(x, axis, 0, max(size - 1, 0))
        x = not_equal(later, before) if x.dtype == mstype.bool_ else sub(later, before)
    return x


def dyn_shape(input_x: Tensor | float) -> Tensor:
    """The shape as a tensor of int64."""
    return Tensor(np.array(as_tensor(input_x, "dyn_shape").shape, np.int64))


def sequence_mask(lengths: Tensor | float, maxlen: int | None = None) -> Tensor:
    """Whether places are below lengths: [.., maxlen], as many as the longest without `maxlen`, which is read."""
    lengths = as_tensor(lengths, "sequence_mask")
    if maxlen is None:
        require_known("sequence_mask", lengths)
        maxlen = int(lengths.asnumpy().max(initial=0))
    places = Tensor(np.arange(int(maxlen)))
    return less(places, reshape(cast(lengths, mstype.int64), [*lengths.shape, 1]))
