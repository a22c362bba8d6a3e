"""Elements by their places."""

from __future__ import annotations

import numpy as np

from partita import _trace
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import add, cast, mul
from partita.ops.shapes import broadcast_to, gather, reshape, sliced, swapaxes, tensor_index
from partita.ops.support import F, as_tensor, axis_of, broadcast_shape, run

__all__ = "gather_elements gather_nd index_select masked_select nonzero unique_consecutive".split()


def gather_elements(input: Tensor | float, dim: int, index: Tensor | float) -> Tensor:
    """The elements at places along a dimension: the result has the shape of the indices, which is within that of
    `input` elsewhere. Indices below 0 count from the end. Raises ValueError for other shapes, or a dimension that the
    tensor has not, IndexError for a place outside."""
    x, ids = as_tensor(input, "gather_elements"), as_tensor(index, "gather_elements")
    axis = axis_of("gather_elements", dim, x.ndim)
    if ids.ndim != x.ndim:
        raise ValueError(f"[gather_elements] wrong number of dimensions, got {ids.ndim} of indices, expected {x.ndim}")
    if any(n > m for i, (n, m) in enumerate(zip(ids.shape, x.shape)) if i != axis):
        raise ValueError(f"[gather_elements] more indices than elements, got {ids.shape}, expected within {x.shape}")
    x = sliced(x, [(0, n) if i == axis else (0, m) for i, (n, m) in enumerate(zip(x.shape, ids.shape))])
    ids = ids if ids.dtype in (mstype.int32, mstype.int64) else cast(ids, mstype.int64)
    size = x.shape[axis]
    ids = ids + size * cast(ids < 0, ids.dtype) if _has_negative(ids) else ids
    last = x.ndim - 1
    if axis != last:
        x, ids = swapaxes(x, axis, last), swapaxes(ids, axis, last)
    taken = run(lambda trace, a, i: F.take_along(a, i), x, ids)
    return taken if axis == last else swapaxes(taken, axis, last)


def _has_negative(ids):
    return ids._symbol is not None or bool((ids.asnumpy() < 0).any())


def _require_inside(where, ids, sizes):
    """Raises IndexError for known places ids[.., q] that are outside of the first dimensions."""
    if ids._symbol is not None or _trace.current() is not None:
        return
    values = ids.asnumpy().reshape(-1, len(sizes))
    outside = values[((values < 0) | (values >= np.array(sizes, np.int64))).any(1)]
    if len(outside):
        raise IndexError(f"[{where}] outside the tensor, got {outside[0].tolist()}, expected within {tuple(sizes)}")


def gather_nd(input_x: Tensor | float, indices: Tensor | float) -> Tensor:
    """The slices at places that the last dimension of the indices has, one number from 0 for each of the first
    dimensions: indices [.., q] of a tensor of n dimensions give [.., and its last n - q]. Raises IndexError for known
    places outside, ValueError for more numbers than dimensions, TypeError for others than int32 and int64."""
    x, ids = as_tensor(input_x, "gather_nd"), as_tensor(indices, "gather_nd")
    count = ids.shape[-1]
    if count > x.ndim:
        raise ValueError(f"[gather_nd] too many numbers in a place, got {count}, expected at most {x.ndim}")
    if ids.dtype not in (mstype.int32, mstype.int64):
        raise TypeError(f"[gather_nd] the ids are of another type, got {ids.dtype}, expected int32 or int64")
    _require_inside("gather_nd", ids, x.shape[:count])
    steps = np.ones(count, np.int64)
    for k in range(count - 2, -1, -1):
        steps[k] = steps[k + 1] * x.shape[k + 1]
    number = None
    for k in range(count):
        part = mul(reshape(ids[(..., slice(k, k + 1))], ids.shape[:-1]), int(steps[k]))
        number = part if number is None else add(number, part)
    rows = reshape(x, [-1, *x.shape[count:]])
    return gather(rows, number, 0)


def index_select(input: Tensor | float, axis: int, index: Tensor | float) -> Tensor:
    """The slices along a dimension at places in int32 or int64, those below 0 from the end; its size becomes their
    number. Raises IndexError for a known place outside, ValueError for an axis that the tensor has not, TypeError for
    other indices."""
    return gather(input, index, axis_of("index_select", axis, as_tensor(input, "index_select").ndim))


def require_known(where, *tensors):
    """Raises NotImplementedError where values are not known: in programs that are compiled once. In a step whose Python
    runs every time they are."""
    build = _trace.current()
    if (build is not None and not build.is_recorded) or any(one._is_symbolic for one in tensors):
        raise NotImplementedError(
            f"[{where}] the result needs values, got a call within a program, expected one outside of it, or ops.select"
        )


def nonzero(input: Tensor | float, *, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """The places of the elements other than 0 as int64: a row for each, [count, dimensions], or a tensor [count] for
    each dimension. Raises NotImplementedError in a network that is compiled once, TypeError for bfloat16."""
    x = as_tensor(input, "nonzero")
    require_known("nonzero", x)
    places = np.nonzero(x.asnumpy())
    if as_tuple:
        return tuple(Tensor(one.astype(np.int64)) for one in places)
    return Tensor(np.stack(places, axis=-1).astype(np.int64))


def unique_consecutive(
    input: Tensor | float, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The elements without those that are equal to the one before, in one row or of slices along a dimension; also
    which of them each element is, in the shape of `input` or one for each slice, and how many there are of each, as
    int64. Raises NotImplementedError in a network that is compiled once, ValueError for a dimension that the tensor has
    not."""
    x = as_tensor(input, "unique_consecutive")
    require_known("unique_consecutive", x)
    dim = None if dim is None else axis_of("unique_consecutive", dim, x.ndim)
    values = x.asnumpy()
    rows = values.reshape(-1) if dim is None else np.moveaxis(values, dim, 0)
    flat = rows.reshape(len(rows), -1)
    begins = np.ones(len(rows), bool)
    begins[1:] = (flat[1:] != flat[:-1]).any(1)
    kept = rows[begins] if dim is None else np.moveaxis(rows[begins], 0, dim)
    found = [Tensor(np.ascontiguousarray(kept))]
    which = np.cumsum(begins) - 1
    if return_inverse:
        found.append(Tensor((which.reshape(values.shape) if dim is None else which).astype(np.int64)))
    if return_counts:
        found.append(Tensor(np.bincount(which).astype(np.int64)))
    return found[0] if len(found) == 1 else tuple(found)


def masked_select(input: Tensor | float, mask: Tensor | float) -> Tensor:
    """The elements where a mask of bools holds, in one row; both broadcast. Raises ValueError for shapes that do not,
    TypeError for another mask, and NotImplementedError in a network that is compiled once."""
    x, chosen = as_tensor(input, "masked_select"), as_tensor(mask, "masked_select")
    build = _trace.current()
    if build is None or not build.is_recorded:  # a program whose shapes are those of its values at this time
        require_known("masked_select", x, chosen)
    if chosen.dtype != mstype.bool_:
        raise TypeError(f"[masked_select] the mask is not of bools, got {chosen.dtype}, expected Bool")
    shape = broadcast_shape("masked_select", x.shape, chosen.shape) or (1,)
    return tensor_index(broadcast_to(x, shape), broadcast_to(chosen, shape))
