"""Rows of tensors that are added to, taken from and replaced: new tensors, gradients pass through them."""

from __future__ import annotations

from partita.ops.assignment import assigned
from partita.ops.elementwise import neg
from partita.ops.scattered import added_at
from partita.ops.support import as_tensor
from partita.common.tensor import Tensor

__all__ = "inplace_add inplace_sub inplace_update".split()


def _rows(where, x, v, indices):
    """(tensor, rows, their numbers). Raises ValueError unless there is a number for each row, TypeError for rows of
    another type."""
    x, v = as_tensor(x, where), as_tensor(v, where)
    ids = indices.asnumpy().tolist() if isinstance(indices, Tensor) else indices
    ids = [int(one) for one in ids] if isinstance(ids, (tuple, list)) else [int(ids)]
    if x.dtype != v.dtype:
        raise TypeError(f"[{where}] the rows have another type, got {v.dtype}, expected {x.dtype}")
    if v.shape != (len(ids), *x.shape[1:]):
        raise ValueError(f"[{where}] the rows do not fit, got {v.shape}, expected {(len(ids), *x.shape[1:])}")
    if any(not 0 <= one < x.shape[0] for one in ids):
        raise ValueError(f"[{where}] no such rows, got {ids}, expected 0 to {x.shape[0] - 1}")
    return x, v, ids


def inplace_add(x: Tensor | float, v: Tensor | float, indices: Tensor | float) -> Tensor:
    """x with rows added to those of these numbers."""
    x, v, ids = _rows("inplace_add", x, v, indices)
    return added_at(x, Tensor(ids), v, 0)


def inplace_sub(x: Tensor | float, v: Tensor | float, indices: Tensor | float) -> Tensor:
    """x with rows taken from those of these numbers."""
    x, v, ids = _rows("inplace_sub", x, v, indices)
    return added_at(x, Tensor(ids), neg(v), 0)


def inplace_update(x: Tensor | float, v: Tensor | float, indices: Tensor | float) -> Tensor:
    """x with rows in place of those of these numbers."""
    x, v, ids = _rows("inplace_update", x, v, indices)
    return assigned(x, ids, v)
