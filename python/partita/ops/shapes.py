"""Ops that move elements."""

import builtins
import numbers

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.support import F, as_tensor, attributes, axes_of, axis_of, run


def shape(input_x):
    """The sizes, as a tuple."""
    return as_tensor(input_x, "shape").shape


def rank(input_x):
    return len(shape(input_x))


def size(input_x):
    return as_tensor(input_x, "size").size


def reshape(input, shape):
    """The same elements in another shape; one size may be -1."""
    x = as_tensor(input, "reshape")
    wanted = [int(one) for one in ((shape,) if isinstance(shape, numbers.Integral) else shape)]
    if wanted.count(-1) == 1:
        rest = 1
        for one in wanted:
            rest *= one if one != -1 else 1
        if rest > 0 and x.size % rest == 0:
            wanted[wanted.index(-1)] = x.size // rest
    return run(lambda trace, a: F.reshape(a, wanted), x)


def squeeze(input, axis=None):
    """Without dimensions of size 1: those named, or all."""
    x = as_tensor(input, "squeeze")
    if axis is None:
        return reshape(x, [one for one in x.shape if one != 1])
    axes = axes_of("squeeze", axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(
                f"[squeeze] a dimension of more than one element, got size {x.shape[one]} of axis {one}, expected 1"
            )
    return reshape(x, [size for i, size in enumerate(x.shape) if i not in axes])


def expand_dims(input_x, axis):
    """With a dimension of size 1 more."""
    x = as_tensor(input_x, "expand_dims")
    axis = axis_of("expand_dims", axis, x.ndim + 1)
    return reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]])


unsqueeze = expand_dims


def flatten(input, order="C", *, start_dim=1, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one."""
    x = as_tensor(input, "flatten")
    if order != "C":
        raise ValueError(f"[flatten] unknown order, got '{order}', expected 'C'")
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


def transpose(input, input_perm):
    """Dimensions in another order."""
    x = as_tensor(input, "transpose")
    perm = [axis_of("transpose", one, x.ndim) for one in input_perm]
    return run(lambda trace, a: F.transpose(a, perm), x)


permute = transpose


def swapaxes(input, axis0, axis1):
    x = as_tensor(input, "swapaxes")
    perm = list(range(x.ndim))
    first, second = axis_of("swapaxes", axis0, x.ndim), axis_of("swapaxes", axis1, x.ndim)
    perm[first], perm[second] = perm[second], perm[first]
    return transpose(x, perm)


def broadcast_to(input, shape):
    x = as_tensor(input, "broadcast_to")
    lead = len(shape) - x.ndim
    sizes = [x.shape[i - lead] if one == -1 else int(one) for i, one in enumerate(shape)]
    return run(lambda trace, a: F.apply(trace, "broadcast_to", [a], attributes(shape=sizes))[0], x)


def concat(tensors, axis=0):
    """Tensors one after the other along an axis."""
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise TypeError(f"[concat] no tensors, got {type(tensors).__name__}, expected a tuple or list of tensors")
    parts = [as_tensor(one, "concat") for one in tensors]
    axis = axis_of("concat", axis, parts[0].ndim)
    return run(lambda trace, *xs: F.apply(trace, "concat", list(xs), attributes(axis=axis))[0], *parts)


cat = concat


def stack(tensors, axis=0):
    return concat([expand_dims(one, axis) for one in tensors], axis)


def split(tensor, split_size_or_sections, axis=0):
    """Parts along an axis: of a size, or of the sizes given."""
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


def chunk(input, chunks, axis=0):
    x = as_tensor(input, "chunk")
    return split(x, -(-x.shape[axis_of("chunk", axis, x.ndim)] // int(chunks)), axis)


def sliced(x, ranges):
    if builtins.all(begin == 0 and end == n for (begin, end), n in zip(ranges, x.shape)):
        return x
    attrs = attributes(begin=[begin for begin, _ in ranges], end=[end for _, end in ranges])
    return run(lambda trace, a: F.apply(trace, "slice", [a], attrs)[0], x)


def tensor_index(x, index):
    """x[index] with integers, slices of step 1, None and ... ; a tensor of indices takes rows."""
    items = list(index) if isinstance(index, tuple) else [index]
    if len(items) == 1 and isinstance(items[0], (Tensor, np.ndarray, list)):
        rows = as_tensor(items[0], "index")
        if rows.dtype == mstype.bool_:
            raise IndexError(
                "[index] a mask gives a shape that depends on data, got a tensor of Bool, expected integers, or "
                "ops.select(mask, x, 0)"
            )
        return gather(x, rows, 0)
    given = builtins.sum(one is not None and one is not Ellipsis for one in items)
    if given > x.ndim:
        raise IndexError(f"[index] too many indices, got {given}, expected at most {x.ndim} for shape {x.shape}")
    if Ellipsis in [one for one in items if not isinstance(one, Tensor)]:
        at = items.index(Ellipsis)
        items[at : at + 1] = [slice(None)] * (x.ndim - given)
    items += [slice(None)] * (x.ndim - builtins.sum(one is not None for one in items))
    ranges, sizes, dim = [], [], 0
    for one in items:
        if one is None:
            sizes.append(1)
            continue
        size = x.shape[dim]
        if isinstance(one, slice):
            begin, end, step = one.indices(size)
            if step != 1:
                raise ValueError(f"[index] a step other than 1, got {one.step}, expected 1")
            end = builtins.max(begin, end)
            sizes.append(end - begin)
            ranges.append((begin, end))
        else:
            begin = int(one)
            if not -size <= begin < size:
                raise IndexError(
                    f"[index] outside the tensor, got {begin} of axis {dim}, expected {-size} to {size - 1}"
                )
            begin += size if begin < 0 else 0
            ranges.append((begin, begin + 1))
        dim += 1
    part = sliced(x, ranges)
    return part if tuple(sizes) == part.shape else reshape(part, sizes)


def repeat_interleave(input, repeats, axis=None):
    x = as_tensor(input, "repeat_interleave")
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    return run(lambda trace, a: F.repeat(a, int(axis), int(repeats)), x)


def gather(input_params, input_indices, axis, batch_dims=0):
    """Slices of a tensor along an axis, by their numbers."""
    if batch_dims != 0:
        raise ValueError(f"[gather] dimensions of batches, got {batch_dims}, expected 0")
    table, ids = as_tensor(input_params, "gather"), as_tensor(input_indices, "gather")
    axis = axis_of("gather", axis, table.ndim)
    rows = transpose(table, [axis] + [i for i in range(table.ndim) if i != axis]) if axis else table
    matrix = rows if rows.ndim == 2 else reshape(rows, [rows.shape[0], rows.size // rows.shape[0]])
    taken = run(lambda trace, t, i: F.apply(trace, "embedding", [t, i], [])[0], matrix, ids)
    shaped = taken if rows.ndim == 2 else reshape(taken, [*ids.shape, *rows.shape[1:]])
    if not axis:
        return shaped
    order = list(range(ids.ndim, ids.ndim + axis)) + list(range(ids.ndim)) + list(range(ids.ndim + axis, shaped.ndim))
    return transpose(shaped, order)
