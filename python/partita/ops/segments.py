"""Rows that are combined by the numbers of their segments."""

from __future__ import annotations

import functools
import math

import numpy as np

from partita import _trace
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.arranged import argsort
from partita.ops.creation import full, ones_like, zeros_like
from partita.ops.elementwise import add, cast, div, equal, greater, less, maximum, minimum, mul, select, sub
from partita.ops.hosted import Hosted
from partita.ops.picked import require_known
from partita.ops.reductions import cumsum
from partita.ops.shapes import broadcast_to, concat, gather, reshape, sliced
from partita.ops.support import F, as_tensor, attributes, run

__all__ = "unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum".split()

_LARGEST_BFLOAT16 = 2.0**127 * (2.0 - 2.0**-7)
_JOINS = {"add": add, "mul": mul, "max": maximum, "min": minimum}


def counted(ids, size):
    """How many of the numbers ids[k] are 0, 1, .. below `size`, as int64. Raises IndexError for others."""
    ones = full(ids.shape, 1.0, dtype=mstype.float64)
    attrs = attributes(size=size, begin=0, total=size)
    found = run(lambda trace, d, i: F.apply(trace, "put_along", [d, i], attrs)[0], ones, ids)
    return cast(found, mstype.int64)


def summed(ids, rows, size):
    """The sums of rows[k, z] with the same ids[k], of floating-point numbers: [size, z]."""
    attrs = attributes(rows=size, begin=0, total=size)
    return run(lambda trace, i, r: F.apply(trace, "scatter_rows", [i, r], attrs)[0], ids, rows)


def reduced(kind, ids, rows, size):
    """(what `kind` makes of the rows[k, z] with ids[k] = v, in row v; whether there are any, [size, 1]). "last" takes
    the last of them, "add", "mul", "max" and "min" join them. Rows are sorted by their ids; then each joins the row 1,
    2, 4, .. places before it if both have the same id, a segmented scan (Hillis and Steele, 1986)."""
    count = ids.shape[0]
    order = argsort(ids)
    ids_here, made = gather(ids, order, 0), gather(rows, order, 0)
    step = 1
    while kind != "last" and step < count:
        first, later = ([(0, count - step)], [(step, count)])
        same = equal(sliced(ids_here, first), sliced(ids_here, later))
        before, here = (sliced(made, [*one, (0, rows.shape[1])]) for one in (first, later))
        joined = select(_wide(same, here.shape), _JOINS[kind](before, here), here)
        made = concat([sliced(made, [(0, step), (0, rows.shape[1])]), joined], 0)
        step *= 2
    counts = counted(ids, size)
    ends = cumsum(counts, 0) - 1
    given = reshape(greater(counts, 0), [size, 1])
    return gather(made, select(less(ends, 0), zeros_like(ends), ends), 0), given


def _wide(mask, shape):
    return broadcast_to(reshape(mask, [mask.shape[0], 1]), shape)


def combined(where, kind, x, ids, rows):
    """x[v, z] joined with the rows[k, z] with ids[k] = v: "add", "sub", "mul", "div", "max", "min", or replaced by the
    last one, "update"."""
    if ids.shape[0] == 0 or x.size == 0:
        return x
    if x.dtype == mstype.bool_:
        found = combined(where, {"add": "max"}.get(kind, kind), cast(x, mstype.int32), ids, cast(rows, mstype.int32))
        return cast(found, mstype.bool_)
    if kind in ("max", "min"):
        return _extreme(where, kind, x, ids, rows)
    size = x.shape[0]
    if kind in ("add", "sub"):
        join = add if kind == "add" else sub
        if mstype.is_float(x.dtype):
            return join(x, summed(ids, rows, size))
        found, given = reduced("add", ids, rows, size)
        return join(x, select(_wide(given, x.shape), found, zeros_like(found)))
    found, given = reduced("last" if kind == "update" else "mul", ids, rows, size)
    given = _wide(given, x.shape)
    if kind == "update":
        return select(given, found, x)
    found = select(given, found, ones_like(found))
    if kind == "mul":
        return mul(x, found)
    return div(x, found) if mstype.is_float(x.dtype) else cast(div(x, found, rounding_mode="trunc"), x.dtype)


def _extreme(where, kind, x, ids, rows):
    """The largest or smallest of x[v, z] and the rows[k, z] with ids[k] = v. Equal ones share the gradient."""

    build = _trace.current()

    def function(a, i, r):
        if build is None or not build.is_mapping:
            return _hosted_extreme(kind)(a, i, r)
        found, given = reduced(kind, i, r, a.shape[0])
        return select(_wide(given, a.shape), _JOINS[kind](a, found), a)

    def gradient(a, i, r, out, dout):
        own, others = cast(equal(a, out), a.dtype), cast(equal(r, gather(out, i, 0)), a.dtype)
        share = div(dout, maximum(add(own, summed(i, others, a.shape[0])), 1.0))
        return mul(share, own), None, mul(gather(share, i, 0), others)

    if build is None or not mstype.is_float(x.dtype):
        return function(x, ids, rows)
    return build.with_gradient(where, function, gradient, [x, ids, rows])


@functools.lru_cache(None)
def _hosted_extreme(kind):
    """NumPy joins rows of equal ids that stand next to each other, once they are sorted: each is read once."""
    join = {"max": np.maximum, "min": np.minimum}[kind]

    def joined(begun, ids, rows):
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        if ids[0] < 0 or ids[-1] >= len(begun):
            outside = ids[0] if ids[0] < 0 else ids[-1]
            raise IndexError(f"[segments] an id is outside, got {outside}, expected 0 to below {len(begun)}")
        firsts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
        made = np.array(begun)
        made[ids[firsts]] = join(made[ids[firsts]], join.reduceat(rows[order], firsts, axis=0))
        return made

    return Hosted(f"segments_{kind}", joined)


def _lowest(dtype):
    if dtype == mstype.bfloat16:
        return -_LARGEST_BFLOAT16
    return float(np.finfo(dtype.numpy).min) if mstype.is_float(dtype) else int(np.iinfo(dtype.numpy).min)


def _highest(dtype):
    if dtype == mstype.bfloat16:
        return _LARGEST_BFLOAT16
    return float(np.finfo(dtype.numpy).max) if mstype.is_float(dtype) else int(np.iinfo(dtype.numpy).max)


def _number(value, dtype):
    """A number as a tensor: the largest one of int64 is not one of float64, as which constants of a program are."""
    return Tensor(np.array(value, dtype.numpy)) if dtype == mstype.int64 else full([], value, dtype=dtype)


_EMPTY = {"add": lambda _: 0, "mul": lambda _: 1, "max": _lowest, "min": _highest}


def over_segments(where, kind, x, segment_ids, count):
    """[count, ..] of x[ids.., ..]: slices whose ids are the same joined; those of ids below 0 are left out."""
    x, ids = as_tensor(x, where), as_tensor(segment_ids, where)
    count = int(count)
    if count < 1:
        raise ValueError(f"[{where}] bad number of segments, got {count}, expected at least 1")
    if ids.ndim < 1 or x.shape[: ids.ndim] != ids.shape:
        raise ValueError(
            f"[{where}] the shapes do not fit, got segments {ids.shape} of {x.shape}, expected the first dimensions"
        )
    rest = list(x.shape[ids.ndim :])
    rows, ids = reshape(x, [ids.size, math.prod(rest)]), reshape(ids, [-1])
    if ids._symbol is None and ids.size and ids.asnumpy().max() >= count:
        raise ValueError(f"[{where}] a segment is outside, got {ids.asnumpy().max()}, expected less than {count}")
    ids = select(less(ids, 0), full(ids.shape, count, dtype=ids.dtype), ids)  # a row that is cut off
    shape = [count + 1, rows.shape[1]]
    begin = broadcast_to(_number(_EMPTY[kind](x.dtype), x.dtype), shape)
    made = combined(where, kind, begin, ids, rows)
    return reshape(sliced(made, [(0, count), (0, rows.shape[1])]), [count, *rest])


def unsorted_segment_sum(input_x: Tensor | float, segment_ids: Tensor | float, num_segments: int) -> Tensor:
    """The sums of the slices of each segment, 0 of none: [num_segments, ..]. Ids below 0 are left out."""
    return over_segments("unsorted_segment_sum", "add", input_x, segment_ids, num_segments)


def unsorted_segment_max(x: Tensor | float, segment_ids: Tensor | float, num_segments: int) -> Tensor:
    """The largest elements of the slices of each segment, of none the smallest number of the element type."""
    return over_segments("unsorted_segment_max", "max", x, segment_ids, num_segments)


def unsorted_segment_min(x: Tensor | float, segment_ids: Tensor | float, num_segments: int) -> Tensor:
    """The smallest elements of the slices of each segment, of none the largest number of the element type."""
    return over_segments("unsorted_segment_min", "min", x, segment_ids, num_segments)


def unsorted_segment_prod(x: Tensor | float, segment_ids: Tensor | float, num_segments: int) -> Tensor:
    """The products of the slices of each segment, 1 of none: [num_segments, ..]. Ids below 0 are left out."""
    return over_segments("unsorted_segment_prod", "mul", x, segment_ids, num_segments)


def sorted_segments(where, kind, x, segment_ids):
    """Slices of rising ids joined: as many segments as the last id says, which is read. `kind` may be "mean"."""
    ids = as_tensor(segment_ids, where)
    require_known(where, ids)
    numbers = ids.asnumpy()
    if numbers.ndim != 1 or numbers.size == 0 or numbers[0] < 0 or (np.diff(numbers) < 0).any():
        raise ValueError(f"[{where}] segments do not rise from 0, got {numbers.tolist()}, expected a row that does")
    count = int(numbers[-1]) + 1
    counts = np.bincount(numbers, minlength=count).reshape([count] + [1] * (as_tensor(x).ndim - 1))
    if kind == "mean":
        total = over_segments(where, "add", x, ids, count)
        return div(total, cast(Tensor(np.maximum(counts, 1)), total.dtype))
    found = over_segments(where, kind, x, ids, count)
    if kind in ("max", "min"):
        return select(broadcast_to(Tensor(counts > 0), found.shape), found, zeros_like(found))
    return found
