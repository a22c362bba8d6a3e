"""Elements in the stead of those along an axis, of a slice, a diagonal or a mask; and parts in reverse."""

from __future__ import annotations

import numbers

import numpy as np

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.assignment import assign_item, assigned
from partita.ops.creation import assign, zeros_like
from partita.ops.elementwise import add, cast, greater, less, logical_and, select, sub
from partita.ops.picked import gather_elements, nonzero
from partita.ops.placed import placed
from partita.ops.reductions import cumsum
from partita.ops.scattered import added_at
from partita.ops.segments import combined, counted
from partita.ops.shapes import broadcast_to, gather, reshape, stack, swapaxes
from partita.ops.support import F, as_tensor, attributes, axis_of, broadcast_shape, is_number, run

__all__ = (
    "diagonal_scatter gather_d index_fill inplace_index_add put_ reverse_sequence scatter select_scatter"
    " slice_scatter tensor_scatter_elements"
).split()


def _from_front(ids, size):
    """Places below 0 counted from the end."""
    return select(less(ids, 0), add(ids, size), ids)


def _row(where, ids):
    ids = as_tensor(ids, where)
    if ids.ndim > 1 or ids.dtype not in (mstype.int32, mstype.int64):
        raise ValueError(f"[{where}] bad places, got {ids.dtype} {ids.shape}, expected a row of int32 or int64")
    return reshape(ids, [-1])


def _number_of(where, value, dtype):
    """A number as a tensor of an element type, of integers without its fraction."""
    if is_number(value):
        whole = isinstance(value, numbers.Real) and not mstype.is_float(dtype) and dtype != mstype.bool_
        return Tensor(np.asarray(int(value) if whole else value), dtype)
    return cast(as_tensor(value, where), dtype)


def index_fill(x: Tensor | float, axis: int, index: Tensor | float, value: Tensor | float) -> Tensor:
    """The tensor with its slices at places along an axis filled with a number, or a tensor of one. Raises ValueError
    for an axis that the tensor has not, IndexError for a known place outside."""
    x, ids = as_tensor(x, "index_fill"), _row("index_fill", index)
    axis = axis_of("index_fill", int(axis), x.ndim)
    hit = greater(counted(_from_front(ids, x.shape[axis]), x.shape[axis]), 0)
    mask = reshape(hit, [n if i == axis else 1 for i, n in enumerate(x.shape)])
    return select(broadcast_to(mask, x.shape), broadcast_to(_number_of("index_fill", value, x.dtype), x.shape), x)


def masked_scatter(input, mask, source):
    """The tensor with the elements of another one, in order, in the places where a mask holds. The mask may broadcast.
    Raises ValueError if the source is known to have too few elements."""
    x, mask, source = (as_tensor(one, "masked_scatter") for one in (input, mask, source))
    if mask.dtype != mstype.bool_ or source.dtype != x.dtype:
        raise TypeError(
            f"[masked_scatter] bad element types, got {mask.dtype} and {source.dtype}, expected Bool and {x.dtype}"
        )
    mask = broadcast_to(mask, x.shape)
    numbers_of = sub(cumsum(cast(reshape(mask, [-1]), mstype.int64), 0), 1)
    if mask._symbol is None and x.size and int(numbers_of.asnumpy()[-1]) >= source.size:
        raise ValueError(
            f"[masked_scatter] too few elements, got {source.size}, expected {int(numbers_of.asnumpy()[-1]) + 1}"
        )
    if source.size == 0:
        return x
    numbers_of = select(less(numbers_of, 0), zeros_like(numbers_of), numbers_of)
    return select(mask, reshape(gather(reshape(source, [-1]), numbers_of, 0), x.shape), x)


def put_(input: Tensor, index: Tensor | float, source: Tensor | float, accumulate: bool = False) -> Tensor:
    """The tensor itself, after elements of the source were written to, or added at, places of all elements in one
    row."""
    x, new = as_tensor(input, "put_"), as_tensor(source, "put_")
    ids = reshape(as_tensor(index, "put_"), [-1, 1])
    made = placed("put_", "add" if accumulate else "update", reshape(x, [-1]), _from_front(ids, x.size), _same(new, x))
    assign_item(x, Ellipsis, reshape(made, x.shape))
    return x


def _same(new, x):
    return cast(reshape(new, [-1]), x.dtype)


def index_put(input, indices, values, accumulate=False):
    """The tensor with values written to, or added at, the places that tensors of integers, one for each of the first
    dimensions, or of bools say. The values broadcast to the shape of what they replace."""
    x, values = as_tensor(input, "index_put"), as_tensor(values, "index_put")
    parts = []
    for one in indices:
        one = as_tensor(one, "index_put")
        parts += nonzero(one, as_tuple=True) if one.dtype == mstype.bool_ else [one]
    if not 0 < len(parts) <= x.ndim:
        raise ValueError(f"[index_put] bad number of indices, got {len(parts)}, expected 1 to {x.ndim}")
    shape = broadcast_shape("index_put", *(one.shape for one in parts))
    ids = [cast(broadcast_to(_from_front(one, n), shape), mstype.int64) for one, n in zip(parts, x.shape)]
    wide = broadcast_to(cast(values, x.dtype), (*shape, *x.shape[len(parts) :]))
    return placed("index_put", "add" if accumulate else "update", x, stack(ids, -1), wide)


def select_scatter(input: Tensor | float, src: Tensor | float, axis: int, index: Tensor | float) -> Tensor:
    """The tensor with one slice along an axis replaced."""
    x = as_tensor(input, "select_scatter")
    axis = axis_of("select_scatter", axis, x.ndim)
    return assigned(x, (slice(None),) * axis + (int(index),), as_tensor(src, "select_scatter"))


def slice_scatter(
    input: Tensor | float,
    src: Tensor | float,
    axis: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """The tensor with the slices from `start` to `end` along an axis, or each step-th of them, replaced."""
    x = as_tensor(input, "slice_scatter")
    axis = axis_of("slice_scatter", axis, x.ndim)
    return assigned(x, (slice(None),) * axis + (slice(start, end, step),), as_tensor(src, "slice_scatter"))


def diagonal_scatter(
    input: Tensor | float, src: Tensor | float, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """The tensor with a diagonal of two dimensions, which `src` has last, replaced."""
    x, new = as_tensor(input, "diagonal_scatter"), as_tensor(src, "diagonal_scatter")
    places = np.diagonal(np.arange(x.size).reshape(x.shape), offset, dim1, dim2)
    if tuple(new.shape) != places.shape:
        raise ValueError(f"[diagonal_scatter] the shapes do not fit, got {new.shape}, expected {places.shape}")
    return reshape(assigned(reshape(x, [-1]), np.array(places), new), x.shape)


def inplace_index_add(var: Tensor, indices: Tensor | float, updates: Tensor | float, axis: int) -> Tensor:
    """The parameter or tensor with slices along an axis added at places: it has these values from then on."""
    made = added_at(var, indices, updates, axis)
    if isinstance(var, Parameter):
        return assign(var, made)
    assign_item(var, Ellipsis, made)
    return var


def scatter_along(where, kind, input, axis, index, src):
    """The tensor whose elements at places along an axis are replaced ("update") or increased ("add") by those of `src`
    that have the same places as the indices. Along other axes there may be fewer indices than elements."""
    x, ids = as_tensor(input, where), as_tensor(index, where)
    new = broadcast_to(_number_of(where, src, x.dtype), ids.shape) if is_number(src) else as_tensor(src, where)
    axis = axis_of(where, axis, x.ndim) if x.ndim else 0
    sizes = [n for i, n in enumerate(x.shape) if i != axis]
    wanted = [n for i, n in enumerate(ids.shape) if i != axis]
    if ids.ndim != x.ndim or new.ndim != x.ndim or any(m > n for m, n in zip(wanted, sizes)):
        raise ValueError(f"[{where}] the shapes do not fit, got indices {ids.shape} of {x.shape}, expected at most it")
    if any(m > n for m, n in zip(ids.shape, new.shape)):
        raise ValueError(f"[{where}] too few updates, got {new.shape} for indices {ids.shape}, expected one for each")
    if new.dtype != x.dtype:
        raise TypeError(f"[{where}] the element types differ, got {new.dtype} for {x.dtype}, expected the same")
    if 0 in (x.size, ids.size):
        return x
    if x.ndim == 0:
        made = _along_last(where, kind, *(reshape(one, [1]) for one in (x, _from_front(ids, 1), new)))
        return reshape(made, [])
    if new.shape != ids.shape:
        new = new._item(tuple(slice(0, n) for n in ids.shape))
    if wanted != sizes:
        box = tuple(slice(None) if i == axis else slice(0, n) for i, n in enumerate(ids.shape))
        return assigned(x, box, scatter_along(where, kind, x._item(box), axis, ids, new))
    last = x.ndim - 1
    x, ids, new = (swapaxes(one, axis, last) if axis != last else one for one in (x, ids, new))
    made = _along_last(where, kind, x, _from_front(ids, x.shape[-1]), new)
    return swapaxes(made, axis, last) if axis != last else made


def tensor_scatter_elements(
    input_x: Tensor | float, indices: Tensor | float, updates: Tensor | float, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """The tensor with elements at places along an axis replaced by updates, the last one where places are equal, or
    ("add") with the updates added. Indices and updates have one shape, which is within that of `input_x`. Raises
    ValueError for other shapes, or another reduction, TypeError for updates of another type, IndexError for a known
    place outside."""
    if reduction not in ("none", "add"):
        raise ValueError(f"[tensor_scatter_elements] unknown reduction, got {reduction!r}, expected none or add")
    kind = "add" if reduction == "add" else "update"
    return _of_equal_shapes("tensor_scatter_elements", kind, input_x, axis, indices, updates)


def scatter(input: Tensor | float, axis: int, index: Tensor | float, src: Tensor | float) -> Tensor:
    """The tensor with elements at places along an axis replaced by others, or by a number. Raises ValueError for shapes
    that do not fit, IndexError for a known place outside."""
    return _of_equal_shapes("scatter", "update", input, axis, index, src)


def _of_equal_shapes(where, kind, x, axis, index, src):
    ids, new = as_tensor(index, where), src if is_number(src) else as_tensor(src, where)
    if not is_number(new) and new.shape != ids.shape:
        raise ValueError(f"[{where}] the shapes do not fit, got {ids.shape} and {new.shape}, expected the same")
    return scatter_along(where, kind, x, axis, ids, new)


def _along_last(where, kind, x, ids, new):
    size = x.shape[-1]
    if kind == "add" and mstype.is_float(x.dtype):
        attrs = attributes(size=size, begin=0, total=size)
        return add(x, run(lambda trace, d, i: F.apply(trace, "put_along", [d, i], attrs)[0], new, ids))
    begins = Tensor((np.arange(x.size // size) * size).reshape(*x.shape[:-1], 1))
    inside = logical_and(less(ids, size), less(-1, ids))
    flat = select(inside, add(cast(ids, mstype.int64), begins), broadcast_to(Tensor(np.int64(-1)), ids.shape))
    made = combined(where, kind, reshape(x, [-1, 1]), reshape(flat, [-1]), reshape(new, [-1, 1]))
    return reshape(made, x.shape)


def gather_d(x: Tensor | float, dim: int, index: Tensor | float) -> Tensor:
    """The elements at places along a dimension: the result has the shape of the indices. Shapes and errors are those of
    `gather_elements`."""
    return gather_elements(x, dim, index)


def reverse_sequence(x: Tensor | float, seq_lengths: Tensor | float, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """The tensor, in its shape, whose first seq_lengths[b] slices along `seq_dim` are in reverse order, for each b
    along `batch_dim`. Raises ValueError unless there is one length for each, and for one dimension twice."""
    x, lengths = as_tensor(x, "reverse_sequence"), as_tensor(seq_lengths, "reverse_sequence")
    seq, batch = (axis_of("reverse_sequence", one, x.ndim) for one in (seq_dim, batch_dim))
    if seq == batch or lengths.ndim != 1 or lengths.shape[0] != x.shape[batch]:
        raise ValueError(
            f"[reverse_sequence] bad lengths, got {lengths.shape} for dimension {batch_dim} of {x.shape}, reversed "
            f"along {seq_dim}, expected one for each, and another dimension"
        )
    here = Tensor(np.arange(x.shape[seq]).reshape([n if i == seq else 1 for i, n in enumerate(x.shape)]))
    length = reshape(cast(lengths, mstype.int64), [n if i == batch else 1 for i, n in enumerate(x.shape)])
    turned = sub(sub(length, 1), here)
    both = np.broadcast_shapes(here.shape, length.shape)
    ids = select(less(turned, 0), broadcast_to(here, both), broadcast_to(turned, both))
    return gather_elements(x, seq, broadcast_to(ids, x.shape))
