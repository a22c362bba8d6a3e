"""Arrays in other shapes and orders, with the names of NumPy."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from partita.common.tensor import Tensor
from partita.numpy.tensors import ArrayLike, sizes_of, tensor_of
from partita.ops import functional as F

__all__ = (
    "array_split atleast_1d broadcast_to column_stack concatenate expand_dims flip fliplr flipud hstack moveaxis "
    "ndim ravel repeat reshape roll rot90 shape size split squeeze stack swapaxes tile transpose vstack"
).split()


def reshape(x: ArrayLike, new_shape: int | Sequence[int]) -> Tensor:
    """The elements in another shape."""
    return F.reshape(tensor_of(x), new_shape)


def ravel(x: ArrayLike) -> Tensor:
    """The elements in one row."""
    return F.reshape(tensor_of(x), [-1])


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Tensor:
    """The dimensions in another order, or reversed."""
    x = tensor_of(a)
    return F.transpose(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Tensor:
    """The tensor with two dimensions exchanged."""
    return F.swapaxes(tensor_of(x), axis1, axis2)


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """The dimensions in an order in which some have other places."""
    return F.moveaxis(tensor_of(a), source, destination)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Tensor:
    """The tensor with dimensions of one element more, which have the places `axis` in the result."""
    x = tensor_of(a)
    axes = [axis] if isinstance(axis, numbers.Integral) else list(axis)
    rank = x.ndim + len(axes)
    for one in sorted(one + rank if one < 0 else one for one in axes):
        x = F.expand_dims(x, one)
    return x


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without dimensions of one element."""
    return F.squeeze(tensor_of(a), axis)


def broadcast_to(array: ArrayLike, shape: int | Sequence[int]) -> Tensor:
    """The elements repeated along dimensions, as a tensor of a shape. Raises ValueError for a shape to which they
    cannot be broadcast."""
    return F.broadcast_to(tensor_of(array), sizes_of(shape))


def atleast_1d(*arys):
    """Tensors of at least one dimension."""
    made = [F.reshape(one, [1]) if one.ndim == 0 else one for one in map(tensor_of, arys)]
    return made[0] if len(made) == 1 else made


def concatenate(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Tensor:
    """Tensors one after the other along a dimension, in which alone their sizes may differ; in one row with
    `axis=None`."""
    parts = [tensor_of(one) for one in arrays]
    return F.concat([ravel(one) for one in parts] if axis is None else parts, axis or 0)


def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> Tensor:
    """Tensors of one shape one after the other along a new dimension, which has the place `axis`."""
    return F.stack([tensor_of(one) for one in arrays], axis)


def hstack(tup: Sequence[ArrayLike]) -> Tensor:
    """Tensors one after the other along the second dimension, or the only one of vectors."""
    return F.hstack([tensor_of(one) for one in tup])


def vstack(tup: Sequence[ArrayLike]) -> Tensor:
    """Tensors one after the other along the first dimension; vectors are rows."""
    return F.vstack([tensor_of(one) for one in tup])


def column_stack(tup: Sequence[ArrayLike]) -> Tensor:
    """Tensors one after the other along the second dimension; vectors are columns."""
    parts = [tensor_of(one) for one in tup]
    return F.concat([F.reshape(one, [-1, 1]) if one.ndim < 2 else one for one in parts], 1)


def split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...] | list[Tensor]:
    """Equal parts along a dimension, as a tuple, or those between places, as a list. Raises ValueError for a number of
    parts that does not divide the size."""
    x = tensor_of(x)
    if isinstance(indices_or_sections, numbers.Integral):
        size = x.shape[axis]
        if size % indices_or_sections:
            raise ValueError(f"[split] parts are not equal, got {indices_or_sections} of {size}, expected a divisor")
        return F.split(x, size // indices_or_sections, axis)
    return list(F.tensor_split(x, indices_or_sections, axis))


def array_split(
    x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0
) -> tuple[Tensor, ...] | list[Tensor]:
    """Parts along a dimension, as a tuple, of which the first ones may be larger by one; those between places, as a
    list."""
    parts = F.tensor_split(tensor_of(x), indices_or_sections, axis)
    return parts if isinstance(indices_or_sections, numbers.Integral) else list(parts)


def tile(a: ArrayLike, reps: int | Sequence[int]) -> Tensor:
    """The tensor several times along each dimension: `reps` is a number for each, the last ones of those of the tensor
    if there are fewer."""
    return F.tile(tensor_of(a), (reps,) if isinstance(reps, numbers.Integral) else tuple(reps))


def repeat(a: ArrayLike, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
    """Each element, along a dimension each slice, several times."""
    return F.repeat_interleave(tensor_of(a), repeats, axis)


def roll(a: ArrayLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    """The elements moved by `shift` places along dimensions, those beyond the last place to the first; without an axis
    as if all were in one row."""
    x = tensor_of(a)
    if not isinstance(shift, numbers.Integral) and isinstance(axis, numbers.Integral):
        axis = [axis] * len(shift)
    return F.roll(x, shift, axis)


def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """The elements in the opposite order along the dimensions `axis`, or along all of them."""
    x = tensor_of(m)
    return F.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def fliplr(m: ArrayLike) -> Tensor:
    """The columns in the opposite order."""
    return F.flip(tensor_of(m), 1)


def flipud(m: ArrayLike) -> Tensor:
    """The rows in the opposite order."""
    return F.flip(tensor_of(m), 0)


def rot90(a: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """The elements turned by quarters in the plane of two dimensions, from the first to the second."""
    x, (first, second) = tensor_of(a), axes
    for _ in range(k % 4):
        x = F.swapaxes(F.flip(x, second), first, second)
    return x


def ndim(a: ArrayLike) -> int:
    """The number of dimensions."""
    return tensor_of(a).ndim


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of dimensions."""
    return tensor_of(a).shape


def size(a: ArrayLike, axis: int | None = None) -> int:
    """The number of elements, or of those along a dimension."""
    x = tensor_of(a)
    return x.size if axis is None else x.shape[axis]
