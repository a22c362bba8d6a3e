"""Activations with thresholds and gates, and those with random numbers."""

from __future__ import annotations

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import one_hot
from partita.ops.derived import stop_gradient
from partita.ops.drawn import _drawn
from partita.ops.elementwise import (
    abs,
    add,
    div,
    greater,
    less,
    log,
    mul,
    neg,
    select,
    silu,
    sub,
)
from partita.ops.kinds import typed, wide
from partita.ops.reductions import argmax, softmax
from partita.ops.shapes import split
from partita.ops.support import as_tensor, axis_of

__all__ = "gumbel_softmax hardshrink rrelu soft_shrink softshrink swiglu threshold".split()


def _limit(where, lambd):
    if isinstance(lambd, bool) or not isinstance(lambd, (int, float)):
        raise TypeError(f"[{where}] lambd is not a number, got {lambd!r}, expected a float")
    return float(lambd)


def hardshrink(input: Tensor | float, lambd: float = 0.5) -> Tensor:
    """x, and 0 where |x| <= lambd or x is no number, of each element, in the shape and the type of x. Raises TypeError
    for a lambd that is no number."""
    x, limit = as_tensor(input, "hardshrink"), _limit("hardshrink", lambd)
    return select(greater(abs(x), limit), x, Tensor(0, x.dtype))


def softshrink(input: Tensor | float, lambd: float = 0.5) -> Tensor:
    """x nearer to 0 by lambd, and 0 where |x| <= lambd or x is no number, of each element, in the shape of x. Raises
    ValueError for a lambd below 0, TypeError for one that is no number."""
    x, limit = as_tensor(input, "softshrink"), _limit("softshrink", lambd)
    if limit < 0:
        raise ValueError(f"[softshrink] bad lambd, got {limit}, expected a number from 0")
    none = Tensor(0, x.dtype)
    return select(greater(x, limit), sub(x, limit), select(less(x, -limit), add(x, limit), none))


soft_shrink = softshrink


def threshold(input: Tensor | float, thr: float, value: float) -> Tensor:
    """x where it is above `thr`, else `value`, of each element, in the shape and the type of x. Raises TypeError for
    what holds no numbers."""
    x = as_tensor(input, "threshold")
    other = value if mstype.is_float(x.dtype) else int(value)
    return select(greater(x, thr), x, Tensor(other, x.dtype))


def rrelu(input: Tensor | float, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """x, and below 0 x times a slope that is drawn for each element between `lower` and `upper`, in the shape and the
    type of x. Raises ValueError unless 0 <= lower <= upper <= 1."""
    x = as_tensor(input, "rrelu")
    if not 0 <= lower <= upper <= 1:
        raise ValueError(f"[rrelu] bad slopes, got {lower} to {upper}, expected 0 <= lower <= upper <= 1")
    slope = add(mul(_drawn("uniform", list(x.shape)), upper - lower), float(lower))
    return select(less(x, 0.0), mul(x, typed(slope, x.dtype)), x)


def swiglu(input: Tensor | float, dim: int = -1) -> Tensor:
    """silu(first half) times the second half along a dimension (Shazeer, 2020), whose size halves. Raises ValueError
    for an odd size, or a dimension that the tensor has not."""
    x = as_tensor(input, "swiglu")
    axis = axis_of("swiglu", dim, x.ndim)
    if x.shape[axis] % 2:
        raise ValueError(
            f"[swiglu] no two halves, got {x.shape[axis]} elements of axis {axis}, expected an even number"
        )
    first, second = split(x, x.shape[axis] // 2, axis)
    return mul(silu(first), second)


def gumbel_softmax(logits: Tensor | float, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """softmax((logits + noise) / tau) along a dimension, with noise of the Gumbel distribution (Jang et al., 2017), in
    the shape and the type of `logits`. With `hard` 1 at the largest and 0 elsewhere, with the gradients of the softmax.
    Raises ValueError for a `tau` that is not above 0, or a dimension that the tensor has not."""
    x = as_tensor(logits, "gumbel_softmax")
    if tau <= 0:
        raise ValueError(f"[gumbel_softmax] bad tau, got {tau}, expected a positive number")
    noise = neg(log(neg(log(_drawn("uniform", list(x.shape))))))
    soft = softmax(div(add(wide(x), noise), float(tau)), dim)
    if hard:
        axis = axis_of("gumbel_softmax", dim, x.ndim)
        hot = one_hot(argmax(soft, axis), x.shape[axis], Tensor(1.0), Tensor(0.0), axis)
        soft = add(sub(typed(hot, soft.dtype), stop_gradient(soft)), soft)
    return typed(soft, x.dtype)
