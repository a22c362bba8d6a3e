"""More functions of elements and of pairs of them, with the names of NumPy."""

from __future__ import annotations

import math

import numpy as np

from partita.common.dtype import DTypeLike, bool_, float16, float32, is_float
from partita.common.tensor import Tensor
from partita.numpy.elements import binary, floor_divide, remainder, unary
from partita.numpy.tensors import ArrayLike, tensor_of, typed, values_of
from partita.ops import functional as F

__all__ = "divmod gcd isneginf isposinf isscalar lcm positive signbit".split()


def _wide(x):
    """Numbers with a fraction of at least 32 bits."""
    return F.cast(x, float32) if x.dtype == float16 else F.as_float(x)


def _cube_root(x):
    x = _wide(x)
    return F.mul(F.sign(x), F.pow(F.abs(x), 1 / 3))


def _turned_bits(x):
    """-1 - x; of unsigned integers the largest one less x."""
    if x.dtype == bool_:
        return F.logical_not(x)
    if is_float(x.dtype):
        raise TypeError(f"[invert] no bits to turn, got {x.dtype}, expected integers or bools")
    info = np.iinfo(x.dtype.numpy)
    return F.sub(Tensor(-1 if info.min else info.max, x.dtype), x)


def _with_sign(x1, x2):
    size = F.abs(x1)
    return F.select(F.less(x2, 0), F.neg(size), size)


def _root_of_squares(x1, x2):
    return F.sqrt(F.add(F.square(F.as_float(x1)), F.square(F.as_float(x2))))


def _step(x1, x2):
    one = F.ones_like(F.add(x1, x2))
    x2 = F.cast(x2, one.dtype)
    return F.select(F.less(x1, 0), F.mul(one, 0), F.select(F.equal(x1, 0), F.mul(one, x2), one))


def _log_of_sum(x1, x2):
    """log(exp(x1) + exp(x2)), without overflow."""
    x1, x2 = F.as_float(x1), F.as_float(x2)
    return F.add(F.maximum(x1, x2), F.log1p(F.exp(F.neg(F.abs(F.sub(x1, x2))))))


def _log2_of_sum(x1, x2):
    return F.mul(_log_of_sum(F.mul(F.as_float(x1), math.log(2)), F.mul(F.as_float(x2), math.log(2))), 1 / math.log(2))


def _float_power(x1, x2):
    return F.pow(F.cast(x1, float32), F.cast(x2, float32))


def _share(times, of):
    """x times a number over another one, each rounded to the type of x."""

    def call(x):
        x = F.as_float(x)
        return F.div(F.mul(x, Tensor(times, x.dtype)), Tensor(of, x.dtype))

    return call


_UNARY = {
    "bitwise_not": (_turned_bits, "The integers with all bits turned."),
    "cbrt": (_cube_root, "The cube root."),
    "deg2rad": (_share(math.pi, 180), "Degrees as radians."),
    "exp2": (lambda x: F.pow(Tensor(2, x.dtype), x), "Powers of 2."),
    "fabs": (F.abs, "The magnitude of each element."),
    "invert": (_turned_bits, "The integers with all bits turned."),
    "rad2deg": (_share(180, math.pi), "Radians as degrees."),
    "radians": (_share(math.pi, 180), "Degrees as radians."),
}
_BINARY = {
    "bitwise_and": (F.bitwise_and, "The bits that both have."),
    "bitwise_or": (F.bitwise_or, "The bits that one of both has."),
    "bitwise_xor": (F.bitwise_xor, "The bits that only one of both has."),
    "copysign": (_with_sign, "The magnitude of x1 with the sign of x2."),
    "float_power": (_float_power, "A power, as float32."),
    "fmod": (F.truncated_mod, "x1 less the quotient without its fraction times x2: it has the sign of x1."),
    "heaviside": (_step, "0 below 0, 1 above it, and x2 at 0."),
    "hypot": (_root_of_squares, "The root of the sum of squares."),
    "logaddexp": (_log_of_sum, "log(exp(x1) + exp(x2))."),
    "logaddexp2": (_log2_of_sum, "log2(2^x1 + 2^x2)."),
}
for _kind, _table in ((unary, _UNARY), (binary, _BINARY)):
    for _name, (_function, _doc) in _table.items():
        globals()[_name] = _kind(_function, _doc)
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name
        __all__.append(_name)


def positive(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """The elements as they are."""
    return typed(tensor_of(a), dtype)


def signbit(x: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Whether elements are below 0."""
    return typed(F.less(tensor_of(x), 0), dtype)


def _is_infinite(x, limit):
    x = tensor_of(x)
    return F.equal(x, limit) if is_float(x.dtype) else F.full(x.shape, False, dtype=bool_)


def isneginf(x: ArrayLike) -> Tensor:
    """Whether elements are minus infinity."""
    return _is_infinite(x, -math.inf)


def isposinf(x: ArrayLike) -> Tensor:
    """Whether elements are plus infinity."""
    return _is_infinite(x, math.inf)


def isscalar(element: ArrayLike) -> bool:
    """Whether this is a number or a text of Python, and no tensor."""
    return np.isscalar(element)


def divmod(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> tuple[Tensor, Tensor]:
    """(the largest integers that are not above x1 / x2, what is left of x1)."""
    return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)


def gcd(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """The greatest common divisors of integers, outside of programs that are compiled once."""
    return typed(Tensor(np.gcd(*values_of("gcd", x1, x2))), dtype)


def lcm(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """The least common multiples of integers, outside of programs that are compiled once."""
    return typed(Tensor(np.lcm(*values_of("lcm", x1, x2))), dtype)
