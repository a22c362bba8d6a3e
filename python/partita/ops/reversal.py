"""Elements in the opposite order."""

import numbers

from partita.ops.support import F, as_tensor, attributes, axis_of, run

__all__ = ("flip", "fliplr", "flipud", "reverse")


def reversed_along(x, axis):
    """The elements in the opposite order along an axis."""
    attrs = attributes(axis=axis)
    return run(lambda trace, a: F.apply(trace, "reverse", [a], attrs)[0], x)


def flip(input, dims):
    """The elements in the opposite order along some dimensions."""
    x = as_tensor(input, "flip")
    for axis in [dims] if isinstance(dims, numbers.Integral) else dims:
        x = reversed_along(x, axis_of("flip", axis, x.ndim))
    return x


def flipud(input):
    """The rows in the opposite order."""
    return flip(input, 0)


def fliplr(input):
    """The columns in the opposite order."""
    return flip(input, 1)


def reverse(x, axis):
    """The elements in the opposite order along the dimensions of a tuple or list."""
    return flip(x, axis)
