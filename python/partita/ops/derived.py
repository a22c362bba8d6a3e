"""Functions that are made of others."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.elementwise import abs, add, equal, greater, greater_equal, less, less_equal, not_equal
from partita.ops.elementwise import stop_gradient  # noqa: F401
from partita.ops.layers import matmul
from partita.ops.shapes import broadcast_to, expand_dims, reshape, split, squeeze
from partita.ops.support import as_tensor, axis_of

eq, ne, gt, ge, lt, le = equal, not_equal, greater, greater_equal, less, less_equal


def isnan(input: Tensor | float) -> Tensor:
    """Whether each element is no number: bools in the shape of `input`. Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "isnan")
    return not_equal(x, x)


def isinf(input: Tensor | float) -> Tensor:
    """Whether each element is infinite: bools in the shape of `input`. Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "isinf")
    if not mstype.is_float(x.dtype):
        return full(x.shape, False, dtype=mstype.bool_)
    return equal(abs(x), float("inf"))


def bmm(input_x: Tensor | float, mat2: Tensor | float) -> Tensor:
    """Products of the matrices of two batches: [.., m, k] and [.., k, n] give [.., m, n], and the dimensions before
    broadcast. Raises ValueError for shapes that do not fit, TypeError for operands of different types, or of bools."""
    return matmul(input_x, mat2)


def outer(input: Tensor | float, vec2: Tensor | float) -> Tensor:
    """The products of all pairs of elements of two vectors: [m] and [n] give [m, n]. Raises ValueError for operands of
    other than one dimension, TypeError for what holds no numbers."""
    a, b = as_tensor(input, "outer"), as_tensor(vec2, "outer")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            f"[outer] operands are not vectors, got shapes {a.shape} and {b.shape}, expected one dimension each"
        )
    return expand_dims(a, 1) * expand_dims(b, 0)


def dense(input: Tensor | float, weight: Tensor | float, bias: Tensor | float | None = None) -> Tensor:
    """x weight^T + bias: `input` [.., in], `weight` [out, in] and `bias` [out] give [.., out]. Raises ValueError for
    shapes that do not fit, TypeError for an input and a weight of different types, or of bools."""
    y = matmul(input, weight, transpose_b=True)
    return y if bias is None else add(y, bias)


def full_like(
    input: Tensor | float, fill_value: Tensor | float, *, dtype: mstype.DType | str | type | None = None
) -> Tensor:
    """A tensor of one number, with the shape of another one and, without a type, its element type. Raises TypeError for
    what holds no numbers and an unknown type, ValueError for a value of several elements."""
    x = as_tensor(input, "full_like")
    return full(x.shape, fill_value, dtype=dtype or x.dtype)


def unstack(input_x: Tensor | float, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, without it: as many tensors as it has elements, in a tuple. Raises ValueError for
    an axis that the tensor has not."""
    x = as_tensor(input_x, "unstack")
    axis = axis_of("unstack", axis, x.ndim)
    return tuple(squeeze(one, axis) for one in split(x, 1, axis))


def tile(input: Tensor | float, dims: Sequence[int]) -> Tensor:
    """The tensor `dims[i]` times along dimension i; dimensions of one element are added in front where `dims` is
    longer, and ones to `dims` where the tensor has more. Raises TypeError unless `dims` is a tuple or list of integers,
    ValueError for one below 0."""
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
