"""Signs, remainders, and the larger and smaller of numbers of which some are none."""

from __future__ import annotations

import math

import numpy as np

from partita import _trace
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.angles import sin
from partita.ops.arithmetic import has_sign, isclose, round, trunc, truncated_mod
from partita.ops.creation import full, zeros_like
from partita.ops.derived import isnan, stop_gradient
from partita.ops.elementwise import (
    abs,
    as_float,
    cast,
    div,
    equal,
    floor_div,
    floor_mod,
    greater,
    larger,
    less,
    logical_and,
    logical_not,
    mul,
    neg,
    real_div,
    select,
    smaller,
    sub,
)
from partita.ops.kinds import pair, typed
from partita.ops.reductions import all
from partita.ops.support import as_tensor, is_number

__all__ = (
    "absolute allclose approximate_equal conj copysign div_no_nan divide eps fix floordiv floormod fmax fmin fmod frac"
    " heaviside imag inv is_complex is_nonzero isnan_ext isneginf isposinf isreal mul_no_nan nan_to_num negative"
    " positive real rint sgn signbit sinc square_sum_all squared_difference subtract truncate_div truncate_mod"
).split()

absolute, negative, fix, floordiv, floormod = abs, neg, trunc, floor_div, floor_mod


def isnan_ext(tensor: Tensor | float) -> Tensor:
    """Whether elements are no numbers."""
    return isnan(tensor)


def positive(input: Tensor | float) -> Tensor:
    """The tensor itself, in its shape and type. Raises TypeError for what holds no numbers."""
    return as_tensor(input, "positive")


def real(input: Tensor | float) -> Tensor:
    """The real part: the tensor itself, in its shape, there are no complex types. Raises TypeError for what holds no
    numbers."""
    return as_tensor(input, "real")


def imag(input: Tensor | float) -> Tensor:
    """The imaginary part: zeros in the type of the tensor, there are no complex types."""
    return zeros_like(as_tensor(input, "imag"))


def conj(input: Tensor | float) -> Tensor:
    """The conjugate: the tensor itself, in its shape, there are no complex types. Raises TypeError for what holds no
    numbers."""
    return as_tensor(input, "conj")


def subtract(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """input - alpha other of each pair of elements, broadcast. Raises ValueError for shapes that do not broadcast."""
    if alpha == 1 and isinstance(other, Tensor) and other.dtype == mstype.bool_:
        return sub(input, cast(other, mstype.int64))
    return sub(input, other if alpha == 1 else mul(other, alpha))


def divide(input: Tensor | float, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient, broadcast; see `div`."""
    return div(input, other, rounding_mode=rounding_mode)


def truncate_div(x: Tensor | float, y: Tensor | float) -> Tensor:
    """The quotient, broadcast, rounded towards 0; of integers an integer. Raises ValueError for shapes that do not
    broadcast."""
    found = real_div(x, y)
    return trunc(stop_gradient(found)) if mstype.is_float(found.dtype) else found


def truncate_mod(x: Tensor | float, y: Tensor | float) -> Tensor:
    """x - truncate_div(x, y) y, broadcast: with the sign of x."""
    return truncated_mod(x, y)


def fmod(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The remainder of a division that rounds towards 0, of each pair of elements, broadcast: with the sign of `input`.
    A tensor without dimensions as `other` takes the element type of `input`, if both have floats, or integers. Raises
    ValueError for shapes that do not broadcast."""
    if isinstance(input, Tensor) and isinstance(other, Tensor) and other.ndim == 0 < input.ndim:
        same_kind = mstype.is_float(other.dtype) == mstype.is_float(input.dtype)
        other = typed(other, input.dtype) if same_kind and input.dtype != mstype.bool_ else other
    return truncate_mod(input, other)


def fmax(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The larger of each pair of elements, broadcast; of a number and none the number. Raises ValueError for shapes
    that do not broadcast."""
    return _known("fmax", larger, input, other)


def fmin(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The smaller of each pair of elements, broadcast; of a number and none the number. Raises ValueError for shapes
    that do not broadcast."""
    return _known("fmin", smaller, input, other)


def _known(where, chosen, input, other):
    a, b = pair(where, input, other)
    if not mstype.is_float(a.dtype):
        return chosen(a, b)
    return select(isnan(a), b, select(isnan(b), a, chosen(a, b)))


def copysign(x: Tensor | float, other: Tensor | float) -> Tensor:
    """The magnitude of x with the sign of `other`, broadcast, in the type of x; of integers as float32. Raises
    ValueError for shapes that do not broadcast."""
    a = as_float(as_tensor(x, "copysign"))
    b = as_float(as_tensor(float(other) if is_number(other) else other, "copysign"))
    size = abs(a)
    return select(has_sign(b), neg(size), size)


def signbit(input: Tensor | float) -> Tensor:
    """Whether each element is below 0: bools in the shape of `input`. Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "signbit")
    return full(x.shape, False, dtype=mstype.bool_) if x.dtype == mstype.bool_ else less(x, 0)


def sgn(input: Tensor | float) -> Tensor:
    """-1, 0 or 1 of each element, and 0 of what is no number; its gradient is 0. Raises TypeError for what holds no
    numbers."""
    x = as_tensor(input, "sgn")
    return sub(cast(greater(x, 0), x.dtype), cast(less(x, 0), x.dtype))


def heaviside(input: Tensor | float, values: Tensor | float) -> Tensor:
    """0 of negative elements, 1 of positive ones and `values` of zeros, broadcast. Raises ValueError for shapes that do
    not broadcast."""
    x, y = pair("heaviside", input, values)
    return select(equal(x, 0), y, cast(greater(x, 0), x.dtype))


def frac(x: Tensor | float) -> Tensor:
    """The part of each element that truncation takes away, with its sign, in the shape and the type of x. Raises
    TypeError for what holds no numbers."""
    x = as_tensor(x, "frac")
    x = cast(x, mstype.int64) if x.dtype == mstype.bool_ else x
    return sub(x, trunc(x))


def sinc(input: Tensor | float) -> Tensor:
    """sin(pi x) / (pi x) of each element, and 1 at 0; of integers as float32. Raises TypeError for what holds no
    numbers."""
    x = as_float(as_tensor(input, "sinc"))
    none, one = equal(x, 0.0), Tensor(1.0, x.dtype)
    angle = mul(select(none, one, x), math.pi)
    return select(none, one, div(sin(angle), angle))


def rint(x: Tensor | float) -> Tensor:
    """The nearest integers, of two as near the even one, as floats."""
    return round(x)


def inv(x: Tensor | float) -> Tensor:
    """1 / x of each element, in the shape and the type of `x`; of integers rounded towards 0, and 0 of 0. Raises
    TypeError for what holds no numbers."""
    x = as_tensor(x, "inv")
    if mstype.is_float(x.dtype):
        return div(1.0, x)
    return sub(cast(equal(x, 1), x.dtype), cast(equal(x, -1), x.dtype))


def nan_to_num(
    input: Tensor | float, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Numbers in place of NaN (0 without one) and of the infinities (the largest ones of the type), in the shape and
    the type of `input`. Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "nan_to_num")
    if not mstype.is_float(x.dtype):
        return x
    most = 3.3895313892515355e38 if x.dtype == mstype.bfloat16 else float(np.finfo(x.dtype.numpy).max)
    for where, value in (
        (isnan(x), 0.0 if nan is None else nan),
        (equal(x, math.inf), most if posinf is None else posinf),
        (equal(x, -math.inf), -most if neginf is None else neginf),
    ):
        x = select(where, Tensor(float(value), x.dtype), x)
    return x


def isposinf(input: Tensor | float) -> Tensor:
    """Whether each element is infinite and positive: bools in the shape of `input`. Raises TypeError for what holds no
    numbers."""
    return _equal_to("isposinf", input, math.inf)


def isneginf(input: Tensor | float) -> Tensor:
    """Whether each element is infinite and negative: bools in the shape of `input`. Raises TypeError for what holds no
    numbers."""
    return _equal_to("isneginf", input, -math.inf)


def _equal_to(where, input, value):
    x = as_tensor(input, where)
    if not mstype.is_float(x.dtype):
        return full(x.shape, False, dtype=mstype.bool_)
    return equal(x, value)


def isreal(input: Tensor | float) -> Tensor:
    """Whether each element is a real number, as all are: there are no complex types. Raises TypeError for what holds no
    numbers."""
    return full(as_tensor(input, "isreal").shape, True, dtype=mstype.bool_)


def is_complex(input: Tensor) -> bool:
    """False: there are no complex types. Raises TypeError for what is no tensor."""
    if not isinstance(input, Tensor):
        raise TypeError(f"[is_complex] operand is not a tensor, got {type(input).__name__}, expected a Tensor")
    return False


def is_nonzero(input: Tensor | float) -> bool:
    """Whether the only element is other than 0, as a bool. Raises ValueError for several elements."""
    x = as_tensor(input, "is_nonzero")
    if x.size != 1:
        raise ValueError(f"[is_nonzero] not one element, got shape {x.shape}, expected one")
    return bool(x.reshape(()) != 0)


def approximate_equal(x: Tensor | float, y: Tensor | float, tolerance: float = 1e-05) -> Tensor:
    """Whether |x - y| < tolerance, broadcast."""
    a, b = pair("approximate_equal", x, y)
    return less(abs(sub(a, b)), tolerance)


def allclose(
    input: Tensor | float, other: Tensor | float, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool | Tensor:
    """Whether |input - other| <= atol + rtol |other| for all elements, broadcast: a bool, within a network a tensor.
    Raises ValueError for shapes that do not broadcast."""
    found, build = all(isclose(input, other, rtol, atol, equal_nan)), _trace.current()
    return bool(found) if build is None or build.is_recorded else found


def eps(x: Tensor | float) -> Tensor:
    """The distance from 1 to the next number of the element type, in the shape of x."""
    x = as_tensor(x, "eps")
    if not mstype.is_float(x.dtype):
        raise TypeError(f"[eps] no floats, got {x.dtype}, expected floating-point numbers")
    return full(x.shape, 2.0**-7 if x.dtype == mstype.bfloat16 else float(np.finfo(x.dtype.numpy).eps), dtype=x.dtype)


def mul_no_nan(x: Tensor | float, y: Tensor | float) -> Tensor:
    """x y, broadcast; 0 where y is 0, whatever x is."""
    a, b = pair("mul_no_nan", x, y)
    if not mstype.is_float(a.dtype):
        return mul(a, b)
    infinite = logical_and(equal(b, 0.0), logical_not(less(abs(a), math.inf)))
    return mul(select(infinite, Tensor(0.0, a.dtype), a), b)


def div_no_nan(x: Tensor | float, y: Tensor | float) -> Tensor:
    """x / y of each pair of elements, broadcast; 0 where y is 0, whatever x is. Of integers an integer, rounded towards
    0. Raises ValueError for shapes that do not broadcast."""
    a, b = pair("div_no_nan", x, y)
    none = equal(b, 0)
    zero, over = Tensor(0, a.dtype), select(none, Tensor(1, b.dtype), b)
    return select(none, zero, real_div(select(none, zero, a), over))


def squared_difference(x: Tensor | float, y: Tensor | float) -> Tensor:
    """(x - y)^2 of each pair of elements, broadcast. Raises ValueError for shapes that do not broadcast."""
    gap = sub(*pair("squared_difference", x, y))
    return mul(gap, gap)


def square_sum_all(x: Tensor | float, y: Tensor | float) -> tuple[Tensor, Tensor]:
    """(the sum of the squares of x, that of y)."""
    return tuple(mul(one, one).sum() for one in (x, y))
