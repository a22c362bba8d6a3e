"""Activations that are made of other functions."""

from __future__ import annotations

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
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


def relu6(x: Tensor | float) -> Tensor:
    """min(max(x, 0), 6) of each element, in the shape and the type of `x`, of bools in int64. Raises TypeError for what
    holds no numbers."""
    return smaller(relu(x), 6)


def hardsigmoid(input: Tensor | float) -> Tensor:
    """min(max(x / 6 + 1 / 2, 0), 1) of each element, in the shape and the type of x; there is no gradient at -3 and 3.
    Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "hardsigmoid")
    outside = logical_or(greater_equal(x, 3.0), less_equal(x, -3.0))
    return cast(select(outside, cast(greater(x, 0.0), x.dtype), div(add(x, 3.0), 6.0)), x.dtype)


def hardswish(input: Tensor | float) -> Tensor:
    """x min(max(x + 3, 0), 6) / 6 of each element, in the shape and the type of x. Raises TypeError for what holds no
    numbers."""
    x = as_tensor(input, "hardswish")
    return cast(mul(x, div(clip(add(x, 3.0), 0.0, 6.0), 6.0)), x.dtype)


def hardtanh(input: Tensor | float, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """min(max(x, min_val), max_val) of each element, in the shape and the type of x. Raises TypeError for what holds no
    numbers."""
    x = as_tensor(input, "hardtanh")
    return cast(maximum(minimum(x, max_val), min_val), x.dtype)


def _exponential(x, positive, negative, alpha, width):
    """positive x above 0, else negative (exp(alpha x) - 1); exp never sees what is above."""
    below = smaller(x, 0.0)
    return select(greater(x, 0.0), mul(x, positive), mul(sub(exp(mul(below, 1.0 / width)), 1.0), negative * alpha))


def elu(input_x: Tensor | float, alpha: float = 1.0) -> Tensor:
    """x above 0, else alpha (exp(x) - 1), of each element, in the shape of x; integers become float32. Raises TypeError
    for what holds no numbers."""
    return _exponential(as_tensor(input_x, "elu"), 1.0, 1.0, alpha, 1.0)


def selu(input_x: Tensor | float) -> Tensor:
    """scale elu(x, alpha) of each element, with numbers that keep mean and variance, in the shape and the type of x.
    Raises TypeError for integers and bools."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    x = as_tensor(input_x, "selu")
    if not mstype.is_float(x.dtype):
        raise TypeError(f"[selu] the operand has no fractions, got {x.dtype}, expected floating-point numbers")
    return _exponential(x, scale, scale, alpha, 1.0)


def celu(x: Tensor | float, alpha: float = 1.0) -> Tensor:
    """x above 0, else alpha (exp(x / alpha) - 1), of each element, in the shape and the type of x. Raises TypeError for
    what holds no numbers."""
    x = as_tensor(x, "celu")
    return typed(_exponential(wide(x), 1.0, 1.0, alpha, alpha), x.dtype)


def mish(x: Tensor | float) -> Tensor:
    """x tanh(softplus(x)) of each element, in the shape of x; integers become float32. Raises TypeError for what holds
    no numbers."""
    x = as_tensor(x, "mish")
    return mul(x, tanh(softplus(x)))


def glu(x: Tensor | float, axis: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second one, in the type of x; the size of the axis halves.
    Raises ValueError for an odd size, or an axis that the tensor has not."""
    x = as_tensor(x, "glu")
    axis = axis_of("glu", axis, x.ndim)
    if x.shape[axis] % 2:
        raise ValueError(f"[glu] no two halves, got {x.shape[axis]} elements of axis {axis}, expected an even number")
    first, second = split(x, x.shape[axis] // 2, axis)
    return typed(mul(wide(first), sigmoid(wide(second))), x.dtype)


def logsigmoid(x: Tensor | float) -> Tensor:
    """log(sigmoid(x)) of each element, without underflow, in the shape of x; integers become float32. Raises TypeError
    for what holds no numbers."""
    return neg(softplus(neg(x)))


def softmin(x: Tensor | float, axis: int = -1, *, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """softmax(-x) along an axis, in the shape of x; integers become float32. Raises ValueError for an axis that the
    tensor has not."""
    return softmax(neg(x), axis, dtype=dtype)


def softsign(x: Tensor | float) -> Tensor:
    """x / (1 + |x|) of each element, in the shape of x; integers become float32. Raises TypeError for what holds no
    numbers."""
    x = as_tensor(x, "softsign")
    return div(x, add(abs(x), 1.0))


def tanhshrink(input: Tensor | float) -> Tensor:
    """x - tanh(x) of each element, in the shape of x; integers become float32. Raises TypeError for what holds no
    numbers."""
    x = as_tensor(input, "tanhshrink")
    return sub(x, tanh(x))


def fast_gelu(x: Tensor | float) -> Tensor:
    """x / (1 + exp(-1.702 |x|)) exp(0.851 (x - |x|)) of each element, in the shape and the type of x. Raises TypeError
    for what holds no numbers."""
    x = as_tensor(x, "fast_gelu")
    z = wide(x)
    size = abs(z)
    return typed(mul(div(z, add(exp(mul(size, -1.702)), 1.0)), exp(mul(sub(z, size), 0.851))), x.dtype)


def prelu(x: Tensor | float, weight: Tensor | float) -> Tensor:
    """x above 0, else weight x, in the shape of x: a weight [c] for each channel of x[n, c, ..], or one. Raises
    ValueError for another number of weights."""
    x, weight = as_tensor(x, "prelu"), as_tensor(weight, "prelu")
    if x.ndim > 1 and weight.size > 1:
        weight = weight.reshape([weight.size] + [1] * (x.ndim - 2))
    if x.ndim == 0 and weight.size == 1:
        weight = weight.reshape([])
    return select(greater(x, 0.0), x, mul(x, weight))
