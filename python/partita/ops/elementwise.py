"""Ops of each element by itself, broadcast."""

import math

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.support import F, as_tensor, attributes, is_number, number_dtype, run


def _unary(name, float_only=True):
    function = getattr(F, name)

    def call(x):
        x = as_tensor(x, name)
        if float_only and not mstype.is_float(x.dtype):
            x = cast(x, mstype.float32)
        return run(lambda trace, a: function(a), x)

    call.__name__ = name
    return call


for _name in ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "silu", "softplus", "erf"):
    globals()[_name] = _unary(_name)


for _name in ("neg", "square", "abs", "relu", "logical_not"):
    globals()[_name] = _unary(_name, float_only=False)


def _binary(name):
    function = getattr(F, name)

    def call(input, other):
        if is_number(input) and is_number(other):
            input = Tensor(input)
        if is_number(other):
            dtype = number_dtype(input, other)
            return run(
                lambda trace, a: function(a, trace.constant(float(other), dtype.core, [])), as_tensor(input, name)
            )
        if is_number(input):
            dtype = number_dtype(other, input)
            return run(
                lambda trace, b: function(trace.constant(float(input), dtype.core, []), b), as_tensor(other, name)
            )
        return run(lambda trace, a, b: function(a, b), as_tensor(input, name), as_tensor(other, name))

    call.__name__ = name
    return call


for _name in (
    "maximum",
    "minimum",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
):
    globals()[_name] = _binary(_name)


_add, _sub, _mul, _div = _binary("add"), _binary("sub"), _binary("mul"), _binary("div")


def _scaled(x, factor, offset):
    return run(lambda trace, a: F.scale(a, factor, offset), x)


def _scales(x, number):
    return is_number(number) and isinstance(x, Tensor) and mstype.is_float(x.dtype)


def add(input, other):
    """Sum, broadcast."""
    if _scales(input, other):
        return _scaled(input, 1.0, float(other))
    if _scales(other, input):
        return _scaled(other, 1.0, float(input))
    return _add(input, other)


def sub(input, other):
    """Difference, broadcast."""
    if _scales(input, other):
        return _scaled(input, 1.0, -float(other))
    if _scales(other, input):
        return _scaled(other, -1.0, float(input))
    return _sub(input, other)


def mul(input, other):
    """Product, broadcast."""
    if _scales(input, other):
        return _scaled(input, float(other), 0.0)
    if _scales(other, input):
        return _scaled(other, float(input), 0.0)
    return _mul(input, other)


def div(input, other):
    """Quotient, broadcast; of integers as float32."""
    input = input if is_number(input) else as_float(as_tensor(input, "div"))
    other = other if is_number(other) else as_float(as_tensor(other, "div"))
    if is_number(input) and is_number(other):
        input = Tensor(float(input))
    return _div(input, other)


def as_float(x):
    """The tensor itself, or as float32 when it holds integers."""
    return x if mstype.is_float(x.dtype) else cast(x, mstype.float32)


def pow(input, exponent):
    """A power. Of a tensor to a number, or of a positive tensor to a tensor."""
    if is_number(exponent):
        return run(lambda trace, a: F.pow(a, float(exponent)), as_float(as_tensor(input, "pow")))
    base = math.log(input) if is_number(input) and input > 0 else log(input)
    return exp(mul(as_tensor(exponent, "pow"), base))


def bias_add(input_x, bias):
    """x[n, c, ..] + bias[c]."""
    return run(
        lambda trace, x, b: F.apply(trace, "bias_add", [x, b], attributes(axis=1))[0],
        as_tensor(input_x, "bias_add"),
        as_tensor(bias, "bias_add"),
    )


def cast(input, dtype):
    """The same values in another element type."""
    dtype = mstype.to_dtype(dtype)
    return run(lambda trace, x: F.cast(x, dtype.core), as_tensor(input, "cast"))


def gelu(input, approximate="none"):
    """x times the normal distribution function of x, or ("tanh") GPT-2's form of it."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"[gelu] unknown form, got '{approximate}', expected none or tanh")
    return run(lambda trace, a: F.gelu(a, approximate == "tanh"), as_tensor(input, "gelu"))


def leaky_relu(input, alpha=0.2):
    return run(
        lambda trace, a: F.apply(trace, "leaky_relu", [a], attributes(slope=alpha))[0], as_tensor(input, "leaky_relu")
    )


def select(condition, input, other):
    """`input` where the condition holds, else `other`."""
    a, b = [one if isinstance(one, Tensor) else as_tensor(one, "select") for one in (input, other)]
    return run(lambda trace, c, x, y: F.select(c, x, y), as_tensor(condition, "select"), a, b)


where = select


def masked_fill(input_x, mask, value):
    x = as_tensor(input_x, "masked_fill")
    return select(mask, Tensor(value, x.dtype) if is_number(value) else value, x)


def clip(input, min=None, max=None):
    """Elements below `min` become it, those above `max` that."""
    x = input
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)


clamp = clip_by_value = clip


def isfinite(input):
    x = as_tensor(input, "isfinite")
    return equal(sub(x, x), 0.0)


def floor(input):
    """The largest integers that are not above, as floats; elements beyond 2^62 are integers already."""
    x = as_tensor(input, "floor")
    if not mstype.is_float(x.dtype):
        return x
    large = greater(globals()["abs"](x), 2.0**62)
    whole = cast(cast(select(large, mul(x, 0.0), x), mstype.int64), x.dtype)
    return select(large, x, sub(whole, cast(greater(whole, x), x.dtype)))


def _as_wide(one, where):
    """Integers as float64, in which quotients of those below 2^53 are exact."""
    if is_number(one):
        return one
    x = as_tensor(one, where)
    return x if mstype.is_float(x.dtype) else cast(x, mstype.float64)


def floor_div(input, other):
    """The largest integers that are not above input / other; of integers as integers."""
    a, b = _as_wide(input, "floor_div"), _as_wide(other, "floor_div")
    found = floor(_div(a, b))
    given = [one for one in (input, other) if not is_number(one)]
    kinds = [as_tensor(one).dtype for one in given]
    numbers = [one for one in (input, other) if is_number(one)]
    if any(mstype.is_float(kind) for kind in kinds) or any(isinstance(one, float) for one in numbers):
        return found if any(mstype.is_float(kind) for kind in kinds) else cast(found, mstype.float32)
    return cast(found, mstype.int64 if mstype.int64 in kinds else kinds[0])


def floor_mod(input, other):
    """input - floor_div(input, other) * other: with the sign of `other`."""
    return sub(input, mul(floor_div(input, other), other))
