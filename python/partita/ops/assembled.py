"""Tensors in parts, and parts as tensors: along the second and third dimension, in blocks and in all combinations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.arranged import meshgrid, tensor_split, vstack
from partita.ops.creation import full
from partita.ops.elementwise import cast
from partita.ops.reversal import flip
from partita.ops.shapes import broadcast_to, concat, gather, reshape, stack, swapaxes, tensor_index
from partita.ops.support import as_tensor, axis_of

__all__ = (
    "atleast_3d cartesian_prod column_stack combinations dsplit dstack expand expand_as hsplit ravel rot90"
    " row_stack strided_slice take view_as vsplit"
).split()


def _split(where, input, indices_or_sections, axis):
    x = as_tensor(input, where)
    if x.ndim <= axis:
        raise ValueError(f"[{where}] too few dimensions, got {x.shape}, expected at least {axis + 1}")
    return tensor_split(x, indices_or_sections, axis)


def vsplit(input: Tensor | float, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Parts along the first dimension, of a tensor of two or more, in a tuple: see tensor_split. Raises ValueError for
    less than two dimensions."""
    if as_tensor(input, "vsplit").ndim < 2:
        raise ValueError(f"[vsplit] too few dimensions, got {as_tensor(input).shape}, expected at least 2")
    return _split("vsplit", input, indices_or_sections, 0)


def hsplit(input: Tensor | float, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Parts along the second dimension, in a tuple: see tensor_split. Raises ValueError for less than two dimensions.
    """
    return _split("hsplit", input, indices_or_sections, 1)


def dsplit(input: Tensor | float, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Parts along the third dimension, in a tuple: see tensor_split. Raises ValueError for less than three dimensions.
    """
    return _split("dsplit", input, indices_or_sections, 2)


def atleast_3d(inputs: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """A tensor of at least three dimensions, or each of a list or tuple: a row has one element before and after, a
    matrix one after. Raises TypeError for what holds no numbers."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_3d(one) for one in inputs)
    x = as_tensor(inputs, "atleast_3d")
    if x.ndim > 2:
        return x
    return reshape(x, [*x.shape, 1] if x.ndim == 2 else [1, x.size, 1])


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one after the other along the third dimension; vectors [n] are [1, n, 1]. Raises ValueError for
    shapes that differ elsewhere."""
    return concat([atleast_3d(one) for one in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one after the other along the second dimension; rows and numbers are columns. Raises ValueError for
    shapes that differ elsewhere."""
    parts = [as_tensor(one, "column_stack") for one in tensors]
    return concat([reshape(one, [one.size, 1]) if one.ndim < 2 else one for one in parts], 1)


def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one after the other along the first dimension; vectors are rows."""
    return vstack(tensors)


def cartesian_prod(*inputs: Tensor) -> Tensor:
    """All combinations of an element of each vector, one a row; the last vector goes fastest. Vectors of n and m
    elements give [n m, 2]. Raises TypeError for what holds no numbers."""
    grids = meshgrid(*inputs, indexing="ij")
    return stack([reshape(one, [-1]) for one in grids], -1)


def combinations(input: Tensor | float, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector in their order, one a row: [choices, r]; with replacement elements may come
    again. Raises ValueError for other than one dimension, or an r below 0."""
    x = as_tensor(input, "combinations")
    if x.ndim != 1 or r < 0:
        raise ValueError(f"[combinations] bad operands, got {x.shape} and r={r}, expected a vector, and r from 0")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(x.size), r)), np.int32).reshape(-1, r)
    if places.size == 0:
        return full(list(places.shape), 0, dtype=x.dtype)
    return gather(x, Tensor(places), 0)


def expand(input_x: Tensor | float, size: Sequence[int]) -> Tensor:
    """The elements repeated along dimensions of one element, and along new ones in front; -1 keeps a size."""
    sizes = size.asnumpy().tolist() if isinstance(size, Tensor) else size
    return broadcast_to(input_x, tuple(int(one) for one in sizes))


def expand_as(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The elements repeated along dimensions of one element, so that the shape is that of another tensor."""
    return broadcast_to(input, as_tensor(other, "expand_as").shape)


def view_as(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The elements in the shape of another tensor."""
    return reshape(input, as_tensor(other, "view_as").shape)


def ravel(input: Tensor | float) -> Tensor:
    """The elements in one row."""
    return reshape(input, [-1])


def take(input: Tensor | float, index: Tensor | float) -> Tensor:
    """The elements at places of all in one row, below 0 from its end: the result has the shape of the indices."""
    x, ids = reshape(as_tensor(input, "take"), [-1]), as_tensor(index, "take")
    return gather(x, cast(ids + x.size * cast(ids < 0, ids.dtype), ids.dtype), 0)


def rot90(input: Tensor | float, k: int, dims: Sequence[int]) -> Tensor:
    """The tensor turned k times by 90 degrees in the plane of two dimensions, from the first to the second, whose sizes
    change places if k is odd. Raises ValueError for one dimension twice."""
    x = as_tensor(input, "rot90")
    if len(dims) != 2:
        raise ValueError(f"[rot90] bad dims, got {dims}, expected two dimensions")
    first, second = (axis_of("rot90", one, x.ndim) for one in dims)
    if first == second:
        raise ValueError(f"[rot90] the dimensions are the same, got {dims}, expected two")
    turns = int(k) % 4
    if turns == 2:
        return flip(x, [first, second])
    if turns == 1:
        return swapaxes(flip(x, [second]), first, second)
    return flip(swapaxes(x, first, second), [second]) if turns == 3 else x


def strided_slice(
    input_x: Tensor | float,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """The elements from `begin` to `end` of each dimension, by steps. Bits of the masks name places: whose begin or end
    does not count, of an ellipsis, of a new dimension, of one element whose dimension is left out."""

    def part(bit, first, last, step):
        if ellipsis_mask & bit:
            return Ellipsis
        if new_axis_mask & bit:
            return None
        if shrink_axis_mask & bit:
            return first
        return slice(None if begin_mask & bit else first, None if end_mask & bit else last, step)

    return tensor_index(input_x, tuple(part(1 << i, *one) for i, one in enumerate(zip(begin, end, strides))))
