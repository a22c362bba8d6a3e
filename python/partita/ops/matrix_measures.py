"""Norms of matrices and vectors, distances, and products of batches."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.arithmetic import norm
from partita.ops.contractions import einsum
from partita.ops.derived import outer
from partita.ops.elementwise import add, as_float, cast, div, greater, mul, select, sub
from partita.ops.creation import ones_like, zeros
from partita.ops.hosted import hosted, matrices
from partita.ops.layers import matmul
from partita.ops.linear_solutions import inverse
from partita.ops.reductions import reduce_sum
from partita.ops.shapes import concat, expand_dims, gather, reshape, sliced, transpose
from partita.ops.support import as_tensor, axis_of

__all__ = (
    "batch_dot block_diag cdist cond cov dist einsum_ext ger histc kron matrix_norm pdist renorm trapz vecdot "
    "vector_norm"
).split()

_OF_MATRICES = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def matrix_norm(
    A: Tensor | float,
    ord: float | str | None = "fro",
    axis: tuple[int, int] = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The norms of matrices, whose rows and columns are two dimensions: the root of the sum of squares ("fro"), the sum
    of the singular values ("nuc"), the largest or the smallest of these (2, -2), of the sums of magnitudes of columns
    (1, -1) or of rows (inf, -inf). Raises ValueError for another norm, or dimensions that the tensor has not."""
    if ord not in _OF_MATRICES:
        raise ValueError(f"[matrix_norm] unknown norm, got {ord!r}, expected one of {_OF_MATRICES}")
    return norm(A, ord, tuple(axis), keepdims, dtype=dtype)


def vector_norm(
    x: Tensor | float,
    ord: float = 2,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The norm of all elements, or of those along dimensions: see `norm`."""
    x = as_float(as_tensor(x, "vector_norm"))
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, numbers.Integral) else axis
    axes = [axis_of("vector_norm", one, x.ndim) for one in axes]
    others = [i for i in range(x.ndim) if i not in axes]
    flat = reshape(transpose(x, [*others, *axes]) if others else x, [x.shape[i] for i in others] + [-1])
    made = norm(flat, ord, -1, dtype=dtype)
    return reshape(made, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else made


def cond(A: Tensor | float, p: float | str | None = None) -> Tensor:
    """The condition numbers of matrices x[.., n, n]: the norm times the norm of the inverse. None is the norm 2, for
    which x may be no square. Raises ValueError for less than two dimensions."""
    x = matrices("cond", A, square=[] if p in (None, 2, -2) else [0])
    if p in (None, 2, -2):
        ends = norm(x, 2, (-2, -1)), norm(x, -2, (-2, -1))
        return div(*(ends[::-1] if p == -2 else ends))
    return mul(matrix_norm(x, p), matrix_norm(inverse(x), p))


def _distances(where, difference, p):
    if p < 0:
        raise ValueError(f"[{where}] bad degree, got p={p}, expected a number from 0")
    return norm(difference, p if p in (0, 1, 2, math.inf) else float(p), -1)


def cdist(x1: Tensor | float, x2: Tensor | float, p: float = 2.0) -> Tensor:
    """The distances of all rows of x1[.., n, k] and x2[.., m, k]: norms of degree p of their differences, of shape [..,
    n, m]. Raises ValueError for rows of different lengths, or a p below 0."""
    a, b = matrices("cdist", x1, x2)
    if a.ndim != b.ndim or a.shape[-1] != b.shape[-1]:
        raise ValueError(f"[cdist] the shapes do not fit, got {a.shape} and {b.shape}, expected rows of one length")
    return _distances("cdist", sub(expand_dims(a, -2), expand_dims(b, -3)), p)


def pdist(input: Tensor | float, p: float = 2.0) -> Tensor:
    """The distances of each row of x[.., n, k] from those after it: norms of degree p of their differences, in one row
    of n (n - 1) / 2. Raises ValueError for less than two dimensions."""
    x = matrices("pdist", input)
    first, second = (Tensor(one.astype(np.int32)) for one in np.triu_indices(x.shape[-2], 1))
    axis = x.ndim - 2
    return _distances("pdist", sub(gather(x, first, axis), gather(x, second, axis)), p)


def dist(input: Tensor | float, other: Tensor | float, p: float = 2) -> Tensor:
    """The norm of degree p of all elements of the difference of two tensors, which broadcast, without dimensions.
    Raises ValueError for shapes that do not broadcast."""
    return _distances("dist", reshape(as_float(sub(input, other)), [-1]), p)


def _weights(x, given, where):
    weights = as_tensor(given, "cov")
    if weights.shape != (x.shape[-1],):
        raise ValueError(f"[cov] {where} do not fit, got shape {weights.shape}, expected {(x.shape[-1],)}")
    return cast(weights, x.dtype)


def cov(
    input: Tensor | float, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables, the rows of x[n, k], with observations as columns, as [n, n]; of one, as of x[k], a
    number. Each observation counts `fweights` times and with a share `aweights`. Sums are divided by the number of
    observations less `correction`. Raises ValueError for more than two dimensions."""
    x = as_float(as_tensor(input, "cov"))
    if x.ndim > 2:
        raise ValueError(f"[cov] too many dimensions, got {x.shape}, expected at most two")
    rows = reshape(x, [1, -1]) if x.ndim < 2 else x
    counts = None if fweights is None else _weights(rows, fweights, "fweights")
    shares = None if aweights is None else _weights(rows, aweights, "aweights")
    weights = shares if counts is None else counts if shares is None else mul(counts, shares)
    if weights is None:
        total, left = float(rows.shape[1]), max(rows.shape[1] - correction, 0.0)
        centred = sub(rows, div(reduce_sum(rows, 1, True), total))
        weighted = centred
    else:
        total = reduce_sum(weights)
        lost = correction if shares is None else mul(div(reduce_sum(mul(weights, shares)), total), float(correction))
        left = sub(total, lost)
        centred = sub(rows, div(reduce_sum(mul(rows, weights), 1, True), total))
        weighted = mul(centred, weights)
    made = div(matmul(weighted, centred, transpose_b=True), left)
    return reshape(made, []) if made.size == 1 else made


def batch_dot(x1: Tensor | float, x2: Tensor | float, axes: int | Sequence[int] | None = None) -> Tensor:
    """Sums of products over a dimension of each of two batches: over the last one of x1 and, unless `axes` says
    otherwise, the last but one of x2, or its last one if it has two dimensions. The result has the batch, the other
    dimensions of x1, and those of x2; of matrices it has two dimensions."""
    a, b = as_tensor(x1, "batch_dot"), as_tensor(x2, "batch_dot")
    if a.ndim < 2 or b.ndim < 2 or a.shape[0] != b.shape[0]:
        raise ValueError(f"[batch_dot] the shapes do not fit, got {a.shape} and {b.shape}, expected equal batches")
    if axes is None:
        axes = a.ndim - 1, b.ndim - (1 if b.ndim == 2 else 2)
    axes = (axes, axes) if isinstance(axes, numbers.Integral) else axes
    left, right = (axis_of("batch_dot", axis, one.ndim) for axis, one in zip(axes, (a, b)))
    if 0 in (left, right):
        raise ValueError(f"[batch_dot] the first dimension is the batch, got axes={axes}, expected others")
    own = "z" + "abcdefghijk"[: a.ndim - 1]
    others = "z" + "lmnopqrstuv"[: b.ndim - 1]
    kept = own.replace(own[left], "") + others.replace(others[right], "")[1:]
    others = others.replace(others[right], own[left])
    made = einsum(f"{own},{others}->{kept}", a, b)
    return expand_dims(made, 1) if made.ndim == 1 else made


def vecdot(x: Tensor | float, y: Tensor | float, *, axis: int = -1) -> Tensor:
    """The sums of products along a dimension, broadcast."""
    return reduce_sum(mul(x, y), axis)


def einsum_ext(equation: str, *operands: Tensor) -> Tensor:
    """Sums of products of tensors, whose dimensions an equation names: `einsum`."""
    return einsum(equation, *operands)


def ger(input: Tensor | float, vec2: Tensor | float) -> Tensor:
    """The products of all pairs of elements of two vectors: `outer`, of [m] and [n] as [m, n]. Raises ValueError for
    other than one dimension."""
    return outer(input, vec2)


def kron(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The Kronecker product: blocks that are the second tensor times each element of the first one. The tensor of fewer
    dimensions has ones in front. Raises TypeError for what holds no numbers."""
    a, b = as_tensor(input, "kron"), as_tensor(other, "kron")
    rank = max(a.ndim, b.ndim)
    sizes, others = ([1] * (rank - one.ndim) + list(one.shape) for one in (a, b))
    wide = reshape(a, [n for size in sizes for n in (size, 1)])
    made = mul(wide, reshape(b, [n for size in others for n in (1, size)]))
    return reshape(made, [n * m for n, m in zip(sizes, others)])


def block_diag(*inputs: Tensor) -> Tensor:
    """The matrix that has matrices along its diagonal, else 0. Vectors are rows, and numbers have one element. Raises
    ValueError for none of them, or more than two dimensions."""
    if not inputs:
        raise ValueError("[block_diag] no matrices, got none, expected one or more")
    blocks = [reshape(one, [1, -1]) if one.ndim < 2 else one for one in map(as_tensor, inputs)]
    if any(one.ndim > 2 for one in blocks):
        raise ValueError(f"[block_diag] no matrices, got {[one.shape for one in blocks]}, expected two dimensions")
    before, rows = 0, []
    columns = sum(one.shape[1] for one in blocks)
    for one in blocks:
        height, width = one.shape
        parts = [zeros((height, n), one.dtype) for n in (before, columns - before - width)]
        whole = [part for part in (parts[0], one, parts[1]) if part.shape[1]]
        rows.append(concat(whole, 1) if len(whole) > 1 else whole[0])
        before += width
    return concat(rows, 0) if len(rows) > 1 else rows[0]


def renorm(input: Tensor | float, p: float, axis: int, maxnorm: float) -> Tensor:
    """The slices along a dimension, those whose norm of degree p is above `maxnorm` scaled down to it, in the shape of
    `input`. Raises ValueError for an axis that the tensor has not."""
    x = as_tensor(input, "renorm")
    axis = axis_of("renorm", axis, x.ndim)
    if isinstance(p, bool) or not isinstance(p, numbers.Integral):
        raise TypeError(f"[renorm] the degree is not an integer, got {p!r}, expected one from 1")
    wide = cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x
    sizes = vector_norm(wide, p, tuple(i for i in range(x.ndim) if i != axis), True)
    factor = select(greater(sizes, float(maxnorm)), div(float(maxnorm), add(sizes, 1e-7)), ones_like(sizes))
    return cast(mul(wide, factor), x.dtype)


def _counts(x, bins, low, high):
    if low == high == 0 and x.size:
        low, high = x.min(), x.max()
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(x, bins, (low, high))[0]


_histc = hosted("histc", _counts, lambda x, bins, low, high: [bins], None, [1], [1])


def histc(input: Tensor | float, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many elements, of any shape, are in each of `bins` parts of equal width from `min` to `max`, or between the
    smallest and the largest element where both are 0: [bins], of the type of the elements, of 16 bits float32. Others
    are not counted. Raises ValueError for less than one part."""
    x = as_tensor(input, "histc")
    if x.dtype not in (mstype.float16, mstype.float32, mstype.int32):
        raise TypeError(f"[histc] bad element type, got {x.dtype}, expected float16, float32 or int32")
    if isinstance(bins, bool) or not isinstance(bins, numbers.Integral) or bins < 1 or min > max:
        raise ValueError(f"[histc] bad parts, got {bins} from {min} to {max}, expected one or more, from low to high")
    x = cast(x, mstype.float32) if x.dtype == mstype.float16 else x
    return _histc(reshape(x, [-1]), int(bins), float(min), float(max))


def _neighbours(x, axis):
    """The elements along a dimension but for the last one, and but for the first one."""
    return (
        sliced(x, [(begin, n - 1 + begin) if i == axis else (0, n) for i, n in enumerate(x.shape)]) for begin in (0, 1)
    )


def trapz(y: Tensor | float, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, over places x, or in steps of dx. Raises ValueError for a
    dimension that the tensor has not."""
    y = as_float(as_tensor(y, "trapz"))
    axis = axis_of("trapz", dim, y.ndim)
    steps = dx
    if x is not None:
        x = cast(as_tensor(x, "trapz"), y.dtype)
        if x.ndim == 1:
            x = reshape(x, [-1 if i == axis else 1 for i in range(y.ndim)])
        first, second = _neighbours(x, axis_of("trapz", dim, x.ndim))
        steps = sub(second, first)
    first, second = _neighbours(y, axis)
    return reduce_sum(mul(mul(add(first, second), steps), 0.5), axis)
