"""Arrays joined, cut, and functions applied along dimensions, with the names of NumPy."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence

import numpy as np

from partita.common.dtype import int32
from partita.common.tensor import Tensor
from partita.numpy.shapes import moveaxis, ravel, split
from partita.numpy.sums import diag
from partita.numpy.tensors import ArrayLike, tensor_of
from partita.ops import functional as F

__all__ = (
    "append apply_along_axis apply_over_axes array_str atleast_2d atleast_3d broadcast_arrays choose cross diagflat "
    "diff dsplit dstack ediff1d hsplit kron matrix_power multi_dot piecewise rollaxis select take_along_axis vsplit"
).split()


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tensor:
    """One array after another along a dimension, or both in one row without an axis."""
    parts = [tensor_of(arr), tensor_of(values)]
    return F.concat([ravel(one) for one in parts] if axis is None else parts, axis or 0)


def apply_along_axis(func1d: Callable, axis: int, arr: ArrayLike, *args, **kwargs) -> Tensor:
    """The results of a function of each row along a dimension. Their dimensions stand in place of this one."""
    x = tensor_of(arr)
    axis = axis % x.ndim
    rows = F.reshape(moveaxis(x, axis, -1), [-1, x.shape[axis]])
    others = [n for i, n in enumerate(x.shape) if i != axis]
    made = [tensor_of(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])]
    found = F.reshape(F.stack(made), others + list(made[0].shape))
    inner, before = made[0].ndim, list(range(len(others)))
    order = before[:axis] + [len(others) + k for k in range(inner)] + before[axis:]
    return F.transpose(found, order) if order else found


def apply_over_axes(func: Callable, a: ArrayLike, axes: int | Sequence[int]) -> Tensor:
    """The result of a function of an array and a dimension, called for one dimension after the other. These keep their
    places."""
    x = tensor_of(a)
    for one in [axes] if isinstance(axes, numbers.Integral) else axes:
        axis = one % x.ndim
        made = tensor_of(func(x, axis))
        made = F.expand_dims(made, axis) if made.ndim == x.ndim - 1 else made
        if made.ndim != x.ndim:
            raise ValueError(f"[apply_over_axes] bad result, got shape {made.shape}, expected {x.ndim} dimensions")
        x = made
    return x


def array_str(a: ArrayLike) -> str:
    """The text of the elements."""
    return str(tensor_of(a).asnumpy())


def _at_least(where, shape_of, arys):
    made = [F.reshape(one, shape_of(list(one.shape))) for one in map(tensor_of, arys)]
    return made[0] if len(made) == 1 else made


def atleast_2d(*arys):
    """Tensors of at least two dimensions: vectors are rows."""
    return _at_least("atleast_2d", lambda shape: [1] * (2 - len(shape)) + shape, arys)


def _third(shape):
    if len(shape) < 2:
        return [1, *(shape or [1]), 1]
    return shape if len(shape) > 2 else [*shape, 1]


def atleast_3d(*arys):
    """Tensors of at least three dimensions: those of a matrix are the first two, that of a vector is the second."""
    return _at_least("atleast_3d", _third, arys)


def broadcast_arrays(*args) -> list[Tensor]:
    """The tensors repeated along dimensions, so that they have one shape, as a list."""
    tensors = [tensor_of(one) for one in args]
    shape = list(np.broadcast_shapes(*(one.shape for one in tensors)))
    return [F.broadcast_to(one, shape) for one in tensors]


def choose(a: ArrayLike, choices: Sequence[ArrayLike], mode: str = "clip") -> Tensor:
    """For each place the element of the choice whose number is there. Numbers outside are moved to the ends, or with
    "wrap" counted around."""
    if mode not in ("clip", "wrap"):
        raise ValueError(f"[choose] unknown mode, got {mode!r}, expected clip or wrap")
    parts = [tensor_of(choices[i]) for i in range(len(choices))]
    which, *parts = broadcast_arrays(F.cast(tensor_of(a), int32), *parts)
    count = len(parts)
    which = F.clip(which, 0, count - 1) if mode == "clip" else F.floor_mod(which, count)
    made = parts[0]
    for i, one in enumerate(parts[1:], 1):
        made = F.select(F.equal(which, i), one, made)
    return made


def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The products of vectors of two or three elements along a dimension, broadcast. A third element that is missing is
    0; of two vectors of two elements the third element alone is given."""
    a, b = tensor_of(a), tensor_of(b)
    axisa, axisb, axisc = (axis,) * 3 if axis is not None else (axisa, axisb, axisc)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise ValueError(f"[cross] no vectors, got {sizes} elements, expected two or three")
    parts = [[one[..., i] for i in range(one.shape[-1])] for one in (a, b)]
    if sizes == (2, 2):
        (a0, a1), (b0, b1) = parts
        return F.sub(F.mul(a0, b1), F.mul(a1, b0))
    (a0, a1, a2), (b0, b1, b2) = ([*one, F.mul(one[0], 0)] if len(one) == 2 else one for one in parts)
    pairs = ((a1, b2, a2, b1), (a2, b0, a0, b2), (a0, b1, a1, b0))
    made = F.stack([F.sub(F.mul(p, q), F.mul(r, s)) for p, q, r, s in pairs], -1)
    return moveaxis(made, -1, axisc)


def diagflat(v: ArrayLike, k: int = 0) -> Tensor:
    """The matrix with the elements, in one row, on a diagonal."""
    return diag(ravel(tensor_of(v)), k)


def _around(x, given, axis):
    """The elements before or after a tensor along a dimension: a number is one element."""
    one = F.cast(tensor_of(given), x.dtype)
    return F.broadcast_to(one, [1 if i == axis else n for i, n in enumerate(x.shape)]) if one.ndim == 0 else one


def diff(
    a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None
) -> Tensor:
    """The differences of neighbours along a dimension, n times, so that it has n elements fewer; with elements before
    and after."""
    x = tensor_of(a)
    if x.ndim == 0 or n < 0:
        raise ValueError(f"[diff] bad operands, got shape {x.shape} and n={n}, expected a dimension, n from 0")
    axis = axis % x.ndim
    parts = [_around(x, one, axis) if one is not None else None for one in (prepend, append)]
    parts = [one for one in (parts[0], x, parts[1]) if one is not None]
    x = F.concat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        size = x.shape[axis] - 1
        x = F.sub(F.narrow(x, axis, 1, size), F.narrow(x, axis, 0, size))
    return x


def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Tensor:
    """The differences of neighbours of all elements in one row, with elements before and after."""
    x = ravel(tensor_of(ary))
    parts = [None if one is None else F.cast(ravel(tensor_of(one)), x.dtype) for one in (to_begin, to_end)]
    parts = [one for one in (parts[0], diff(x), parts[1]) if one is not None]
    return F.concat(parts, 0) if len(parts) > 1 else parts[0]


def _split_along(name, axis, doc):
    def call(x: ArrayLike, indices_or_sections: int | Sequence[int]):
        return split(x, indices_or_sections, axis)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


vsplit = _split_along("vsplit", 0, "Equal parts along the first dimension, or those between places.")
hsplit = _split_along("hsplit", 1, "Equal parts along the second dimension, or those between places.")
dsplit = _split_along("dsplit", 2, "Equal parts along the third dimension, or those between places.")


def dstack(tup: Sequence[ArrayLike]) -> Tensor:
    """Tensors one after the other along the third dimension."""
    return F.concat([atleast_3d(one) for one in tup], 2)


def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The Kronecker product: blocks that are the second tensor times each element of the first one."""
    return F.kron(tensor_of(a), tensor_of(b))


def matrix_power(a: ArrayLike, n: int) -> Tensor:
    """The product of n equal matrices [..,m,m]; powers of its inverse for n below 0."""
    return F.matrix_power(tensor_of(a), n)


def multi_dot(arrays: Sequence[ArrayLike]) -> Tensor:
    """The product of matrices, of which the first and the last one may be vectors."""
    parts = [tensor_of(one) for one in arrays]
    if len(parts) < 2:
        raise ValueError(f"[multi_dot] too few arrays, got {len(parts)}, expected two or more")
    if parts[-1].ndim == 1:  # from the vector on
        made = parts[-1]
        for one in reversed(parts[:-1]):
            made = F.matmul(one, made)
        return made
    made = parts[0]
    for one in parts[1:]:
        made = F.matmul(made, one)
    return made


def piecewise(x: ArrayLike, condlist: Sequence[ArrayLike], funclist: Sequence, *args, **kw) -> Tensor:
    """For each element what the function of the first condition that holds gives, or its number; else what one more
    function gives, or 0. Functions get the whole tensor."""
    x = tensor_of(x)
    is_one = tensor_of(condlist[0]).ndim == 0 and x.ndim  # else rows of a tensor are the conditions
    conditions = [tensor_of(condlist)] if is_one else [tensor_of(condlist[i]) for i in range(len(condlist))]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"[piecewise] the functions do not fit, got {len(funclist)} for {len(conditions)} conditions, expected as "
            "many, or one more"
        )
    made = [one(x, *args, **kw) if callable(one) else one for one in funclist]
    choices = [F.broadcast_to(tensor_of(one), x.shape) for one in made]
    return select(conditions, choices[: len(conditions)], choices[-1] if len(choices) > len(conditions) else 0)


def rollaxis(x: ArrayLike, axis: int, start: int = 0) -> Tensor:
    """The tensor with a dimension moved before another one."""
    x = tensor_of(x)
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - 1 if axis < start else start)


def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Tensor:
    """For each place the element of the choice whose condition is the first one that holds, else the default."""
    conditions = [tensor_of(condlist[i]) for i in range(len(condlist))]
    choices = [tensor_of(choicelist[i]) for i in range(len(choicelist))]
    if len(conditions) != len(choices) or not conditions:
        raise ValueError(f"[select] the lists do not fit, got {len(conditions)} and {len(choices)}, expected as many")
    made = default if isinstance(default, numbers.Number) else tensor_of(default)
    for condition, one in zip(reversed(conditions), reversed(choices)):
        made = F.select(condition, one, made)
    return made


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None) -> Tensor:
    """The elements at places along a dimension, for each of the others; of all in one row without an axis."""
    x, ids = tensor_of(arr), tensor_of(indices)
    if axis is None:
        x, axis = ravel(x), 0
    if x.ndim != ids.ndim:
        raise ValueError(f"[take_along_axis] the shapes do not fit, got {x.shape} and {ids.shape}, expected as long")
    axis = axis % x.ndim
    around = np.broadcast_shapes(*([1 if i == axis else n for i, n in enumerate(one.shape)] for one in (x, ids)))
    def wide(one):
        return F.broadcast_to(one, [one.shape[axis] if i == axis else n for i, n in enumerate(around)])

    return F.gather_elements(wide(x), axis, wide(ids))
