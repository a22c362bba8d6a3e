"""Triangles of matrices."""

from __future__ import annotations

import numbers

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.elementwise import add, cast, equal, less_equal, select
from partita.ops.support import F, as_tensor, attributes, run

__all__ = ("tril", "triu", "eye")


def _numbers_along(axis, shape):
    """Integers from 0 along one dimension of a matrix."""
    attrs = attributes(axis=axis, begin=0, dtype=mstype.int64, shape=list(shape))
    return run(lambda trace: F.apply(trace, "iota", [], attrs)[0])


def _diagonal_of(where, diagonal):
    if isinstance(diagonal, bool) or not isinstance(diagonal, numbers.Integral):
        raise TypeError(f"[{where}] diagonal is not an integer, got {diagonal!r}, expected one")
    return int(diagonal)


def _matrices(where, input):
    x = as_tensor(input, where)
    if x.ndim < 2:
        raise ValueError(f"[{where}] no matrix, got shape {x.shape}, expected two dimensions or more")
    return x


def _kept(x, mask):
    zero = full([], 0, dtype=x.dtype)
    return select(mask, x, zero)


def tril(input: Tensor | float, diagonal: int = 0) -> Tensor:
    """The elements of the last two dimensions up to a diagonal, `diagonal` places right of the main one, 0 above it; in
    the shape and the type of `input`. Raises ValueError for less than two dimensions, TypeError for a diagonal that is
    no integer."""
    x, diagonal = _matrices("tril", input), _diagonal_of("tril", diagonal)
    rows, columns = (_numbers_along(axis, x.shape[-2:]) for axis in (0, 1))
    return _kept(x, less_equal(columns, add(rows, diagonal)))


def triu(input: Tensor | float, diagonal: int = 0) -> Tensor:
    """The elements of the last two dimensions from a diagonal on, `diagonal` places right of the main one, 0 below it;
    in the shape and the type of `input`. Raises ValueError for less than two dimensions, TypeError for a diagonal that
    is no integer."""
    x, diagonal = _matrices("triu", input), _diagonal_of("triu", diagonal)
    rows, columns = (_numbers_along(axis, x.shape[-2:]) for axis in (0, 1))
    return _kept(x, less_equal(add(rows, diagonal), columns))


def eye(n: int, m: int | None = None, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """A matrix [n, m], or [n, n], with 1 on its diagonal, else 0; float32 without a type. Raises ValueError for a size
    below 0, TypeError for an unknown type."""
    shape = [int(n), int(n if m is None else m)]
    if min(shape) < 0:
        raise ValueError(f"[eye] bad shape, got {tuple(shape)}, expected sizes from 0")
    if 0 in shape:
        return full(shape, 0, dtype=dtype or mstype.float32)
    same = equal(_numbers_along(0, shape), _numbers_along(1, shape))
    return cast(same, dtype or mstype.float32)
