"""Elements in the opposite order."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from partita.common.tensor import Tensor
from partita.ops.support import F, as_tensor, attributes, axis_of, run

__all__ = ("flip", "fliplr", "flipud", "reverse")


def reversed_along(x, axis):
    """The elements in the opposite order along an axis."""
    attrs = attributes(axis=axis)
    return run(lambda trace, a: F.apply(trace, "reverse", [a], attrs)[0], x)


def flip(input: Tensor | float, dims: int | Sequence[int]) -> Tensor:
    """The elements in the opposite order along some dimensions, in the shape of `input`. Raises ValueError for a
    dimension that the tensor has not."""
    x = as_tensor(input, "flip")
    for axis in [dims] if isinstance(dims, numbers.Integral) else dims:
        x = reversed_along(x, axis_of("flip", axis, x.ndim))
    return x


def flipud(input: Tensor | float) -> Tensor:
    """The rows, along the first dimension, in the opposite order. Raises ValueError for a tensor without dimensions."""
    return flip(input, 0)


def fliplr(input: Tensor | float) -> Tensor:
    """The columns, along the second dimension, in the opposite order. Raises ValueError for less than two dimensions.
    """
    return flip(input, 1)


def reverse(x: Tensor | float, axis: int | Sequence[int]) -> Tensor:
    """The elements in the opposite order along the dimensions of a tuple or list, in the shape of `x`. Raises
    ValueError for a dimension that the tensor has not."""
    return flip(x, axis)
