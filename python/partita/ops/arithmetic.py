"""Functions of elements, and of sums of them, that are made of others."""

from __future__ import annotations

import builtins
import math
import numbers
from collections.abc import Sequence

import numpy as np

from partita import _later
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.elementwise import (
    abs,
    add,
    as_float,
    cast,
    div,
    equal,
    exp,
    floor,
    floor_mod,
    larger,
    less,
    less_equal,
    log,
    logical_and,
    logical_or,
    mul,
    neg,
    not_equal,
    pow,
    select,
    sqrt,
    square,
    sub,
)
from partita.ops.picked import require_known
from partita.ops.reductions import mean, reduce_max, reduce_min, reduce_sum, std
from partita.ops.shapes import concat, reshape, split, squeeze, transpose
from partita.ops.support import F, as_tensor, axis_of, run

__all__ = (
    "reciprocal sign round trunc ceil prod cumprod logsumexp norm clip_by_norm clip_by_global_norm"
    " truncated_mod cosine_similarity std_mean var_mean isclose lerp addcmul addcdiv count_nonzero logical_xor"
).split()


def reciprocal(input: Tensor | float) -> Tensor:
    """1 / x of each element, infinite at 0, in the shape of `input`; integers and bools become float32. Raises
    TypeError for what holds no numbers."""
    return div(1.0, as_float(as_tensor(input, "reciprocal")))


def sign(input: Tensor | float) -> Tensor:
    """-1, 0 or 1 of each element, in the shape and the type of `input`; its gradient is 0. NaN stays. Raises TypeError
    for what holds no numbers."""
    x = as_tensor(input, "sign")
    if not mstype.is_float(x.dtype):
        return cast(run(lambda trace, a: F.apply(trace, "sign", [a], [])[0], cast(x, mstype.float64)), x.dtype)
    return run(lambda trace, a: F.apply(trace, "sign", [a], [])[0], x)


def ceil(input: Tensor | float) -> Tensor:
    """The smallest integers that are not below the elements, in the shape and the type of `input`, without a gradient.
    Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "ceil")
    return neg(floor(neg(x))) if mstype.is_float(x.dtype) else x


def trunc(input: Tensor | float) -> Tensor:
    """The integers next to the elements towards 0, in the shape and the type of `input`, without a gradient. Raises
    TypeError for what holds no numbers."""
    x = as_tensor(input, "trunc")
    if not mstype.is_float(x.dtype):
        return x
    low = floor(abs(x))
    return select(less(x, 0.0), neg(low), low)


def round(input: Tensor | float, *, decimals: int = 0) -> Tensor:
    """The nearest integers, of two as near the even one, in the shape and the type of `input`; with `decimals` the
    nearest multiples of a power of ten. Integers stay. Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "round")
    if not mstype.is_float(x.dtype):
        return x
    if decimals:
        factor = 10.0**decimals
        return div(round(mul(x, factor)), factor)
    low = floor(x)
    rest = sub(x, low)
    odd = not_equal(sub(low, mul(floor(mul(low, 0.5)), 2.0)), 0.0)
    up = logical_or(less(0.5, rest), logical_and(equal(rest, 0.5), odd))
    return add(low, cast(up, x.dtype))


def prod(
    input: Tensor | float,
    axis: int | Sequence[int] | None = None,
    keep_dims: bool = False,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The product over dimensions, or of all elements; of integers and bools as int64, or in `dtype`. The result has
    the shape without these dimensions, or with `keep_dims` with size 1 there. Raises ValueError for an axis that the
    tensor has not."""
    x = as_tensor(input, "prod")
    x = cast(x, dtype or (x.dtype if mstype.is_float(x.dtype) else mstype.int64))
    if axis is None or axis == ():
        made = _product_along(reshape(x, [-1]), 0)
        return reshape(made, [1] * x.ndim if keep_dims else [])
    axes = sorted(axis_of("prod", one, x.ndim) for one in ([axis] if isinstance(axis, numbers.Integral) else axis))
    for one in reversed(axes):
        x = _product_along(x, one)
    return x if keep_dims else squeeze(x, tuple(axes))


def _product_along(x, axis):
    """The product along an axis, by halves."""
    while x.shape[axis] > 1:
        size = x.shape[axis]
        parts = split(x, [size // 2, size // 2, *([1] if size % 2 else [])], axis)
        x = mul(parts[0], parts[1])
        x = concat([x, parts[2]], axis) if size % 2 else x
    return x


def cumprod(input: Tensor | float, dim: int, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """Products of the elements up to each one along a dimension, in the shape of `input`; of integers and bools as
    int64, or in `dtype`. Raises ValueError for a dimension that the tensor has not."""
    x = as_tensor(input, "cumprod")
    x = cast(x, dtype or (x.dtype if mstype.is_float(x.dtype) else mstype.int64))
    axis, total, made = axis_of("cumprod", dim, x.ndim), None, []
    for one in split(x, 1, axis):
        total = one if total is None else mul(total, one)
        made.append(total)
    return concat(made, axis)


def logsumexp(input: Tensor | float, dim: int | Sequence[int] | None, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over dimensions, or with none of them named over all, without overflow; of integers as float32.
    The result has the shape without these dimensions, or with `keepdim` with size 1 there. Raises ValueError for a
    dimension that the tensor has not."""
    x = as_float(as_tensor(input, "logsumexp"))
    axes = (dim if isinstance(dim, (tuple, list)) else (dim,)) if x.ndim else ()
    axes = axes or tuple(range(x.ndim))
    largest = reduce_max(x, tuple(axes), True)
    finite = less(abs(largest), math.inf)
    shift = select(finite, largest, full([], 0.0, dtype=x.dtype))
    made = add(log(reduce_sum(exp(sub(x, shift)), tuple(axes), True)), shift)
    return made if keepdim else squeeze(made, tuple(axes))


def norm(
    A: Tensor | float,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The norm of vectors along dimensions, or without `dim` of all elements: the root of the sum of squares, with
    `ord` another power, the largest (inf) or the smallest (-inf) magnitude, the number of elements other than 0 (0). Of
    matrices (`dim` of two dimensions with an `ord`, or all of a matrix) the norms "fro", 1, -1, inf and -inf, and of
    singular values "nuc" (their sum), 2 and -2. Integers become float32. The result has the shape without `dim`, or
    with `keepdim` with size 1 there. Raises ValueError for an unknown `ord`, one without `dim` for more than two
    dimensions, and a dimension that the tensor has not."""
    x = as_float(as_tensor(A, "norm"))
    x = x if dtype is None else cast(x, dtype)
    axes = None if dim is None else tuple([dim] if isinstance(dim, numbers.Integral) else dim)
    if ord is None:
        return _root(reduce_sum(square(x), axes or (), keepdim))
    if axes is None:
        if x.ndim not in (1, 2):
            raise ValueError(f"[norm] no vector or matrix, got shape {x.shape} with ord={ord!r}, expected dim")
        axes = tuple(range(x.ndim))
    if len(axes) == 1:
        return _norm_of_vectors(x, ord, axes, keepdim)
    return _norm_of_matrices(x, ord, [axis_of("norm", one, x.ndim) for one in axes], keepdim)


def _norm_of_vectors(x, ord, axes, keepdim):
    size = abs(x)
    if ord == math.inf:
        return reduce_max(size, axes, keepdim)
    if ord == -math.inf:
        return reduce_min(size, axes, keepdim)
    if ord == 0:
        return reduce_sum(cast(not_equal(x, 0.0), x.dtype), axes, keepdim)
    if ord == 2:
        return _root(reduce_sum(square(x), axes, keepdim))
    if ord == 1:
        return reduce_sum(size, axes, keepdim)
    if not isinstance(ord, numbers.Real):
        raise ValueError(f"[norm] unknown norm of vectors, got ord={ord!r}, expected a number")
    powers = _root(size, float(ord)) if 0 < ord < 1 else pow(size, float(ord))
    return _root(reduce_sum(powers, axes, keepdim), 1.0 / ord)


def _root(total, power=0.5):
    """The root of sums, or another power of them; that of 0 has a gradient of 0."""
    none = equal(total, 0.0)
    safe = select(none, full([], 1.0, dtype=total.dtype), total)
    return select(none, total, sqrt(safe) if power == 0.5 else pow(safe, power))


def _norm_of_matrices(x, ord, axes, keepdim):
    if ord == "fro":
        return _root(reduce_sum(square(x), tuple(axes), keepdim))
    if ord in ("nuc", 2, -2):
        return _norm_of_singular_values(x, ord, axes, keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(
            f"[norm] unknown norm of matrices, got ord={ord!r}, expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    rows, columns = axes if builtins.abs(ord) == 1 else axes[::-1]
    sums = reduce_sum(abs(x), rows, True)
    made = reduce_max(sums, columns, True) if ord > 0 else reduce_min(sums, columns, True)
    return made if keepdim else squeeze(made, tuple(axes))


def _norm_of_singular_values(x, ord, axes, keepdim):
    others = [i for i in range(x.ndim) if i not in axes]
    factors = _later.imported("partita.ops.matrix_factors")  # which few scripts need
    values = factors.singular_values(transpose(x, [*others, *axes]) if others else x)
    made = reduce_sum(values, -1) if ord == "nuc" else (reduce_max if ord > 0 else reduce_min)(values, -1)
    return reshape(made, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdim else made


def clip_by_norm(
    x: Tensor | Sequence[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor | tuple[Tensor, ...]:
    """Tensors of any shapes, or one, scaled down so that the norm of all of them is at most `max_norm`; each keeps its
    shape and type. Raises ValueError for an unknown norm. With `error_if_nonfinite` a norm that is infinite or NaN
    raises RuntimeError, and a network that is compiled once NotImplementedError, since it needs the value."""
    several = isinstance(x, (tuple, list))
    tensors = [as_tensor(one, "clip_by_norm") for one in (x if several else [x])]
    sizes = [norm(reshape(one, [-1]), norm_type) for one in tensors]
    total = sizes[0]
    if len(sizes) > 1:
        total = norm(concat([reshape(one, [1]) for one in sizes], 0), norm_type)
    if error_if_nonfinite:
        require_known("clip_by_norm", total)
        if not np.isfinite(total.asnumpy()):
            raise RuntimeError(f"[clip_by_norm] the norm is not finite, got {total.asnumpy()}, expected a number")
    factor = div(max_norm, add(total, 1e-6))
    factor = select(less(factor, 1.0), factor, full([], 1.0, dtype=factor.dtype))
    made = [mul(one, cast(factor, one.dtype)) for one in tensors]
    return tuple(made) if several else made[0]


def clip_by_global_norm(x: Sequence[Tensor], clip_norm: float = 1.0, use_norm: None = None) -> tuple[Tensor, ...]:
    """Tensors of any shapes times clip_norm over the larger of this and the root of the sum of all squares, in float32;
    each keeps its shape and type, in a tuple. Raises ValueError for no tensors, and for a norm in `use_norm`."""
    if use_norm is not None:
        raise ValueError(f"[clip_by_global_norm] another norm is not supported, got {use_norm!r}, expected None")
    if not hasattr(x, "__len__"):
        raise TypeError(f"[clip_by_global_norm] no tensors, got {type(x).__name__}, expected a tuple or list of them")
    if not len(x):
        raise ValueError("[clip_by_global_norm] no tensors, got none, expected a tuple or list of at least 1")
    total = None
    for one in x:
        part = reduce_sum(square(cast(one, mstype.float32)))
        total = part if total is None else add(total, part)
    size = sqrt(total)
    limit = larger(size, clip_norm)
    return tuple(cast(div(mul(cast(one, mstype.float32), clip_norm), limit), one.dtype) for one in x)


def cosine_similarity(x1: Tensor | float, x2: Tensor | float, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along a dimension: their product over that of their lengths, which is at
    least `eps`. The result has the shape to which both broadcast, without `dim`; of integers it is float32. Raises
    ValueError for shapes that do not broadcast, or a dimension that they have not."""
    a, b = as_float(as_tensor(x1, "cosine_similarity")), as_float(as_tensor(x2, "cosine_similarity"))
    return div(reduce_sum(mul(a, b), dim), larger(mul(norm(a, None, dim), norm(b, None, dim)), eps))


def std_mean(
    input: Tensor | float, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) over dimensions, or of all elements, whose number less `ddof` divides; of integers as
    float32. Both have the shape without these dimensions, or with `keepdims` with size 1 there. Raises ValueError for
    an axis that the tensor has not."""
    return std(input, axis, ddof, keepdims), mean(as_float(as_tensor(input, "std_mean")), axis, keepdims)


def var_mean(
    input: Tensor | float, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """(variance, mean) over dimensions, or of all elements, whose number less `ddof` divides; of integers as float32.
    Both have the shape without these dimensions, or with `keepdims` with size 1 there. Raises ValueError for an axis
    that the tensor has not."""
    deviation, centre = std_mean(input, axis, ddof, keepdims)
    return square(deviation), centre


def isclose(
    input: Tensor | float, other: Tensor | float, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether |input - other| <= atol + rtol |other|, or both are equal: bools in the broadcast shape; with `equal_nan`
    NaN is close to NaN. Raises ValueError for shapes that do not broadcast."""
    a, b = as_tensor(input, "isclose"), as_tensor(other, "isclose")
    same = logical_or(equal(a, b), _within(as_float(a), as_float(b), rtol, atol))
    return logical_or(same, logical_and(not_equal(a, a), not_equal(b, b))) if equal_nan else same


def _within(a, b, rtol, atol):
    bound = add(mul(abs(b), rtol), atol)
    return logical_and(less_equal(abs(sub(a, b)), bound), less(abs(b), math.inf))


def truncated_mod(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input - trunc(input / other) * other of each pair of elements, broadcast: with the sign of `input`. Raises
    ValueError for shapes that do not broadcast, TypeError for two tensors of bools."""
    x, y = as_tensor(input, "mod"), other if isinstance(other, numbers.Number) else as_tensor(other, "mod")
    if mstype.is_float(x.dtype) or isinstance(y, float) or (isinstance(y, Tensor) and mstype.is_float(y.dtype)):
        is_negative = has_sign(x)  # of magnitudes no digits are lost
        rest = floor_mod(select(is_negative, neg(x), x), builtins.abs(y) if isinstance(y, numbers.Number) else abs(y))
        return select(is_negative, neg(rest), rest)
    rest = floor_mod(x, y)
    opposite = logical_and(not_equal(rest, 0), not_equal(less(rest, 0), less(x, 0)))
    return select(opposite, sub(rest, y), rest)


def has_sign(x):
    """Whether elements are negative, -0.0 among them."""
    below = less(x, 0)
    return logical_or(below, logical_and(equal(x, 0.0), less(div(1.0, x), 0.0))) if mstype.is_float(x.dtype) else below


def lerp(input: Tensor | float, end: Tensor | float, weight: Tensor | float) -> Tensor:
    """input + weight (end - input) of each element, broadcast, in the type of `input` and `end` whatever that of the
    weights is. Raises ValueError for shapes that do not broadcast."""
    step = sub(end, input)
    return cast(add(input, mul(step, weight)), step.dtype)


def addcmul(
    input: Tensor | float, tensor1: Tensor | float, tensor2: Tensor | float, value: Tensor | float = 1
) -> Tensor:
    """input + value tensor1 tensor2 of each element, broadcast. Raises ValueError for shapes that do not broadcast."""
    return add(input, mul(mul(tensor1, tensor2), value))


def addcdiv(
    input: Tensor | float, tensor1: Tensor | float, tensor2: Tensor | float, value: Tensor | float = 1
) -> Tensor:
    """input + value tensor1 / tensor2 of each element, broadcast. Raises ValueError for shapes that do not broadcast.
    """
    return add(input, mul(div(tensor1, tensor2), value))


def count_nonzero(
    x: Tensor | float,
    axis: int | Sequence[int] | None = (),
    keep_dims: bool = False,
    dtype: mstype.DType | str | type = mstype.int32,
) -> Tensor:
    """The number of elements other than 0, over dimensions or of all. The result has the shape without these
    dimensions, or with `keep_dims` with size 1 there. Raises ValueError for an axis that the tensor has not."""
    return cast(reduce_sum(cast(not_equal(as_tensor(x), 0), mstype.int32), axis, keep_dims), dtype)


def logical_xor(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Whether one of two elements is other than 0, or True, and the other one not: bools in the broadcast shape. Raises
    ValueError for shapes that do not broadcast."""
    return not_equal(cast(as_tensor(input), mstype.bool_), cast(as_tensor(other), mstype.bool_))
