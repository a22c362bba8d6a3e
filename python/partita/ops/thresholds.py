"""Activations that leave out what is on one side of a number."""

from partita.common.tensor import Tensor
from partita.ops.drawn import uniform
from partita.ops.elementwise import add, greater, greater_equal, less, less_equal, logical_and, mul, select, sub
from partita.ops.support import as_tensor

__all__ = ("hardshrink", "rrelu", "soft_shrink", "softshrink", "threshold")


def threshold(input, thr, value):
    """x where it is above `thr`, else `value`."""
    x = as_tensor(input, "threshold")
    return select(greater(x, thr), x, Tensor(value, x.dtype))


def hardshrink(input, lambd=0.5):
    """0 where x is from -lambd to lambd, else x."""
    x = as_tensor(input, "hardshrink")
    within = logical_and(less_equal(x, lambd), greater_equal(x, -lambd))
    return select(within, Tensor(0, x.dtype), x)


def softshrink(input, lambd=0.5):
    """x less lambd above it, x and lambd below its opposite, else 0."""
    x = as_tensor(input, "softshrink")
    if isinstance(lambd, bool) or not isinstance(lambd, (int, float)) or lambd < 0:
        raise ValueError(f"[softshrink] bad lambd, got {lambd!r}, expected a number from 0")
    outer = select(less(x, -lambd), add(x, lambd), Tensor(0, x.dtype))
    return select(greater(x, lambd), sub(x, lambd), outer)


def soft_shrink(input, lambd=0.5):
    """`softshrink` by another name."""
    return softshrink(input, lambd)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3):
    """x from 0 on, else x times a number between two others, drawn for each element: B. Xu et al., Empirical
    evaluation of rectified activations in convolutional network, arXiv:1505.00853."""
    x = as_tensor(input, "rrelu")
    for name, one in (("lower", lower), ("upper", upper)):
        if isinstance(one, bool) or not isinstance(one, (int, float)):
            raise TypeError(f"[rrelu] {name} is not a number, got {one!r}, expected one")
    if lower > upper:
        raise ValueError(f"[rrelu] bad bounds, got {lower} and {upper}, expected the lower one first")
    slopes = uniform(x.shape, float(lower), float(upper), dtype=x.dtype) if x.ndim else lower
    return select(less(x, 0), mul(x, slopes), x)
