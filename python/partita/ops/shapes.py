"""Ops that move elements."""

from __future__ import annotations

import builtins
import math
import numbers
from collections.abc import Sequence

import numpy as np

from partita import _trace
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.elementwise import add, cast, greater_equal, less, logical_or, mul, select
from partita.ops.index_bools import is_mask, without_bools
from partita.ops.support import F, as_tensor, attributes, axes_of, axis_of, run


def shape(input_x: Tensor | float) -> tuple[int, ...]:
    """The sizes of dimensions, as a tuple; () of a number. Raises TypeError for what holds no numbers."""
    return as_tensor(input_x, "shape").shape


def rank(input_x: Tensor | float) -> int:
    """The number of dimensions, an integer of Python. Raises TypeError for what holds no numbers."""
    return len(shape(input_x))


def size(input_x: Tensor | float) -> int:
    """The number of elements, the product of the sizes, an integer of Python. Raises TypeError for what holds no
    numbers."""
    return as_tensor(input_x, "size").size


def reshape(input: Tensor | float, shape: int | Sequence[int]) -> Tensor:
    """The elements, in their order, in another shape, which is one integer for one dimension. One size may be -1: it is
    computed from the others. Raises ValueError where the numbers of elements differ, and for other negative sizes.

    >>> ops.reshape(ops.arange(6), (2, -1)).asnumpy().tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    x = as_tensor(input, "reshape")
    wanted = [int(one) for one in ((shape,) if isinstance(shape, numbers.Integral) else shape)]
    if wanted.count(-1) == 1:
        rest = 1
        for one in wanted:
            rest *= one if one != -1 else 1
        if rest > 0 and x.size % rest == 0:
            wanted[wanted.index(-1)] = x.size // rest
        else:
            raise ValueError(
                f"[reshape] the elements do not fit, got {x.size} of them for {tuple(wanted)}, expected a multiple of "
                f"{rest}"
            )
    return run(lambda trace, a: F.reshape(a, wanted), x)


def squeeze(input: Tensor | float, axis: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without the dimensions of `axis` that have size 1, or without all dimensions of size 1; those of
    `axis` that have another size stay. Raises ValueError for an axis that the tensor has not."""
    x = as_tensor(input, "squeeze")
    axes = range(x.ndim) if axis is None else axes_of("squeeze", axis, x.ndim)
    return reshape(x, [size for i, size in enumerate(x.shape) if i not in axes or size != 1])


def expand_dims(input_x: Tensor | float, axis: int) -> Tensor:
    """The tensor with a dimension of size 1 added at `axis`, counted in the result. Raises ValueError for an axis that
    the result has not.

    >>> ops.expand_dims(ops.zeros((2, 3)), 1).shape
    (2, 1, 3)
    """
    x = as_tensor(input_x, "expand_dims")
    axis = axis_of("expand_dims", axis, x.ndim + 1)
    return reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]])


unsqueeze = expand_dims


def flatten(input: Tensor | float, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """The tensor with its dimensions from `start_dim` to `end_dim`, inclusive, merged into one; with the order "F" the
    first dimension changes fastest. One of 0 or 1 dimensions gives 1. Raises ValueError for dimensions in the wrong
    order, or that the tensor has not, and for another order."""
    x = as_tensor(input, "flatten")
    if order not in ("C", "F"):
        raise ValueError(f"[flatten] unknown order, got '{order}', expected 'C' or 'F'")
    if order == "F":  # the first dimension changes fastest
        x = transpose(x, list(reversed(range(x.ndim))))
    if x.ndim == 0:
        return reshape(x, [1])
    if x.ndim == 1:
        return x
    first, last = axis_of("flatten", start_dim, x.ndim), axis_of("flatten", end_dim, x.ndim)
    if first > last:
        raise ValueError(
            f"[flatten] dimensions in the wrong order, got {start_dim} to {end_dim}, expected first to last"
        )
    count = 1
    for one in x.shape[first : last + 1]:
        count *= one
    return reshape(x, [*x.shape[:first], count, *x.shape[last + 1 :]])


def transpose(input: Tensor | float, dims: Sequence[int]) -> Tensor:
    """Permutes the dimensions: dimension i of the result is dimension `dims[i]` of the input. Raises ValueError unless
    `dims` has each dimension once; those below 0 count from the end.

    >>> ops.transpose(ops.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    x = as_tensor(input, "transpose")
    perm = [axis_of("transpose", one, x.ndim) for one in dims]
    return run(lambda trace, a: F.transpose(a, perm), x)


permute = transpose


def swapaxes(input: Tensor | float, axis0: int, axis1: int) -> Tensor:
    """The tensor with two dimensions exchanged. Raises ValueError for an axis that it has not."""
    x = as_tensor(input, "swapaxes")
    perm = list(range(x.ndim))
    first, second = axis_of("swapaxes", axis0, x.ndim), axis_of("swapaxes", axis1, x.ndim)
    perm[first], perm[second] = perm[second], perm[first]
    return transpose(x, perm)


def broadcast_to(input: Tensor | float, shape: Sequence[int]) -> Tensor:
    """The elements repeated along dimensions of one element, and along new ones before them, to a shape; -1 keeps a
    size. Raises ValueError where another size than 1 would change, or dimensions are missing."""
    x = as_tensor(input, "broadcast_to")
    lead = len(shape) - x.ndim
    sizes = [x.shape[i - lead] if one == -1 else int(one) for i, one in enumerate(shape)]
    return run(lambda trace, a: F.apply(trace, "broadcast_to", [a], attributes(shape=sizes))[0], x)


def _of_one_type(parts):
    """Tensors in the type that holds the elements of all: with floats the widest float."""
    types = {one.dtype for one in parts}
    if len(types) < 2:
        return parts
    floats = {one for one in types if mstype.is_float(one)}
    if floats and floats != {mstype.float16, mstype.bfloat16}:
        order = (mstype.float64, mstype.float32, mstype.float16, mstype.bfloat16)
        wanted = next(one for one in order if one in floats)
    elif floats:
        wanted = mstype.float32
    else:
        wanted = mstype.to_dtype(np.result_type(*(one.numpy for one in types)))
    return [one if one.dtype == wanted else cast(one, wanted) for one in parts]


def place_of(one):
    """An index as an integer. Raises IndexError for what is none."""
    if isinstance(one, (str, bytes, float)) or not hasattr(one, "__index__"):
        raise IndexError(
            f"[index] not an index, got {one!r} of type {type(one).__name__}, expected integers, slices, tensors, "
            "lists, None or ..."
        )
    return int(one)


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenates tensors along an axis, in the type that holds the elements of all. The other sizes are equal, and
    the result has the sum of those of `axis`. Raises TypeError unless they are in a tuple or list that is not empty,
    ValueError for shapes that differ, or an axis that they have not.

    >>> ops.cat([ms.Tensor([[1, 2]]), ms.Tensor([[3, 4]])], axis=1).asnumpy().tolist()
    [[1, 2, 3, 4]]
    """
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise TypeError(
            f"[concat] not a list of tensors, got {type(tensors).__name__}, expected a tuple or list of tensors"
        )
    parts = _of_one_type([as_tensor(one, "concat") for one in tensors])
    axis = axis_of("concat", axis, parts[0].ndim)
    return run(lambda trace, *xs: F.apply(trace, "concat", list(xs), attributes(axis=axis))[0], *parts)


cat = concat


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The tensors, of one shape, along a new dimension at `axis`, counted in the result, in the type that holds the
    elements of all. Raises TypeError unless they are in a tuple or list that is not empty, ValueError for shapes that
    differ, or an axis that the result has not.

    >>> ops.stack([ms.Tensor([1, 2]), ms.Tensor([3, 4])], axis=1).asnumpy().tolist()
    [[1, 3], [2, 4]]
    """
    if not isinstance(tensors, (list, tuple)) or not tensors:
        count = f"{len(tensors)} of them" if isinstance(tensors, (list, tuple)) else type(tensors).__name__
        raise TypeError(f"[stack] no tensors, got {count}, expected a tuple or list of at least 1")
    return concat([expand_dims(one, axis) for one in tensors], axis)


def split(tensor: Tensor | float, split_size_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Splits a tensor along an axis into parts of one size, of which the last may be smaller, or into parts of the
    given sizes. Returns a tuple. Raises ValueError for a size below 1, sizes that do not add up, or an axis that the
    tensor has not.

    >>> [one.asnumpy().tolist() for one in ops.split(ops.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    >>> [one.asnumpy().tolist() for one in ops.split(ops.arange(5), [1, 4])]
    [[0], [1, 2, 3, 4]]
    """
    x = as_tensor(tensor, "split")
    axis = axis_of("split", axis, x.ndim)
    if isinstance(split_size_or_sections, numbers.Integral):
        step = int(split_size_or_sections)
        if step < 1:
            raise ValueError(f"[split] bad size, got {step}, expected at least 1")
        ends = [builtins.min(begin + step, x.shape[axis]) for begin in range(0, x.shape[axis], step)]
    else:
        ends, end = [], 0
        for one in split_size_or_sections:
            end += int(one)
            ends.append(end)
        if end != x.shape[axis]:
            raise ValueError(f"[split] sizes do not add up, got {end}, expected {x.shape[axis]} of axis {axis}")
    begins = [0, *ends[:-1]]
    return tuple(
        sliced(x, [(b, e) if i == axis else (0, n) for i, n in enumerate(x.shape)]) for b, e in zip(begins, ends)
    )


def chunk(input: Tensor | float, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """Parts of equal size along an axis, at most `chunks` of them, in a tuple; the last one may be smaller. Raises
    ValueError for a number of parts below 1, or an axis that the tensor has not."""
    x = as_tensor(input, "chunk")
    if int(chunks) < 1:
        raise ValueError(f"[chunk] bad number of parts, got {chunks}, expected at least 1")
    return split(x, -(-x.shape[axis_of("chunk", axis, x.ndim)] // int(chunks)), axis)


def sliced(x, ranges):
    if builtins.all(begin == 0 and end == n for (begin, end), n in zip(ranges, x.shape)):
        return x
    attrs = attributes(begin=[begin for begin, _ in ranges], end=[end for _, end in ranges])
    return run(lambda trace, a: F.apply(trace, "slice", [a], attrs)[0], x)


def tensor_index(x, index):
    """x[index] with integers, slices, None and ... ; a tensor of integers takes slices of its dimension. True adds a
    dimension of one element, False one of none, several of them one. A mask over the first dimensions takes the
    elements where it holds; its values are read for that."""
    if is_mask(index):
        return _masked(x, as_tensor(index, "index"))
    index, empty = without_bools(x.shape, index)
    if empty is not None:
        return full(empty, 0, dtype=x.dtype)
    items = _index_items(x, index)
    if _takes_together(items):
        return _taken_together(x, items)
    ranges, sizes, gathers, dim = [], [], [], 0
    for one in items:
        if one is None:
            sizes.append(1)
            continue
        size = x.shape[dim]
        if isinstance(one, slice):
            begin, end, step = one.indices(size)
            places = range(begin, end, step)
            sizes.append(len(places))
            ranges.append((begin, begin + len(places)) if step == 1 else (0, size))
            if step != 1:
                gathers.append((dim, Tensor(np.array(places, np.int32))))
        elif isinstance(one, Tensor):
            sizes += one.shape
            ranges.append((0, size))
            gathers.append((dim, _counted("index", one, size, dim, x.dtype)))
        else:
            begin = place_of(one)
            if not -size <= begin < size:
                raise IndexError(
                    f"[index] outside the tensor, got {begin} of axis {dim}, expected {-size} to {size - 1}"
                )
            begin += size if begin < 0 else 0
            ranges.append((begin, begin + 1))
        dim += 1
    if 0 in sizes:
        return full(sizes, 0, dtype=x.dtype)
    part = sliced(x, ranges)
    for axis, ids in reversed(gathers):  # the last first: a tensor of several dimensions moves those after it
        part = slices_at(part, ids, axis)
    return part if tuple(sizes) == part.shape else reshape(part, sizes)


def _masked(x, mask):
    """The elements where a mask over the first dimensions holds."""
    if mask.shape != x.shape[: mask.ndim]:
        raise IndexError(
            f"[index] the mask has another shape, got {mask.shape}, expected {x.shape[: mask.ndim]}, as x has {x.shape}"
        )
    mask._refuse_symbolic("the elements of a mask")
    rest = x.shape[mask.ndim :]
    ids = np.flatnonzero(mask.asnumpy()).astype(np.int32)
    if not len(ids):
        return full([0, *rest], 0, dtype=x.dtype)
    return gather(reshape(x, [mask.size, *rest]), Tensor(ids), 0)


def _from_front(ids, size, dtype):
    """Returns the numbers of slices with those below zero counted from the end; what is outside stays outside. `dtype`
    is the element type of the tensor: int64 is gathered by numbers that are known."""
    if ids._symbol is None and (_trace.current() is None or dtype == mstype.int64):
        values = ids._values()
        inner = (values < 0) & (values >= -size)
        return Tensor(np.where(inner, values + size, values)) if inner.any() else ids
    return select(less(ids, 0), add(ids, size), ids)


def _index_items(x, index):
    """One item for each dimension, and None for each that is added: an integer, a slice, or a tensor of integers."""
    items = [_index_tensor(one) for one in (index if isinstance(index, tuple) else [index])]
    given = builtins.sum(one is not None and one is not Ellipsis for one in items)
    if given > x.ndim:
        raise IndexError(f"[index] too many indices, got {given}, expected at most {x.ndim} for shape {x.shape}")
    at = [i for i, one in enumerate(items) if one is Ellipsis]
    if at:
        items[at[0] : at[0] + 1] = [slice(None)] * (x.ndim - given)
    items += [slice(None)] * (x.ndim - builtins.sum(one is not None for one in items))
    return items


def _takes_together(items):
    """Whether several tensors, or one and numbers that are not next to it, take elements together."""
    tensors = [one for one in items if isinstance(one, Tensor)]
    places = [i for i, one in enumerate(items) if one is not None and not isinstance(one, slice)]
    return len(tensors) > 1 or (len(tensors) == 1 and places[-1] - places[0] != len(places) - 1)


def _taken_together(x, items):
    """x[items] where tensors of integers and numbers are broadcast and each of their elements takes one part of x, as
    in NumPy: their dimensions stand where these are, or in front if they are not next to each other."""
    sizes = iter(x.shape)
    x = reshape(x, [1 if one is None else next(sizes) for one in items])
    plain = tuple(one if isinstance(one, slice) else slice(None) for one in items)
    x = tensor_index(x, plain)
    places = [i for i, one in enumerate(items) if one is not None and not isinstance(one, slice)]
    ids = [one if isinstance(one, Tensor) else Tensor(int(one)) for one in (items[i] for i in places)]
    try:
        shape = np.broadcast_shapes(*(one.shape for one in ids))
    except ValueError:
        raise IndexError(
            f"[index] the indices do not fit together, got shapes {', '.join(str(one.shape) for one in ids)}, expected "
            "those that broadcast"
        ) from None
    others = [i for i in range(x.ndim) if i not in places]
    rows = transpose(x, places + others) if places + others != list(range(x.ndim)) else x
    rest = rows.shape[len(places) :]
    if 0 in shape or 0 in rest:
        taken = full([*shape, *rest], 0, dtype=x.dtype)
    else:
        counts = rows.shape[: len(places)]
        numbers = _row_numbers([broadcast_to(one, shape) for one in ids], counts, places, x.dtype)
        taken = gather(reshape(rows, [math.prod(counts), *rest]), numbers, 0)
    if places[-1] - places[0] != len(places) - 1 or places[0] == 0:
        return taken
    front, count = places[0], len(shape)
    order = [*range(count, count + front), *range(count), *range(count + front, taken.ndim)]
    return transpose(taken, order)


def _row_numbers(ids, counts, places, dtype):
    """The numbers of rows from those of each dimension. Raises IndexError for what is outside; of ids that a program
    computes, the number becomes one that `gather` refuses."""
    is_known = builtins.all(one._symbol is None for one in ids)
    if is_known and (_trace.current() is None or dtype == mstype.int64):
        arrays = [one.asnumpy() for one in ids]
        for array, size, place in zip(arrays, counts, places):
            outside = array[(array < -size) | (array >= size)]
            if outside.size:
                raise IndexError(
                    f"[index] outside the tensor, got {outside.reshape(-1)[0]} of axis {place}, expected {-size} to "
                    f"{size - 1}"
                )
        arrays = [np.where(array < 0, array + size, array) for array, size in zip(arrays, counts)]
        return Tensor(np.ravel_multi_index(arrays, counts).astype(np.int64))
    kind = mstype.int32 if math.prod(counts) < 2**31 else mstype.int64
    number, is_outside = None, None
    for one, size in zip(ids, counts):
        one = cast(one, kind)
        one = select(less(one, 0), add(one, size), one)
        beyond = logical_or(less(one, 0), greater_equal(one, size))
        is_outside = beyond if is_outside is None else logical_or(is_outside, beyond)
        number = one if number is None else add(mul(number, size), one)
    return select(is_outside, Tensor(math.prod(counts), number.dtype), number)


def _index_tensor(one):
    """An index that takes several slices as a tensor of integers, others as they are."""
    if not isinstance(one, (Tensor, np.ndarray, list)):
        return one
    ids = as_tensor(one, "index")
    if ids.dtype == mstype.bool_:
        if ids.ndim != 1:
            raise IndexError(
                f"[index] a mask of several dimensions stands with other indices, got shape {ids.shape}, expected it "
                "alone"
            )
        ids._refuse_symbolic("the elements of a mask")
        return Tensor(np.flatnonzero(ids.asnumpy()).astype(np.int32))
    if mstype.is_float(ids.dtype):
        raise IndexError(f"[index] indices are not integers, got a tensor of {ids.dtype}, expected integers")
    return int(ids) if ids.ndim == 0 and ids._symbol is None else ids


def repeat_interleave(input: Tensor | float, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
    """Each slice along a dimension, or without `axis` each element in one row, several times: as often as a number
    says, or one number for each. Raises ValueError for one number below 1, several that are below 0 or not as many as
    the slices, and an axis that the tensor has not."""
    x = as_tensor(input, "repeat_interleave")
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    axis = axis_of("repeat_interleave", axis, x.ndim)
    counts = np.asarray(repeats.asnumpy() if isinstance(repeats, Tensor) else repeats)
    if counts.size == 1:
        count = int(counts.item())
        return run(lambda trace, a: F.repeat(a, axis, count), x)
    if counts.shape != (x.shape[axis],) or counts.min() < 0:
        raise ValueError(
            f"[repeat_interleave] bad numbers of copies, got {repeats}, expected {x.shape[axis]} numbers from 0"
        )
    return gather(x, Tensor(np.repeat(np.arange(x.shape[axis]), counts).astype(np.int32)), axis)


def _gathered_in_batches(table, ids, axis, count):
    """Slices by their numbers, in each of the batches that the first `count` dimensions of both are."""
    if count > axis or table.shape[:count] != ids.shape[:count]:
        raise ValueError(
            f"[gather] dimensions of batches do not fit, got shapes {table.shape} and {ids.shape}, axis {axis},"
            f" expected {count} equal ones before the axis"
        )
    ids = _counted("gather", ids, table.shape[axis], axis, table.dtype)
    between, order = axis - count, list(range(table.ndim))
    rows = transpose(table, [*order[:count], axis, *order[count:axis], *order[axis + 1 :]])
    batches, size = math.prod(table.shape[:count]), table.shape[axis]
    begins = Tensor((np.arange(batches) * size).astype(np.int32).reshape(*ids.shape[:count], *[1] * (ids.ndim - count)))
    flat = reshape(rows, [batches * size, *rows.shape[count + 1 :]])
    taken = slices_at(flat, add(cast(ids, mstype.int32), begins), 0)
    places = list(range(taken.ndim))
    moved = places[ids.ndim : ids.ndim + between]
    return transpose(taken, [*places[:count], *moved, *places[count : ids.ndim], *places[ids.ndim + between :]])


def _counted(where, ids, size, axis, dtype):
    """The numbers of slices, those below 0 counted from the end. Raises IndexError for known ones that are outside,
    TypeError for others than int32 and int64."""
    if ids.dtype not in (mstype.int32, mstype.int64):
        raise TypeError(f"[{where}] the ids are of another type, got {ids.dtype}, expected int32 or int64")
    if _trace.current() is not None or ids._symbol is not None:
        return _from_front(ids, size, dtype)
    values = ids._values()
    if not values.size:
        return ids
    low, high = values.min(), values.max()
    if low < -size or high >= size:
        raise IndexError(
            f"[{where}] outside the tensor, got {low if low < -size else high} of axis {axis}, expected {-size} to "
            f"{size - 1}"
        )
    return ids if low >= 0 else Tensor(np.where(values < 0, values + size, values))


def gather(input_params: Tensor | float, input_indices: Tensor | float, axis: int, batch_dims: int = 0) -> Tensor:
    """Slices of a tensor along an axis, by their numbers in int32 or int64, of which those below 0 count from the end.
    The result has the dimensions of `input_indices` in place of that of `axis`; the first `batch_dims` dimensions of
    both are equal, and numbers count within them. Raises IndexError for what is outside, where it is known, TypeError
    for numbers of other types, ValueError for an axis that the tensor has not."""
    table, ids = as_tensor(input_params, "gather"), as_tensor(input_indices, "gather")
    axis = axis_of("gather", axis, table.ndim)
    if batch_dims:
        count = axis_of("gather", batch_dims, ids.ndim + 1)
        return _gathered_in_batches(table, ids, axis, count)
    return slices_at(table, _counted("gather", ids, table.shape[axis], axis, table.dtype), axis)


def slices_at(table, ids, axis):
    """Slices of a tensor along an axis, by numbers from 0."""
    rows = transpose(table, [axis] + [i for i in range(table.ndim) if i != axis]) if axis else table
    matrix = rows if rows.ndim == 2 else reshape(rows, [rows.shape[0], rows.size // rows.shape[0]])
    taken = run(lambda trace, t, i: F.apply(trace, "embedding", [t, i], [])[0], matrix, ids)
    shaped = taken if rows.ndim == 2 else reshape(taken, [*ids.shape, *rows.shape[1:]])
    if not axis:
        return shaped
    order = list(range(ids.ndim, ids.ndim + axis)) + list(range(ids.ndim)) + list(range(ids.ndim + axis, shaped.ndim))
    return transpose(shaped, order)
