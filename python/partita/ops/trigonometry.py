"""Sine, cosine and tangent, from polynomials over an eighth of a turn."""

import numpy as np

from partita import _trace
from partita.common import dtype as mstype
from partita.ops.creation import ones_like
from partita.ops.elementwise import add, as_float, cast, div, equal, floor, greater, less, mul, neg, select, sub
from partita.ops.support import as_tensor

__all__ = ("atan", "sin", "cos", "tan")

# Coefficients of x^3, x^5, .. and x^2, x^4, .. of the Taylor series: exact to float64 within pi / 4.
_OF_SINE = [-1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800, -1 / 1307674368000]
_OF_COSINE = [-1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600, -1 / 87178291200, 1 / 20922789888000]


def _series(square, coefficients):
    """sum of coefficients[k] square^(k + 1), by Horner's rule."""
    total = mul(square, coefficients[-1])
    for one in reversed(coefficients[:-1]):
        total = mul(add(total, one), square)
    return total


def _quarters(x):
    """(the number of quarter turns that is nearest, the rest). The quarter is a sum of numbers, so that no digits are
    lost where it is taken away."""
    turns = floor(add(mul(x, 2 / np.pi), 0.5))
    kind, bits = ("u8", 0xFFFFFFFF80000000) if x.dtype == mstype.float64 else ("u4", 0xFFFF8000)
    own = np.dtype(f"f{np.dtype(kind).itemsize}").type
    left, rest = x, np.longdouble("1.57079632679489661923132169163975144")
    for _ in range(3):  # of so few digits that their products with the turns are exact
        part = (np.array([own(rest)]).view(kind) & np.array([bits], kind)).view(own)[0]
        left = sub(left, mul(turns, float(part)))
        rest -= np.longdouble(part)
    return turns, sub(left, mul(turns, float(own(rest))))


def _turned(x, ahead):
    """The sine of x and `ahead` quarter turns."""
    turns, left = _quarters(x)
    square = mul(left, left)
    sine = add(left, mul(left, _series(square, _OF_SINE)))
    cosine = add(_series(square, _OF_COSINE), 1.0)
    turns = add(turns, float(ahead))
    quarter = sub(turns, mul(floor(mul(turns, 0.25)), 4.0))
    even = sub(quarter, mul(floor(mul(quarter, 0.5)), 2.0))
    found = select(equal(even, 0.0), sine, cosine)
    return select(equal(floor(mul(quarter, 0.5)), 0.0), found, neg(found))


def _of(name, ahead):
    def values(x):
        wide = cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x
        return cast(_turned(wide, ahead), x.dtype)

    def gradient(x, out, dout):
        return (mul(dout, cos(x) if ahead == 0 else neg(sin(x))),)

    def call(input):
        x = as_float(as_tensor(input, name))
        build = _trace.current()
        return values(x) if build is None else build.with_gradient(name, values, gradient, [x])

    call.__name__ = call.__qualname__ = name
    return call


sin, cos = _of("sin", 0), _of("cos", 1)
sin.__doc__, cos.__doc__ = "The sine of each element.", "The cosine of each element."


def tan(input):
    """The tangent of each element."""
    return div(sin(input), cos(input))


# Numerator and denominator of (atan(x) - x) / x^3 by x^2, up to x = 0.66: exact to float64.
_ATAN_ABOVE = [
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
]
_ATAN_BELOW = [
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
]


def _polynomial(x, coefficients):
    """The polynomial of these coefficients, that of the highest power first."""
    total = mul(x, 0.0)
    for one in coefficients:
        total = add(mul(total, x), one)
    return total


def atan(input):
    """The arc tangent, from -pi / 2 to pi / 2, of integers as float32."""
    x = as_float(as_tensor(input, "atan"))
    wide = cast(x, mstype.float64)
    is_negative = less(wide, 0.0)
    size = select(is_negative, neg(wide), wide)
    is_large, is_middle = greater(size, 1 + np.sqrt(2)), greater(size, 0.66)
    one = ones_like(size)
    near = select(is_large, one, size)  # so that no other branch is infinite
    turned = select(is_large, div(-1.0, select(is_large, size, one)), div(sub(near, 1.0), add(near, 1.0)))
    rest = select(is_middle, turned, near)
    begin = mul(add(cast(is_large, mstype.float64), cast(is_middle, mstype.float64)), np.pi / 4)
    square = mul(rest, rest)
    share = mul(square, div(_polynomial(square, _ATAN_ABOVE), _polynomial(square, _ATAN_BELOW)))
    angle = add(begin, add(rest, mul(rest, share)))
    signed = select(is_negative, neg(angle), angle)
    return cast(select(equal(wide, 0.0), wide, signed), x.dtype)  # -0.0 stays
