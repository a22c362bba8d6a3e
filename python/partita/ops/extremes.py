"""Largest and smallest elements so far, and those in the middle of an order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.arranged import argsort, sort
from partita.ops.creation import full, zeros_like
from partita.ops.derived import isnan, stop_gradient
from partita.ops.elementwise import (
    add,
    cast,
    div,
    greater,
    less,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    mul,
    select,
    sub,
)
from partita.ops.exponents import log_of_sum
from partita.ops.picked import gather_elements
from partita.ops.reductions import amax, amin, argmax, reduce_sum
from partita.ops.reductions import any as any_of
from partita.ops.shapes import broadcast_to, concat, expand_dims, reshape, sliced, squeeze, swapaxes
from partita.ops.support import as_tensor, axis_of, is_number

__all__ = "aminmax cummax cummin logcumsumexp median msort nanmean nanmedian nanquantile nansum quantile".split()


def _doubled(join, parts, axis):
    """The tensors of which each element along an axis was joined with all before it: `join(before, here)` of lists of
    tensors. Each joins what stands 1, 2, 4, .. places before it."""
    size, step = parts[0].shape[axis], 1

    def between(x, begin, end):
        return sliced(x, [(begin, end) if i == axis else (0, n) for i, n in enumerate(x.shape)])

    while step < size:
        before, here = [between(x, 0, size - step) for x in parts], [between(x, step, size) for x in parts]
        joined = join(before, here)
        parts = [concat([between(x, 0, step), one], axis) for x, one in zip(parts, joined)]
        step *= 2
    return parts


def _so_far(where, beyond, input, axis, kind):
    x = as_tensor(input, where)
    if x.ndim == 0:
        return x, full([], 0, dtype=kind)
    axis = axis_of(where, axis, x.ndim)
    numbers = Tensor(np.arange(x.shape[axis]).reshape([n if i == axis else 1 for i, n in enumerate(x.shape)]))

    def join(before, here):
        (a, i), (b, k) = before, here
        stays = beyond(a, b)  # of equal ones the later
        if mstype.is_float(x.dtype):
            stays = logical_and(logical_or(stays, isnan(a)), logical_not(isnan(b)))
        return select(stays, a, b), select(stays, i, k)

    _, places = _doubled(join, [stop_gradient(x), broadcast_to(numbers, x.shape)], axis)
    return gather_elements(x, axis, places), cast(places, kind)


def cummax(input: Tensor | float, axis: int) -> tuple[Tensor, Tensor]:
    """(largest elements up to each one along an axis, where they are as int64, the last of equal ones), both in the
    shape of `input`. Raises ValueError for an axis that the tensor has not."""
    return _so_far("cummax", greater, input, axis, mstype.int64)


def cummin(input: Tensor | float, axis: int) -> tuple[Tensor, Tensor]:
    """(smallest elements up to each one along an axis, where they are as int32, the last of equal ones), both in the
    shape of `input`. Raises ValueError for an axis that the tensor has not."""
    return _so_far("cummin", less, input, axis, mstype.int32)


def logcumsumexp(input: Tensor | float, axis: int) -> Tensor:
    """log(sum(exp(x))) of the elements up to each one along an axis, without overflow. Raises ValueError for an axis
    that the tensor has not."""
    x = as_tensor(input, "logcumsumexp")
    axis = axis_of("logcumsumexp", int(axis), x.ndim)

    def join(before, here):
        return [log_of_sum(before[0], here[0])]

    wide = cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x
    return cast(_doubled(join, [wide], axis)[0], x.dtype)


def at_rank(where, x, axis, rank, keepdims):
    """(elements that have a rank, from 0, in the rising order along an axis, where they are as int64)."""
    axis = axis_of(where, axis, x.ndim)
    return _picked(x, axis, _ranked(x, axis, rank), keepdims)


def _ranked(x, axis, rank):
    """Where the elements that have a rank along an axis are."""
    order = argsort(x, axis)
    return cast(sliced(order, [(rank, rank + 1) if i == axis else (0, n) for i, n in enumerate(x.shape)]), mstype.int64)


def _picked(x, axis, places, keepdims):
    found = gather_elements(x, axis, places)
    return (found, places) if keepdims else (squeeze(found, axis), squeeze(places, axis))


def median(input: Tensor | float, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the element in the middle of the order along an axis, the lower of two, where it is as int64): NaN where there
    is one. Both have the shape without the axis, or with `keepdims` with size 1 there. Raises ValueError for an axis
    that the tensor has not."""
    x = as_tensor(input, "median")
    if x.ndim == 0:
        return x, full([], 0, dtype=mstype.int64)
    axis = axis_of("median", axis, x.ndim)
    rank = (x.shape[axis] - 1) // 2
    if not mstype.is_float(x.dtype):
        return at_rank("median", x, axis, rank, keepdims)
    nan = cast(isnan(x), mstype.int32)
    places = _ranked(_without_nan(x), axis, rank)
    first = cast(argmax(nan, axis, True), mstype.int64)
    return _picked(x, axis, select(any_of(nan, axis, True), first, places), keepdims)


def _without_nan(x, value=math.inf):
    return select(isnan(x), full([], value, dtype=x.dtype), x) if mstype.is_float(x.dtype) else x


def _count(x, axis, keepdims):
    """How many elements along axes are no NaN, as int64."""
    return reduce_sum(cast(logical_not(isnan(x)), mstype.int64), axis, keepdims)


def nanmedian(input: Tensor | float, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the element in the middle of the order along an axis, the lower of two, where it is as int64), without NaN; NaN
    where there is nothing else. Raises ValueError for an axis that the tensor has not."""
    x = as_tensor(input, "nanmedian")
    if x.ndim == 0 or not mstype.is_float(x.dtype):
        return median(x, axis, keepdims)
    axis = axis_of("nanmedian", axis, x.ndim)
    counts, clean = _count(x, axis, True), _without_nan(x)
    ranks = select(greater(counts, 0), cast((counts - 1) // 2, mstype.int64), zeros_like(counts))
    places = cast(gather_elements(argsort(clean, axis), axis, ranks), mstype.int64)
    found, places = _picked(clean, axis, places, keepdims)
    counts = counts if keepdims else squeeze(counts, axis)
    return select(greater(counts, 0), found, full([], math.nan, dtype=x.dtype)), places


def _quantile(where, input, q, axis, keepdims, ignores):
    x = as_tensor(input, where)
    if x.dtype not in (mstype.float32, mstype.float64):
        raise TypeError(f"[{where}] bad element type, got {x.dtype}, expected float32 or float64")
    q = Tensor(float(q), x.dtype) if is_number(q) else cast(as_tensor(q, where), x.dtype)
    if q.ndim > 1 or (q._symbol is None and not ((q.asnumpy() >= 0) & (q.asnumpy() <= 1)).all()):
        raise ValueError(f"[{where}] bad q, got {q.asnumpy().tolist()}, expected a number or a row from 0 to 1")
    shape = [1] * x.ndim if axis is None else [1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
    x, axis = (reshape(x, [-1]), 0) if axis is None else (x, axis_of(where, axis, x.ndim))
    last = swapaxes(x, axis, -1) if axis != x.ndim - 1 else x
    rows = sort(_without_nan(last), -1)[0]
    size = full([*last.shape[:-1], 1], last.shape[-1], dtype=x.dtype)
    counts = cast(_count(last, -1, True), x.dtype) if ignores else size
    ranks = mul(reshape(q, [-1]), maximum(sub(counts, 1.0), 0.0))  # [.., number of q]
    low = cast(ranks, mstype.int64)
    high = select(greater(ranks, cast(low, x.dtype)), add(low, 1), low)
    below, above = gather_elements(rows, -1, low), gather_elements(rows, -1, high)
    share = sub(ranks, cast(low, x.dtype))
    found = select(greater(share, 0.0), add(below, mul(sub(above, below), share)), below)
    lost = less(counts, 1.0) if ignores else any_of(isnan(last), -1, True)
    found = select(broadcast_to(lost, found.shape), full([], math.nan, dtype=x.dtype), found)
    found = swapaxes(found, axis, -1) if axis != x.ndim - 1 else found  # the quantiles along the axis
    parts = [reshape(squeeze(one, axis), shape) if keepdims else squeeze(one, axis) for one in _slices(found, axis)]
    return concat([expand_dims(one, 0) for one in parts], 0) if q.ndim else parts[0]


def _slices(x, axis):
    return [
        sliced(x, [(k, k + 1) if i == axis else (0, n) for i, n in enumerate(x.shape)]) for k in range(x.shape[axis])
    ]


def quantile(input: Tensor | float, q: Tensor | float, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The q-quantiles along an axis, or of all elements, between two elements on the line between them; for a row of q
    as a first dimension. NaN where there is one. Raises ValueError for a q outside of 0 to 1, or an axis that the
    tensor has not, TypeError for other than float32 and float64."""
    return _quantile("quantile", input, q, axis, keepdims, ignores=False)


def nanquantile(input: Tensor | float, q: Tensor | float, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The q-quantiles along an axis, or of all elements, without NaN: see quantile."""
    return _quantile("nanquantile", input, q, axis, keepdims, ignores=True)


def nansum(
    input: Tensor | float,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The sum over dimensions, or of all elements, without NaN. The result has the shape without these dimensions, or
    with `keepdims` with size 1 there. Raises ValueError for an axis that the tensor has not."""
    x = _without_nan(as_tensor(input, "nansum"), 0.0)
    x = x if dtype is None else cast(x, dtype)
    return reduce_sum(x, () if axis is None else axis, keepdims)


def nanmean(
    input: Tensor | float,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The mean over dimensions, or of all elements, without NaN; NaN where there is nothing else. The result has the
    shape without these dimensions, or with `keepdims` with size 1 there. Raises ValueError for an axis that the tensor
    has not."""
    x = as_tensor(input, "nanmean")
    if not mstype.is_float(x.dtype):
        raise TypeError(f"[nanmean] bad element type, got {x.dtype}, expected floating-point numbers")
    made = div(nansum(x, axis, keepdims), cast(_count(x, () if axis is None else axis, keepdims), x.dtype))
    return made if dtype is None else cast(made, dtype)


def aminmax(input: Tensor | float, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(smallest, largest) elements along an axis, or of all for None."""
    return amin(input, axis, keepdims), amax(input, axis, keepdims)


def msort(input: Tensor | float) -> Tensor:
    """The elements in rising order along the first dimension. Raises ValueError for a tensor without dimensions."""
    return sort(input, 0)[0]
