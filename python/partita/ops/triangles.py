"""Triangles of matrices."""

import numbers

from partita.common import dtype as mstype
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


def tril(input, diagonal=0):
    """The elements of the last two dimensions up to a diagonal, 0 above it."""
    x, diagonal = _matrices("tril", input), _diagonal_of("tril", diagonal)
    rows, columns = (_numbers_along(axis, x.shape[-2:]) for axis in (0, 1))
    return _kept(x, less_equal(columns, add(rows, diagonal)))


def triu(input, diagonal=0):
    """The elements of the last two dimensions from a diagonal on, 0 below it."""
    x, diagonal = _matrices("triu", input), _diagonal_of("triu", diagonal)
    rows, columns = (_numbers_along(axis, x.shape[-2:]) for axis in (0, 1))
    return _kept(x, less_equal(add(rows, diagonal), columns))


def eye(n, m=None, dtype=None):
    """A matrix with 1 on its diagonal, else 0."""
    shape = [int(n), int(n if m is None else m)]
    if min(shape) < 0:
        raise ValueError(f"[eye] bad shape, got {tuple(shape)}, expected sizes from 0")
    if 0 in shape:
        return full(shape, 0, dtype=dtype or mstype.float32)
    same = equal(_numbers_along(0, shape), _numbers_along(1, shape))
    return cast(same, dtype or mstype.float32)
