"""Ops over dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.elementwise import add, as_float, cast, mul, neg, sqrt, square, sub
from partita.ops.shapes import expand_dims, reshape, squeeze, swapaxes, transpose
from partita.ops.support import F, as_tensor, axes_of, axis_of, run


def _reduction(name):
    function = getattr(F, name)

    def call(x: Tensor | float, axis: int | Sequence[int] | None = (), keep_dims: bool = False) -> Tensor:
        x = as_tensor(x, name)
        if name == "reduce_mean":
            x = as_float(x)
        elif x.dtype == mstype.bool_:  # a sum is whether one of them is True
            return cast(call(cast(x, mstype.int32), axis, keep_dims), mstype.bool_)
        axes = axes_of(name, axis, x.ndim or 1)
        return x if x.ndim == 0 else run(lambda trace, a: function(a, axes, bool(keep_dims)), x)

    return call


reduce_sum, _mean_of_floats = _reduction("reduce_sum"), _reduction("reduce_mean")
reduce_max, reduce_min = _reduction("reduce_max"), _reduction("reduce_min")
for _function, _text in (
    (reduce_sum, "The sum over dimensions, or of all elements, in the type of x; of bools whether one is True."),
    (reduce_max, "The largest element over dimensions, or of all; equal ones share the gradient."),
    (reduce_min, "The smallest element over dimensions, or of all; equal ones share the gradient."),
):
    _function.__doc__ = f"""{_text} The result has the shape without these dimensions, or with `keep_dims` with size 1
    there. Raises ValueError for an axis that the tensor has not, IndexError for one that stands twice."""


def reduce_mean(x: Tensor | float, axis: int | Sequence[int] | None = (), keep_dims: bool = False) -> Tensor:
    """The mean over dimensions, or of all elements; of integers an integer, rounded towards 0, and of bools float32.
    The result has the shape without these dimensions, or with `keep_dims` with size 1 there. Raises ValueError for an
    axis that the tensor has not."""
    x = as_tensor(x, "reduce_mean")
    if mstype.is_float(x.dtype) or x.dtype == mstype.bool_:
        return _mean_of_floats(x, axis, keep_dims)
    return cast(_mean_of_floats(cast(x, mstype.float64), axis, keep_dims), x.dtype)


def sum(
    input: Tensor | float,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The sum over dimensions, or of all elements; of integers and bools as int64, or in `dtype`. The result has the
    shape without these dimensions, or with `keepdim` with size 1 there. Raises ValueError for a dimension that the
    tensor has not, IndexError for one that stands twice, TypeError for one that is no integer."""
    x = as_tensor(input, "sum")
    if dtype is not None:
        x = cast(x, dtype)
    elif not mstype.is_float(x.dtype):
        x = cast(x, mstype.int64)
    return reduce_sum(x, dim, keepdim)


def total(input, axis=None, dtype=None, keepdims=False, initial=None, *, dim=None, keepdim=None):
    """The sum: the method of tensors, whose second place is `dtype` after `axis`, and `keepdim` after `dim`."""
    if isinstance(dtype, bool):
        dtype, keepdims = None, dtype
    x = sum(input, axis if dim is None else dim, keepdims if keepdim is None else keepdim, dtype=dtype)
    return x if initial is None else add(x, initial)


def mean(x: Tensor | float, axis: int | Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
    """The mean over dimensions, or of all elements; of integers an integer, rounded towards 0, and of bools float32.
    The result has the shape without these dimensions, or with `keep_dims` with size 1 there. Raises ValueError for an
    axis that the tensor has not, IndexError for one that stands twice, TypeError for one that is no integer."""
    return reduce_mean(x, axis, keep_dims)


def average(input, axis=None, keep_dims=False, *, dtype=None, dim=None, keepdim=None):
    """The mean: the method of tensors."""
    x = input if dtype is None else cast(input, dtype)
    return mean(x, axis if dim is None else dim, keep_dims if keepdim is None else keepdim)


def max(
    input: Tensor | float, axis: int | None = None, keepdims: bool = False, *, initial: None = None, where: None = None
) -> tuple[Tensor, Tensor]:
    """(largest, where it is first) along an axis, or of all elements, where "where" is 0. Both have the shape without
    the axis, or with `keepdims` with size 1 there; places are int64. Raises ValueError for an axis that the tensor has
    not, or has no elements along, TypeError for several axes, NotImplementedError for `initial` and `where`."""
    return _with_indices("max", reduce_max, lambda x: x, input, axis, keepdims, initial, where)


def min(
    input: Tensor | float, axis: int | None = None, keepdims: bool = False, *, initial: None = None, where: None = None
) -> tuple[Tensor, Tensor]:
    """(smallest, where it is first) along an axis, or of all elements, where "where" is 0. Both have the shape without
    the axis, or with `keepdims` with size 1 there; places are int64. Raises ValueError for an axis that the tensor has
    not, or has no elements along, TypeError for several axes, NotImplementedError for `initial` and `where`."""
    return _with_indices("min", reduce_min, _falling, input, axis, keepdims, initial, where)


def _falling(x):
    """Numbers in the opposite order: -x of floats, -1 - x of integers, which does not overflow."""
    if mstype.is_float(x.dtype):
        return neg(x)
    return sub(-1, x if x.dtype in mstype.int_type else cast(x, mstype.int64))


def _with_indices(name, reduction, key, input, axis, keepdims, initial, where):
    x = as_tensor(input, name)
    if initial is not None or where not in (None, True):
        raise NotImplementedError(f"[{name}] initial and where are not supported, got one of them, expected neither")
    if axis is None or x.ndim == 0:
        return reduction(x), full([], 0, dtype=mstype.int64)
    at = argmax(key(x), axis, True)
    # The element at the index, so that it has the whole gradient.
    value = _taken(x, at, axis_of(name, axis, x.ndim)) if mstype.is_float(x.dtype) else reduction(x, axis, True)
    return (value, at) if keepdims else (squeeze(value, axis), squeeze(at, axis))


def _taken(x, at, axis):
    last = x.ndim - 1
    if axis != last:
        x, at = swapaxes(x, axis, last), swapaxes(at, axis, last)
    taken = run(lambda trace, a, i: F.take_along(a, i), x, at)
    return taken if axis == last else swapaxes(taken, axis, last)


def largest(input, axis=None, keepdims=False, *, dim=None, keepdim=None, **options):
    """The method of tensors: of all elements, or along `axis`, the largest; (largest, where) along `dim`, a dimension
    that stands first, or with `return_indices`."""
    return _method_of("max", max, reduce_max, input, axis, keepdims, dim, keepdim, **options)


def smallest(input, axis=None, keepdims=False, *, dim=None, keepdim=None, **options):
    """The method of tensors: of all elements, or along `axis`, the smallest; (smallest, where) along `dim`, a
    dimension that stands first, or with `return_indices`."""
    return _method_of("min", min, reduce_min, input, axis, keepdims, dim, keepdim, **options)


def _method_of(
    name, with_indices, alone, input, axis, keepdims, dim, keepdim, initial=None, where=True, return_indices=False
):
    if initial is not None or where is not True:
        raise NotImplementedError(
            f"[Tensor.{name}] initial and where are not supported, got one of them, expected neither"
        )
    if dim is not None:
        return with_indices(input, dim, bool(keepdim))
    keeps = keepdims if keepdim is None else keepdim
    if return_indices:
        return with_indices(input, axis, keeps)
    if axis is None:
        return alone(input)
    several = isinstance(axis, (tuple, list))
    return alone(input, axis, keeps) if several else with_indices(input, axis, keeps)[0]


def amax(
    input: Tensor | float,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    initial: None = None,
    where: None = None,
) -> Tensor:
    """The largest elements over dimensions, or of all; those that are equal share the gradient. The result has the
    shape without these dimensions, or with `keepdims` with size 1 there. Raises ValueError for an axis that the tensor
    has not, or has no elements along, NotImplementedError for `initial` and `where`."""
    return _alone("amax", reduce_max, input, axis, keepdims, initial, where)


def amin(
    input: Tensor | float,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    initial: None = None,
    where: None = None,
) -> Tensor:
    """The smallest elements over dimensions, or of all; those that are equal share the gradient. The result has the
    shape without these dimensions, or with `keepdims` with size 1 there. Raises ValueError for an axis that the tensor
    has not, or has no elements along, NotImplementedError for `initial` and `where`."""
    return _alone("amin", reduce_min, input, axis, keepdims, initial, where)


def _alone(name, reduction, input, axis, keepdims, initial, where):
    if initial is not None or where not in (None, True):
        raise NotImplementedError(f"[{name}] initial and where are not supported, got one of them, expected neither")
    return reduction(input, axis, keepdims)


def var(
    input: Tensor | float, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False
) -> Tensor:
    """The mean of squared distances from the mean over dimensions, or of all elements, divided by their number less
    `ddof`, infinite or NaN where that is not above 0; of integers as float32. The result has the shape without these
    dimensions, or with `keepdims` with size 1 there. Raises ValueError for an axis that the tensor has not."""
    x = as_float(as_tensor(input, "var"))
    centred = sub(x, reduce_mean(x, axis, True))
    count = 1
    for one in axes_of("var", axis, x.ndim) or range(x.ndim):
        count *= x.shape[one]
    divisor = count - ddof
    return mul(reduce_sum(square(centred), axis, keepdims), 1.0 / divisor if divisor > 0 else math.inf)


def std(
    input: Tensor | float, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False
) -> Tensor:
    """The root of `var`, with its shapes, element types and errors: it raises ValueError for an axis that the tensor
    has not."""
    return sqrt(var(input, axis, ddof, keepdims))


def all(input: Tensor | float, axis: int | Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
    """Whether all elements, or those over dimensions, are other than 0, or True: bools in the shape without these
    dimensions, or with `keep_dims` with size 1 there. Raises ValueError for an axis that the tensor has not."""
    return _of_truths(reduce_min, as_tensor(input, "all"), axis, keep_dims)


def any(input: Tensor | float, axis: int | Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
    """Whether one element, of all or over dimensions, is other than 0, or True: bools in the shape without these
    dimensions, or with `keep_dims` with size 1 there; of bytes as a byte. Raises ValueError for an axis that the tensor
    has not."""
    x = as_tensor(input, "any")
    found = _of_truths(reduce_max, x, axis, keep_dims)
    return cast(found, mstype.uint8) if x.dtype == mstype.uint8 else found


def _of_truths(reduction, x, axis, keep_dims):
    return cast(reduction(cast(cast(x, mstype.bool_), mstype.int32), axis, keep_dims), mstype.bool_)


def over_last(x, axis, function):
    """A function over the last dimension, over another one."""
    axis = axis_of("axis", axis, x.ndim)
    if axis == x.ndim - 1:
        return function(x)
    return swapaxes(function(swapaxes(x, axis, -1)), axis, -1)


def argmax(input: Tensor | float, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the largest element is along a dimension, or in one row of all, as int64; the first of equal ones. The
    result has the shape without `dim`, or with `keepdim` with size 1 there. Raises ValueError for a dimension that the
    tensor has not."""
    x = as_tensor(input, "argmax")
    if x.ndim == 0:
        return full([], 0, dtype=mstype.int64)
    if dim is None:
        return argmax(reshape(x, [-1]), 0)
    axis = axis_of("argmax", dim, x.ndim)
    last = x if axis == x.ndim - 1 else transpose(x, [i for i in range(x.ndim) if i != axis] + [axis])
    found = run(lambda trace, a: F.apply(trace, "argmax", [a], [])[0], last)
    return expand_dims(found, axis) if keepdim else found


def softmax(input: Tensor | float, axis: int = -1, *, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """exp(x) over its sum along an axis, in the shape of `input`; integers and bools become float32, and all what
    `dtype` says. Raises ValueError for an axis that the tensor has not, TypeError for one that is no integer.

    >>> ops.softmax(ms.Tensor([0.0, 1.0])).asnumpy().round(4)
    array([0.2689, 0.7311], dtype=float32)
    """
    x = as_float(as_tensor(input, "softmax"))
    x = x if dtype is None else cast(x, dtype)
    return over_last(x, axis, lambda y: run(lambda trace, a: F.softmax(a), y))


def log_softmax(logits: Tensor | float, axis: int = -1) -> Tensor:
    """log(softmax(x)) along an axis, without underflow, in the shape of `logits`; integers and bools become float32.
    Raises ValueError for an axis that the tensor has not, TypeError for one that is no integer."""
    x = as_float(as_tensor(logits, "log_softmax"))
    return over_last(x, axis, lambda y: run(lambda trace, a: F.log_softmax(a), y))


def cumsum(
    x: Tensor | float,
    axis: int,
    dtype: mstype.DType | str | type | None = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """Sums of the elements up to each one along an axis, with `exclusive` without it, with `reverse` from the end, in
    the shape of `x` and its element type, or in `dtype`. Raises IndexError for an axis that the tensor has not,
    TypeError for bools.

    >>> ops.cumsum(ms.Tensor([[1, 2], [3, 4]]), 0).asnumpy().tolist()
    [[1, 2], [4, 6]]
    """
    x = as_tensor(x, "cumsum")
    x = x if dtype is None else cast(x, dtype)
    return run(lambda trace, a: F.cumsum(a, int(axis), exclusive, reverse), x)


def topk(
    input: Tensor | float, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """(values, indices) of the k largest elements along a dimension, the last one without `dim`, falling; with
    `largest=False` of the smallest, rising. Both have the shape of `input` with size `k` there; indices are int32.
    Raises ValueError for a `k` below 1 or above the size, or a dimension that the tensor has not."""
    x = as_tensor(input, "topk")
    axis = axis_of("topk", -1 if dim is None else dim, x.ndim)
    if axis != x.ndim - 1:
        values, indices = topk(swapaxes(x, axis, -1), k, None, largest)
        return swapaxes(values, axis, -1), swapaxes(indices, axis, -1)
    if not largest:
        values, indices = topk(_falling(x), k)
        return cast(_falling(values), x.dtype), indices
    return run(lambda trace, a: F.top_k(a, int(k)), x)


def top_k(input_x: Tensor | float, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(values, indices) of the k largest elements over the last dimension, falling. Both have the shape of `input_x`
    with size `k` there; indices are int32. Raises ValueError for a `k` below 1 or above the size."""
    return topk(input_x, k)
