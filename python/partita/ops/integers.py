"""Operations on the bits and the divisors of integers, of which NumPy computes those that the library does not have."""

from __future__ import annotations

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import zeros_like
from partita.ops.elementwise import logical_not, sub
from partita.ops.kinds import by_numpy, integers, pair
from partita.ops.support import as_tensor

__all__ = (
    "bitwise_left_shift bitwise_not bitwise_right_shift gcd invert lcm nextafter population_count"
).split()


def _of_integers(where, function, input, other):
    a, b = integers(where, *pair(where, input, other))
    return by_numpy(where, function, a, b)


def gcd(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The greatest common divisor of each pair of integers, broadcast. Raises TypeError for floats, ValueError for
    shapes that do not broadcast."""
    return _of_integers("gcd", np.gcd, input, other)


def lcm(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The least common multiple of each pair of integers, broadcast. Raises TypeError for floats, ValueError for shapes
    that do not broadcast."""
    return _of_integers("lcm", np.lcm, input, other)


def bitwise_left_shift(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The bits of integers moved to higher places, by numbers that are broadcast. Raises TypeError for floats,
    ValueError for shapes that do not broadcast."""
    return _of_integers("bitwise_left_shift", np.left_shift, input, other)


def bitwise_right_shift(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The bits of integers moved to lower places, by numbers that are broadcast; the sign stays. Raises TypeError for
    floats, ValueError for shapes that do not broadcast."""
    return _of_integers("bitwise_right_shift", np.right_shift, input, other)


def invert(x: Tensor | float) -> Tensor:
    """The bits of integers that are not set, -1 - x; of bools the opposite."""
    x = as_tensor(x, "invert")
    if x.dtype == mstype.bool_:
        return logical_not(x)
    (x,) = integers("invert", x)
    if x.dtype in mstype.int_type:
        return sub(-1, x)
    return by_numpy("invert", np.invert, x)


def bitwise_not(input: Tensor | float) -> Tensor:
    """The bits of integers that are not set; of bools the opposite."""
    return invert(input)


def _bits(values):
    """The number of bits of each integer that are set."""
    size = values.dtype.itemsize
    bytes_of = np.ascontiguousarray(values).reshape(*values.shape, 1).view(np.uint8)
    return np.unpackbits(bytes_of.reshape(*values.shape, size), axis=-1).sum(-1).astype(np.uint8)


def population_count(input_x: Tensor | float) -> Tensor:
    """The number of bits of each integer that are set, as uint8."""
    (x,) = integers("population_count", as_tensor(input_x, "population_count"))
    return by_numpy("population_count", _bits, x, dtype=mstype.uint8)


def nextafter(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The number of the type next to each element, towards that of `other`, broadcast; its gradient is that of `input`.
    Raises TypeError for other types than float32 and float64."""
    a, b = pair("nextafter", input, other)
    if a.dtype not in (mstype.float32, mstype.float64):
        raise TypeError(f"[nextafter] no such numbers, got {a.dtype}, expected float32 or float64")
    return by_numpy("nextafter", np.nextafter, a, b, bprop=_first_alone)


def _first_alone(x, y, out, dout):
    return dout, zeros_like(dout)
