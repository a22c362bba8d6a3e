"""Functions that are made of others."""

import numbers

from partita.common import dtype as mstype
from partita.ops.creation import full
from partita.ops.elementwise import abs, add, equal, greater, greater_equal, less, less_equal, not_equal
from partita.ops.elementwise import stop_gradient  # noqa: F401
from partita.ops.layers import matmul
from partita.ops.shapes import broadcast_to, expand_dims, reshape, split, squeeze
from partita.ops.support import as_tensor, axis_of

eq, ne, gt, ge, lt, le = equal, not_equal, greater, greater_equal, less, less_equal


def isnan(input):
    """Whether elements are no numbers."""
    x = as_tensor(input, "isnan")
    return not_equal(x, x)


def isinf(input):
    """Whether elements are infinite."""
    x = as_tensor(input, "isinf")
    if not mstype.is_float(x.dtype):
        return full(x.shape, False, dtype=mstype.bool_)
    return equal(abs(x), float("inf"))


def bmm(input_x, mat2):
    """Products of the matrices of two batches."""
    return matmul(input_x, mat2)


def outer(input, vec2):
    """The products of all pairs of elements of two vectors."""
    a, b = as_tensor(input, "outer"), as_tensor(vec2, "outer")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            f"[outer] operands are not vectors, got shapes {a.shape} and {b.shape}, expected one dimension each"
        )
    return expand_dims(a, 1) * expand_dims(b, 0)


def dense(input, weight, bias=None):
    """x weight^T + bias."""
    y = matmul(input, weight, transpose_b=True)
    return y if bias is None else add(y, bias)


def full_like(input, fill_value, *, dtype=None):
    """A tensor of one number, with the shape of another one and its element type."""
    x = as_tensor(input, "full_like")
    return full(x.shape, fill_value, dtype=dtype or x.dtype)


def unstack(input_x, axis=0):
    """The slices along a dimension, without it."""
    x = as_tensor(input_x, "unstack")
    axis = axis_of("unstack", axis, x.ndim)
    return tuple(squeeze(one, axis) for one in split(x, 1, axis))


def tile(input, dims):
    """The tensor several times along each dimension; dimensions of one element are added in front."""
    x, counts = as_tensor(input, "tile"), _counts_of("tile", dims)
    shape = [1] * (len(counts) - x.ndim) + list(x.shape)
    counts = [1] * (len(shape) - len(counts)) + counts
    x = reshape(x, [one for size in shape for one in (1, size)])
    wide = broadcast_to(x, [one for count, size in zip(counts, shape) for one in (count, size)])
    return reshape(wide, [count * size for count, size in zip(counts, shape)])


def _counts_of(where, dims):
    """Number of copies along each dimension. Raises TypeError unless `dims` is a tuple or list of integers, ValueError
    for numbers below zero."""
    if not isinstance(dims, (tuple, list)):
        raise TypeError(f"[{where}] dims is not a tuple, got {dims!r}, expected an integer for each dimension")
    for one in dims:
        if not isinstance(one, numbers.Integral) or isinstance(one, bool):
            raise TypeError(f"[{where}] a number of copies is not an integer, got {one!r}, expected one from 0")
        if one < 0:
            raise ValueError(f"[{where}] bad number of copies, got {one}, expected an integer from 0")
    return [int(one) for one in dims]
