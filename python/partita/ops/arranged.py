"""Elements in another order, and numbers in a row."""

from __future__ import annotations

import builtins
import numbers
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.derived import unstack
from partita.ops.elementwise import cast, neg, sub
from partita.ops.reductions import argmax, sum, topk
from partita.ops.shapes import (
    broadcast_to,
    concat,
    repeat_interleave,
    reshape,
    sliced,
    split,
    swapaxes,
    transpose,
)
from partita.ops.support import as_tensor, axis_of

__all__ = (
    "argmin argsort diagonal diagonal_sum hstack linspace meshgrid moveaxis movedim narrow repeat_elements roll slice "
    "sort swapdims tensor_split trace unbind vstack"
).split()


def linspace(start: float, end: float, steps: int) -> Tensor:
    """`steps` numbers from `start` to `end` at equal distances, both included, as float32 in one dimension. Raises
    ValueError for less than 1 step, and for tensors of several elements."""
    start, end = (float(one) for one in (start, end))
    if int(steps) < 1:
        raise ValueError(f"[linspace] bad number of steps, got {steps}, expected at least 1")
    return Tensor(np.linspace(start, end, int(steps)), mstype.float32)


def meshgrid(*inputs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid, from those along each of its dimensions: of n tensors, n of shape (size
    of the second, of the first, of the third, ..), or with `indexing` "ij" in their order. Raises ValueError for
    another indexing."""
    inputs = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
    if indexing not in ("xy", "ij"):
        raise ValueError(f"[meshgrid] unknown indexing, got {indexing!r}, expected 'xy' or 'ij'")
    vectors = [reshape(as_tensor(one, "meshgrid"), [-1]) for one in inputs]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(places) > 1:
        places[:2] = [1, 0]
    shape = [0] * len(vectors)
    for place, one in zip(places, vectors):
        shape[place] = one.shape[0]
    return tuple(
        broadcast_to(reshape(one, [one.shape[0] if i == place else 1 for i in range(len(shape))]), shape)
        for place, one in zip(places, vectors)
    )


def roll(input: Tensor | float, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
    """The elements moved by `shifts` places along dimensions, those beyond the last place to the first, in the shape of
    `input`; without `dims` in one row of all. Raises ValueError for a dimension that the tensor has not, or another
    number of shifts than dimensions."""
    x = as_tensor(input, "roll")
    if dims is None:
        return reshape(roll(reshape(x, [-1]), shifts, 0), x.shape)
    shifts = [shifts] if isinstance(shifts, numbers.Integral) else list(shifts)
    dims = [dims] if isinstance(dims, numbers.Integral) else list(dims)
    if len(shifts) != len(dims):
        raise ValueError(f"[roll] different numbers of shifts and dims, got {shifts} and {dims}, expected as many")
    for shift, dim in zip(shifts, dims):
        axis = axis_of("roll", dim, x.ndim)
        shift = int(shift) % x.shape[axis] if x.shape[axis] else 0
        if shift:
            x = concat(split(x, [x.shape[axis] - shift, shift], axis)[::-1], axis)
    return x


def moveaxis(x: Tensor | float, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """The dimensions `source` at the places `destination` of the result, the others around them in their order. Raises
    ValueError for axes that the tensor has not, that stand twice, or are not as many."""
    x = as_tensor(x, "moveaxis")
    sources, places = (
        [axis_of("moveaxis", one, x.ndim) for one in ([given] if isinstance(given, numbers.Integral) else given)]
        for given in (source, destination)
    )
    if len(sources) != len(places) or len(set(sources)) != len(sources) or len(set(places)) != len(places):
        raise ValueError(f"[moveaxis] bad places, got {source} to {destination}, expected as many, each once")
    order = [i for i in range(x.ndim) if i not in sources]
    for place, one in sorted(zip(places, sources)):
        order.insert(place, one)
    return transpose(x, order)


def movedim(x: Tensor | float, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """The dimensions `source` at the places `destination` of the result, the others around them in their order. Raises
    ValueError for axes that the tensor has not, that stand twice, or are not as many."""
    return moveaxis(x, source, destination)


def swapdims(input: Tensor | float, dim0: int, dim1: int) -> Tensor:
    """The tensor with two dimensions exchanged. Raises ValueError for a dimension that it has not."""
    return swapaxes(input, dim0, dim1)


def narrow(input: Tensor | float, axis: int, start: int, length: int) -> Tensor:
    """`length` elements of a dimension from `start` on; the other sizes stay. Raises ValueError for an axis that the
    tensor has not, or a part that is not within it."""
    x = as_tensor(input, "narrow")
    axis = axis_of("narrow", axis, x.ndim)
    if start < 0 or length < 0 or start + length > x.shape[axis]:
        raise ValueError(
            f"[narrow] outside the tensor, got {start} to {start + length} of axis {axis}, expected 0 to"
            f" {x.shape[axis]}"
        )
    return sliced(x, [(start, start + length) if i == axis else (0, n) for i, n in enumerate(x.shape)])


def slice(input_x: Tensor | float, begin: Sequence[int], size: Sequence[int]) -> Tensor:
    """The elements from `begin` on, `size` of them along each dimension, -1 for all that follow. Raises ValueError for
    other than one number for each dimension, or a part that is not within the tensor."""
    x = as_tensor(input_x, "slice")
    ranges = [(int(b), n if s == -1 else int(b + s)) for b, s, n in zip(begin, size, x.shape)]
    if len(ranges) != x.ndim or any(not 0 <= b <= e <= n for (b, e), n in zip(ranges, x.shape)):
        raise ValueError(f"[slice] outside the tensor, got begin {begin} and size {size}, expected within {x.shape}")
    return sliced(x, ranges)


def repeat_elements(x: Tensor | float, rep: int, axis: int = 0) -> Tensor:
    """Each slice along a dimension `rep` times, which is by how much its size grows. Raises ValueError for a number
    below 1, or an axis that the tensor has not."""
    return repeat_interleave(x, rep, axis_of("repeat_elements", axis, as_tensor(x, "repeat_elements").ndim))


def unbind(input: Tensor | float, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, without it: as many tensors as it has elements, in a tuple. Raises ValueError for a
    dimension that the tensor has not."""
    return unstack(input, dim)


def tensor_split(input: Tensor | float, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension, in a tuple: a number of them, of which the first ones are larger by one, or those
    between places. Raises ValueError for a number of parts below 1, or an axis that the tensor has not."""
    x = as_tensor(input, "tensor_split")
    axis = axis_of("tensor_split", axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, numbers.Integral):
        parts = int(indices_or_sections)
        if parts < 1:
            raise ValueError(f"[tensor_split] bad number of parts, got {parts}, expected at least 1")
        sizes = [size // parts + (i < size % parts) for i in range(parts)]
        ends = np.cumsum(sizes).tolist()
    else:
        ends = [min(max(0, one + size if one < 0 else one), size) for one in indices_or_sections] + [size]
    return tuple(narrow(x, axis, begin, max(0, end - begin)) for begin, end in zip([0, *ends[:-1]], ends))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one after the other along the second dimension, or the only one, in the type that holds the elements
    of all. Raises ValueError for shapes that differ elsewhere."""
    parts = [reshape(one, [1]) if one.ndim == 0 else one for one in map(as_tensor, tensors)]
    return concat(parts, 1 if parts and parts[0].ndim > 1 else 0)


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """The tensors one after the other along the first dimension; vectors are rows, and so are numbers. Raises
    ValueError for shapes that differ elsewhere, TypeError for no tensors."""
    return concat([reshape(one, [1, -1]) if one.ndim < 2 else one for one in map(as_tensor, inputs)], 0)


def argmin(input: Tensor | float, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest element is along an axis, or in one row of all, as int32; the first of equal ones. Of a tensor
    without dimensions 0, as int64. The result has the shape without `axis`, or with `keepdims` with size 1 there.
    Raises ValueError for an axis that the tensor has not."""
    x = as_tensor(input, "argmin")
    if x.ndim == 0:
        return argmax(x)
    falling = neg(x) if mstype.is_float(x.dtype) else sub(-1, cast(x, mstype.int64))
    return cast(argmax(falling, axis, keepdims), mstype.int32)


def sort(input_x: Tensor | float, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """(elements in rising order along a dimension, or with `descending` in falling order; where they were, as int32),
    both in the shape of `input_x`. Raises ValueError for an axis that the tensor has not."""
    x = as_tensor(input_x, "sort")
    return topk(x, x.shape[axis_of("sort", axis, x.ndim)], axis, bool(descending))


def argsort(input: Tensor | float, axis: int = -1, descending: bool = False) -> Tensor:
    """Where the elements in rising order along a dimension are, or with `descending` in falling order, as int32 in the
    shape of `input`. Raises ValueError for an axis that the tensor has not."""
    return sort(input, axis, descending)[1]


def diagonal(input: Tensor | float, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements whose places in two dimensions differ by `offset`, above 0 right of the diagonal, as the last
    dimension; none where it is outside. Raises ValueError for one dimension twice, or one that the tensor has not."""
    x = as_tensor(input, "diagonal")
    first, second = axis_of("diagonal", dim1, x.ndim), axis_of("diagonal", dim2, x.ndim)
    if first == second:
        raise ValueError(f"[diagonal] the dimensions are the same, got {dim1} and {dim2}, expected two")
    x = transpose(x, [i for i in range(x.ndim) if i not in (first, second)] + [first, second])
    rows, columns = x.shape[-2:]
    begin, count = (
        (offset, min(rows, columns - offset)) if offset >= 0 else (-offset * columns, min(rows + offset, columns))
    )
    flat = reshape(x, [*x.shape[:-2], rows * columns])
    if count < 1:
        return flat[..., :0]
    return flat[(..., builtins.slice(begin, begin + (count - 1) * (columns + 1) + 1, columns + 1))]


def trace(input: Tensor | float) -> Tensor:
    """The sum of the diagonal of the first two dimensions, in the type of its elements; of a matrix without dimensions.
    Raises ValueError for less than two dimensions."""
    x = as_tensor(input, "trace")
    return cast(diagonal_sum(x), x.dtype)


def diagonal_sum(
    input: Tensor,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The sum of a diagonal, of integers as int64, of bools whether one is True: the method `trace` of tensors."""
    found = diagonal(input, offset, axis1, axis2)
    total = sum(found, -1, dtype=dtype)
    return cast(total, found.dtype) if dtype is None and found.dtype == mstype.bool_ else total
