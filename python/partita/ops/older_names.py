"""Functions under the names that client libraries import from the module of functions."""

from __future__ import annotations

from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import add, cast, div, floor_div, mul, pow, sub
from partita.ops.shapes import concat, reshape, split, swapaxes
from partita.ops.support import as_tensor, axis_of

__all__ = (
    "addn atleast_1d atleast_2d cross floor_divide mixed_precision_cast multiply t tensor_add tensor_mul"
    " tensor_pow tensor_sub true_divide"
).split()


def addn(x: Sequence[Tensor]) -> Tensor:
    """The sum of the tensors of a tuple or list, of one shape, or the only one. Raises ValueError without one, and for
    shapes that do not broadcast."""
    parts = list(x) if isinstance(x, (tuple, list)) else [x]
    if not parts:
        raise ValueError("[addn] nothing to add, got no tensors, expected one or more")
    total = as_tensor(parts[0], "addn")
    for one in parts[1:]:
        total = add(total, one)
    return total


def mixed_precision_cast(dst_type: mstype.DType | str | type, x: object) -> object:
    """A tensor of floating-point numbers in another element type, in its shape, also in tuples and lists; others as
    they are. Raises TypeError for an unknown type."""
    if isinstance(x, (tuple, list)):
        return type(x)(mixed_precision_cast(dst_type, one) for one in x)
    return cast(x, dst_type) if isinstance(x, Tensor) and mstype.is_float(x.dtype) else x


def t(input: Tensor | float) -> Tensor:
    """A matrix with its dimensions exchanged; a vector or a number as it is. Raises ValueError for more than two
    dimensions."""
    x = as_tensor(input, "t")
    if x.ndim > 2:
        raise ValueError(f"[t] not a matrix, got shape {x.shape}, expected at most two dimensions")
    return swapaxes(x, 0, 1) if x.ndim == 2 else x


floor_divide, multiply, true_divide = floor_div, mul, div
tensor_add, tensor_mul, tensor_pow, tensor_sub = add, mul, pow, sub


def atleast_1d(inputs: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """A tensor of at least one dimension, or each of a list or tuple. Raises TypeError for what holds no numbers."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_1d(one) for one in inputs)
    x = as_tensor(inputs, "atleast_1d")
    return x if x.ndim else reshape(x, [1])


def atleast_2d(inputs: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """A tensor of at least two dimensions, the first of one element, or each of a list or tuple. Raises TypeError for
    what holds no numbers."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_2d(one) for one in inputs)
    x = as_tensor(inputs, "atleast_2d")
    return x if x.ndim > 1 else reshape(x, [1, -1])


def cross(input: Tensor | float, other: Tensor | float, dim: int | None = None) -> Tensor:
    """The products of vectors of three elements along a dimension, in the shape of both: the first one of this size
    where none is given. Raises ValueError for a dimension of another size, or none of this one."""
    a, b = as_tensor(input, "cross"), as_tensor(other, "cross")
    sizes = list(a.shape)
    if a.shape != b.shape or 3 not in sizes:
        raise ValueError(f"[cross] the shapes do not fit, got {a.shape} and {b.shape}, expected three elements")
    axis = sizes.index(3) if dim is None else axis_of("cross", dim, a.ndim)
    if sizes[axis] != 3:
        raise ValueError(f"[cross] no vectors of three elements, got {a.shape} along {axis}, expected 3")
    (a0, a1, a2), (b0, b1, b2) = (split(one, 1, axis) for one in (a, b))
    parts = ((a1, b2, a2, b1), (a2, b0, a0, b2), (a0, b1, a1, b0))
    return concat([sub(mul(p, q), mul(r, s)) for p, q, r, s in parts], axis)
