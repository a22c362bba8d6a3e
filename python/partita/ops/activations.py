"""Activations that are made of other functions."""

from partita.common import dtype as mstype
from partita.ops.elementwise import (
    abs,
    add,
    cast,
    clip,
    div,
    exp,
    greater,
    greater_equal,
    less_equal,
    logical_or,
    maximum,
    minimum,
    mul,
    neg,
    relu,
    select,
    sigmoid,
    smaller,
    softplus,
    sub,
    tanh,
)
from partita.ops.kinds import typed, wide
from partita.ops.reductions import softmax
from partita.ops.shapes import split
from partita.ops.support import as_tensor, axis_of

__all__ = (
    "relu6 hardswish hardsigmoid hardtanh elu selu celu mish glu logsigmoid softmin softsign tanhshrink fast_gelu prelu"
).split()


def relu6(x):
    """min(max(x, 0), 6)."""
    return smaller(relu(x), 6)


def hardsigmoid(input):
    """min(max(x / 6 + 1 / 2, 0), 1), of the type of x; there is no gradient at -3 and 3."""
    x = as_tensor(input, "hardsigmoid")
    outside = logical_or(greater_equal(x, 3.0), less_equal(x, -3.0))
    return cast(select(outside, cast(greater(x, 0.0), x.dtype), div(add(x, 3.0), 6.0)), x.dtype)


def hardswish(input):
    """x min(max(x + 3, 0), 6) / 6, of the type of x."""
    x = as_tensor(input, "hardswish")
    return cast(mul(x, div(clip(add(x, 3.0), 0.0, 6.0), 6.0)), x.dtype)


def hardtanh(input, min_val=-1.0, max_val=1.0):
    """min(max(x, min_val), max_val)."""
    x = as_tensor(input, "hardtanh")
    return cast(maximum(minimum(x, max_val), min_val), x.dtype)


def _exponential(x, positive, negative, alpha, width):
    """positive x above 0, else negative (exp(alpha x) - 1); exp never sees what is above."""
    below = smaller(x, 0.0)
    return select(greater(x, 0.0), mul(x, positive), mul(sub(exp(mul(below, 1.0 / width)), 1.0), negative * alpha))


def elu(input_x, alpha=1.0):
    """x above 0, else alpha (exp(x) - 1)."""
    return _exponential(as_tensor(input_x, "elu"), 1.0, 1.0, alpha, 1.0)


def selu(input_x):
    """scale elu(x, alpha), with numbers that keep mean and variance."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    x = as_tensor(input_x, "selu")
    if not mstype.is_float(x.dtype):
        raise TypeError(f"[selu] the operand has no fractions, got {x.dtype}, expected floating-point numbers")
    return _exponential(x, scale, scale, alpha, 1.0)


def celu(x, alpha=1.0):
    """x above 0, else alpha (exp(x / alpha) - 1)."""
    x = as_tensor(x, "celu")
    return typed(_exponential(wide(x), 1.0, 1.0, alpha, alpha), x.dtype)


def mish(x):
    """x tanh(softplus(x))."""
    x = as_tensor(x, "mish")
    return mul(x, tanh(softplus(x)))


def glu(x, axis=-1):
    """The first half along an axis times the sigmoid of the second one."""
    x = as_tensor(x, "glu")
    axis = axis_of("glu", axis, x.ndim)
    if x.shape[axis] % 2:
        raise ValueError(f"[glu] no two halves, got {x.shape[axis]} elements of axis {axis}, expected an even number")
    first, second = split(x, x.shape[axis] // 2, axis)
    return typed(mul(wide(first), sigmoid(wide(second))), x.dtype)


def logsigmoid(x):
    """log(sigmoid(x)), without underflow."""
    return neg(softplus(neg(x)))


def softmin(x, axis=-1, *, dtype=None):
    """softmax(-x)."""
    return softmax(neg(x), axis, dtype=dtype)


def softsign(x):
    """x / (1 + |x|)."""
    x = as_tensor(x, "softsign")
    return div(x, add(abs(x), 1.0))


def tanhshrink(input):
    """x - tanh(x)."""
    x = as_tensor(input, "tanhshrink")
    return sub(x, tanh(x))


def fast_gelu(x):
    """x / (1 + exp(-1.702 |x|)) exp(0.851 (x - |x|))."""
    x = as_tensor(x, "fast_gelu")
    z = wide(x)
    size = abs(z)
    return typed(mul(div(z, add(exp(mul(size, -1.702)), 1.0)), exp(mul(sub(z, size), 0.851))), x.dtype)


def prelu(x, weight):
    """x above 0, else weight x; a weight for each channel, or one."""
    x, weight = as_tensor(x, "prelu"), as_tensor(weight, "prelu")
    if x.ndim > 1 and weight.size > 1:
        weight = weight.reshape([weight.size] + [1] * (x.ndim - 2))
    if x.ndim == 0 and weight.size == 1:
        weight = weight.reshape([])
    return select(greater(x, 0.0), x, mul(x, weight))
