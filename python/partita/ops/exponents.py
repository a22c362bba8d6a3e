"""Logarithms and powers of other bases, and products with them."""

from __future__ import annotations

import math
import numbers

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.derived import stop_gradient
from partita.ops.elementwise import (
    abs,
    add,
    as_float,
    cast,
    clamp,
    div,
    equal,
    greater,
    less,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    mul,
    neg,
    pow,
    select,
    softplus,
    sqrt,
    square,
    sub,
)
from partita.ops.kinds import floats, typed, wide
from partita.ops.support import as_tensor, is_number

__all__ = (
    "deg2rad exp2 float_power float_power_ext hypot ldexp log10 log2 logaddexp logaddexp2 logit rad2deg xdivy xlogy"
).split()


def _float(input, where):
    return as_float(as_tensor(input, where))


def log2(input: Tensor | float) -> Tensor:
    """The logarithm of base 2 of each element, in the shape of `input`; of integers as float32, and NaN below 0. Raises
    TypeError for what holds no numbers."""
    x = _float(input, "log2")
    return typed(div(log(wide(x)), math.log(2.0)), x.dtype)


def log10(input: Tensor | float) -> Tensor:
    """The logarithm of base 10 of each element, in the shape of `input`; of integers as float32, and NaN below 0.
    Raises TypeError for what holds no numbers."""
    x = _float(input, "log10")
    return typed(div(log(wide(x)), math.log(10.0)), x.dtype)


def exp2(input: Tensor | float) -> Tensor:
    """2 to the power of each element, in the shape of `input`; of integers as float32. Raises TypeError for what holds
    no numbers."""
    x = _float(input, "exp2")
    return typed(pow(2.0, wide(x)), x.dtype)


def logaddexp(input: Tensor | float, other: Tensor | float) -> Tensor:
    """log(exp(a) + exp(b)) of each pair of elements, broadcast, without overflow. Raises ValueError for shapes that do
    not broadcast."""
    a, b = floats("logaddexp", input, other)
    return typed(log_of_sum(wide(a), wide(b)), a.dtype)


def logaddexp2(input: Tensor | float, other: Tensor | float) -> Tensor:
    """log2(2^a + 2^b) of each pair of elements, broadcast, without overflow. Raises ValueError for shapes that do not
    broadcast."""
    a, b = floats("logaddexp2", input, other)
    base = math.log(2.0)
    return typed(div(log_of_sum(mul(wide(a), base), mul(wide(b), base)), base), a.dtype)


def log_of_sum(a, b):
    """max(a, b) + log(1 + exp(-|a - b|)); of equal infinities these, with finite gradients."""
    same = equal(a, b)
    gap = select(same, Tensor(0.0, a.dtype), sub(a, b))
    return add(maximum(a, b), softplus(neg(abs(gap))))


def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """A power of each pair of elements, broadcast, computed in float64 and given as it. Raises ValueError for shapes
    that do not broadcast, TypeError for two numbers."""
    if is_number(input) and is_number(exponent):
        raise TypeError(f"[float_power] no tensor, got {input!r} and {exponent!r}, expected one")
    base = float(input) if is_number(input) else cast(as_tensor(input, "float_power"), mstype.float64)
    power = float(exponent) if is_number(exponent) else cast(as_tensor(exponent, "float_power"), mstype.float64)
    return pow(Tensor(base, mstype.float64) if is_number(base) else base, power)


float_power_ext = float_power


def ldexp(x: Tensor | float, other: Tensor | float) -> Tensor:
    """x times 2 to the power of `other`, of each pair of elements, broadcast, of integers as float32. Raises ValueError
    for shapes that do not broadcast."""
    power = pow(2.0, other if is_number(other) else _float(other, "ldexp"))
    return mul(x if is_number(x) else _float(x, "ldexp"), power)


def xlogy(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input log(other) of each pair of elements, broadcast, of integers and numbers as float32; 0 where `input` is 0
    and `other` is a number. Raises ValueError for shapes that do not broadcast."""
    given = (Tensor(one, mstype.float32) if isinstance(one, numbers.Number) else one for one in (input, other))
    a, b = floats("xlogy", *given)
    usual = logical_and(greater(b, 0.0), less(b, math.inf))
    return mul(a, log(_or_one(logical_and(equal(a, 0.0), logical_not(usual)), b)))


def _or_one(where, x):
    """1, or NaN where `x` is none, in the shape and type of `x` where a condition holds, else `x`."""
    return select(where, select(equal(x, x), Tensor(1.0, x.dtype), x), x)


def xdivy(x: Tensor | float, y: Tensor | float) -> Tensor:
    """x / y of each pair of elements, broadcast; 0 where x is 0 and y is a number, with a gradient of 0. Raises
    ValueError for shapes that do not broadcast."""
    a, b = floats("xdivy", x, y)
    none = equal(a, 0.0)
    return div(select(none, Tensor(0.0, a.dtype), a), _or_one(none, b))


def logit(input: Tensor | float, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)) of elements from 0 to 1, which are first moved between `eps` and 1 - eps if it is given; of
    others NaN. The result has the shape of `input`; integers become float32. Raises TypeError for what holds no
    numbers."""
    x = _float(input, "logit")
    z = wide(x)
    if eps is not None and eps >= 0:
        z = clamp(z, eps, 1.0 - eps)
        return typed(sub(log(z), log(sub(1.0, z))), x.dtype)
    outside = logical_or(less(z, 0.0), greater(z, 1.0))
    valid = select(outside, Tensor(math.nan, z.dtype), Tensor(1.0, z.dtype))  # also of gradients
    return typed(mul(sub(log(z), log(sub(1.0, z))), valid), x.dtype)


def hypot(input: Tensor | float, other: Tensor | float) -> Tensor:
    """sqrt(a^2 + b^2) of each pair of elements, broadcast, without overflow, of integers as float32. Raises ValueError
    for shapes that do not broadcast."""
    a, b = floats("hypot", input, other)
    wide_a, wide_b = wide(a), wide(b)
    largest = maximum(abs(wide_a), abs(wide_b))
    usual = logical_and(greater(largest, 0.0), less(largest, math.inf))
    size = stop_gradient(select(usual, largest, Tensor(1.0, largest.dtype)))
    found = mul(size, sqrt(add(square(div(wide_a, size)), square(div(wide_b, size)))))
    infinite = logical_or(equal(abs(wide_a), math.inf), equal(abs(wide_b), math.inf))
    return typed(select(infinite, Tensor(math.inf, found.dtype), found), a.dtype)


def deg2rad(x: Tensor | float) -> Tensor:
    """Degrees as radians, in the shape of `x`; integers become float32. Raises TypeError for what holds no numbers."""
    return mul(_float(x, "deg2rad"), math.pi / 180)


def rad2deg(x: Tensor | float) -> Tensor:
    """Radians as degrees, in the shape of `x`; integers become float32. Raises TypeError for what holds no numbers."""
    return mul(_float(x, "rad2deg"), 180 / math.pi)
