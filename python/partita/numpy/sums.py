"""Sums, extremes and products over dimensions, with the names of NumPy."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from partita.common.dtype import DTypeLike, bool_, float16, float32, int32, uint8
from partita.common.tensor import Tensor
from partita.numpy.shapes import ravel
from partita.numpy.tensors import ArrayLike, tensor_of, typed
from partita.ops import functional as F

__all__ = (
    "amax amin argmax argmin average count_nonzero cumsum diag diagonal dot inner max mean min norm outer std sum "
    "tensordot trace var"
).split()


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence = 2) -> Tensor:
    """Sums of products over the last `axes` dimensions of `a` and the first ones of `b`, or over those of a pair of
    lists."""
    return F.tensor_dot(tensor_of(a), tensor_of(b), axes)


def sum(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The sum over the dimensions `axis`, or of all elements; these dimensions stay, of size 1, with `keepdims`.
    `initial` is added. Integers and bools are summed as int64, except where `dtype` is given."""
    made = F.sum(tensor_of(a), axis, keepdims, dtype=dtype)
    return made if initial is None else F.add(made, initial)


def mean(
    a: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False, dtype: DTypeLike | None = None
) -> Tensor:
    """The mean over the dimensions `axis`, or of all elements; these dimensions stay, of size 1, with `keepdims`."""
    x = tensor_of(a)
    return typed(F.reduce_mean(x, () if axis is None else axis, keepdims), x.dtype if dtype is None else dtype)


def average(
    x: ArrayLike, axis: int | Sequence[int] | None = None, weights: ArrayLike | None = None, returned: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The mean over dimensions, or of all elements. Weights have the shape of the tensor, or are of one dimension. With
    `returned` the sum of weights comes second."""
    x = tensor_of(x)
    if weights is None:
        made = mean(x, axis)
        total = F.full(made.shape, x.size // (made.size or 1), dtype=made.dtype)
        return (made, total) if returned else made
    weights = tensor_of(weights)
    if weights.shape != x.shape:
        if weights.ndim != 1 or not isinstance(axis, numbers.Integral):
            raise TypeError(
                f"[average] weights do not fit, got shape {weights.shape} and axis {axis}, expected {x.shape}, or one"
                " dimension and its axis"
            )
        place = axis % x.ndim
        weights = F.reshape(weights, [-1 if i == place else 1 for i in range(x.ndim)])
        weights = F.broadcast_to(weights, x.shape)
    over = () if axis is None else axis
    total = F.reduce_sum(weights, over)
    made = F.div(F.reduce_sum(F.mul(x, weights), over), total)
    return (made, total) if returned else made


def _extreme(function, pick, a, axis, keepdims, initial, where):
    """The largest or smallest element, which `pick` chooses of two, and of `initial`."""
    a, name = tensor_of(a), "max" if function is F.reduce_max else "min"
    if initial is not None and not isinstance(initial, numbers.Number):
        raise TypeError(f"[{name}] initial is not a number, got {type(initial).__name__}, expected one")
    if where is not True:
        if initial is None:
            raise ValueError(f"[{name}] a mask leaves nothing to compare, got where without initial, expected both")
        a = F.select(F.broadcast_to(F.cast(tensor_of(where), bool_), a.shape), a, F.cast(tensor_of(initial), a.dtype))
    made = function(a, () if axis is None else axis, keepdims)
    return made if initial is None else F.cast(pick(made, initial), a.dtype)


def max(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    initial: float | None = None,
    where=True,
) -> Tensor:
    """The largest element over the dimensions `axis`, or of all; these dimensions stay, of size 1, with `keepdims`.
    `initial` counts as one more element of each row. `where`, a mask that is broadcast, leaves elements out: ValueError
    without `initial`."""
    return _extreme(F.reduce_max, F.maximum, a, axis, keepdims, initial, where)


def min(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    initial: float | None = None,
    where=True,
) -> Tensor:
    """The smallest element over the dimensions `axis`, or of all; these dimensions stay, of size 1, with `keepdims`.
    `initial` counts as one more element of each row. `where`, a mask that is broadcast, leaves elements out: ValueError
    without `initial`."""
    return _extreme(F.reduce_min, F.minimum, a, axis, keepdims, initial, where)


amax, amin = max, min


def argmax(a: ArrayLike, axis: int | None = None) -> Tensor:
    """Where the largest element is along a dimension, or of all elements in one row: the first of equal ones."""
    return F.argmax(tensor_of(a), axis)


def argmin(a: ArrayLike, axis: int | None = None) -> Tensor:
    """Where the smallest element is along a dimension, or of all elements in one row: the first of equal ones."""
    return F.argmin(tensor_of(a), axis)


def var(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance over dimensions, or of all elements."""
    return F.var(tensor_of(x), axis, ddof, keepdims)


def std(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation over the dimensions `axis`, or of all elements: the root of the sum of squares over n -
    `ddof`."""
    return F.std(tensor_of(x), axis, ddof, keepdims)


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Sums of the elements up to each one; of all in one row without an axis."""
    x = tensor_of(a)
    x = F.cast(x, int32) if x.dtype in (bool_, uint8) and dtype is None else x
    return F.cumsum(ravel(x) if axis is None else x, 0 if axis is None else axis, dtype)


def count_nonzero(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """The number of elements other than 0."""
    return F.count_nonzero(tensor_of(x), () if axis is None else axis, keepdims)


def norm(
    x: ArrayLike, ord: int | float | str | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Tensor:
    """The norm of vectors, of 16 bits as float32, or of matrices."""
    x = tensor_of(x)
    axes = axis if isinstance(axis, (tuple, list)) else None if axis is None else (axis,)
    is_vector = len(axes) == 1 if axes is not None else ord is None or x.ndim == 1
    return F.norm(F.cast(x, float32) if is_vector and x.dtype == float16 else x, ord, axis, keepdims)


def dot(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Sums of products over the last dimension of the first tensor and the last but one of the second."""
    return F.dot(tensor_of(a), tensor_of(b))


def inner(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Sums of products over the last dimensions."""
    return F.inner(tensor_of(a), tensor_of(b))


def outer(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The products of all pairs of elements."""
    return F.outer(ravel(a), ravel(b))


def diag(v: ArrayLike, k: int = 0) -> Tensor:
    """The k-th diagonal of a matrix, or the matrix with a vector as its k-th diagonal: above the main one for k > 0."""
    x = tensor_of(v)
    if x.ndim == 2:
        return F.diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"[diag] no vector or matrix, got shape {x.shape}, expected one or two dimensions")
    size = x.shape[0] + (k if k > 0 else -k)
    where_it_is = Tensor(np.eye(size, k=k, dtype=np.float32), x.dtype)
    row = F.pad(x, (k, 0) if k > 0 else (0, -k))
    return F.mul(where_it_is, row)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements whose places in two dimensions differ by `offset`."""
    return F.diagonal(tensor_of(a), offset, axis1, axis2)


def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of a diagonal; of integers as int64."""
    return F.sum(diagonal(a, offset, axis1, axis2), -1, dtype=dtype)
