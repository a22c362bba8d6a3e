"""Gamma functions of one and more arguments and Bessel functions, which NumPy computes in float64, with gradients."""

from __future__ import annotations

import functools
import math

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import special_values as values
from partita.ops.angles import lgamma
from partita.ops.arithmetic import sign
from partita.ops.creation import zeros_like
from partita.ops.elementwise import add, div, equal, exp, log, mul, neg, select, sub
from partita.ops.kinds import by_numpy, floats, typed, wide
from partita.ops.support import as_tensor

_BESSEL = "i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e y0 y1".split()
__all__ = ["i0", *(f"bessel_{name}" for name in _BESSEL), *"igamma igammac mvlgamma zeta".split()]


def _in_own_type(function):
    """A function of arrays whose results have the element type of the first one."""

    def call(*arrays):
        with np.errstate(over="ignore"):
            return np.asarray(function(*arrays)).astype(arrays[0].dtype)

    return call


def _of_floats(where, *operands):
    tensors = [as_tensor(one, where) for one in operands]
    for one in tensors:
        if not mstype.is_float(one.dtype):
            raise TypeError(f"[{where}] no floats, got {one.dtype}, expected floating-point numbers")
    return tensors[0] if len(tensors) == 1 else floats(where, *tensors)


# Bessel functions. The derivatives of degree 0 are those of degree 1; those of degree 1 follow from both.


@functools.lru_cache(maxsize=None)
def _bessel(name):
    kind, n, scaled = name[0], int(name[1]), name.endswith("e")
    other = f"{kind}{1 - n}{name[2:]}"
    first = 1.0 if kind in "i" else -1.0  # the sign of the derivative of degree 0
    second = -1.0 if kind == "k" else 1.0  # that of the function of degree 0 in the derivative of degree 1

    def gradient(x, out, dout):
        near = _bessel(other)(x)
        if n == 0:
            found = mul(near, first)
        else:
            none = equal(x, 0.0)
            over = div(out, select(none, Tensor(1.0, x.dtype), x))
            limit = Tensor(0.5 if kind in "ij" else math.nan, x.dtype)
            found = sub(mul(near, second), select(none, limit, over))
        if scaled:
            found = sub(found, mul(sign(x), out)) if kind == "i" else add(found, out)
        return (mul(dout, found),)

    function = _in_own_type(functools.partial(values.bessel, kind, n, scaled))

    def call(x: Tensor | float) -> Tensor:
        where = f"bessel_{name}"
        return by_numpy(where, function, _of_floats(where, x), bprop=gradient)

    call.__name__ = call.__qualname__ = f"bessel_{name}"
    modified = "modified " if kind in "ik" else ""
    way = "second" if kind in "ky" else "first"
    times = {"i": " times exp(-|x|)", "k": " times exp(x)"}[kind] if scaled else ""
    call.__doc__ = f"""The {modified}Bessel function of the {way} kind and of degree {n}{times} of each element, in the
    shape of `x`. Raises TypeError for integers and bools."""
    return call


globals().update((f"bessel_{_name}", _bessel(_name)) for _name in _BESSEL)


def i0(input: Tensor | float) -> Tensor:
    """The modified Bessel function of the first kind and of degree 0."""
    return _bessel("i0")(input)


# Gamma functions.


def mvlgamma(input: Tensor | float, p: int) -> Tensor:
    """The logarithm of the gamma function of p dimensions, of elements above (p - 1) / 2. Raises ValueError for a p
    below 1."""
    if isinstance(p, bool) or not isinstance(p, int) or p < 1:
        raise ValueError(f"[mvlgamma] bad number of dimensions, got {p!r}, expected an integer from 1")
    x = _of_floats("mvlgamma", input)
    total = lgamma(wide(x))
    for j in range(1, p):
        total = add(total, lgamma(sub(wide(x), j / 2)))
    return typed(add(total, p * (p - 1) / 4 * math.log(math.pi)), x.dtype)


_ZETA = _in_own_type(values.zeta)


def zeta(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The zeta function of Hurwitz: the sum of (other + k)^-input from k = 0 on, broadcast. Its gradient is that of
    `other`."""
    s, q = _of_floats("zeta", input, other)
    return by_numpy("zeta", _ZETA, s, q, bprop=_of_zeta)


def _of_zeta(s, q, out, dout):
    return zeros_like(dout), neg(mul(dout, mul(s, zeta(add(s, 1.0), q))))


_CENTRAL, _FORWARD = (1, -8, 0, 8, -1), (-25, 48, -36, 16, -3)  # weights of degree 4, over 12 steps


def _differences(function):
    """The derivative by the first argument, by differences of degree 4 in float64. Its steps are small parts of the
    root of the argument, within which the function of a large one falls. All points lie above 0: from the argument on
    if it is small."""

    def call(a, x):
        a, x = a.astype(np.float64), x.astype(np.float64)
        h = 1e-3 * np.sqrt(np.maximum(a, 0) + 1)
        small, total = a <= 2 * h, 0.0
        for k in range(5):
            total = total + np.where(small, _FORWARD[k], _CENTRAL[k]) * function(a + np.where(small, k, k - 2) * h, x)
        return total / (12 * h)

    return lambda a, x: call(a, x).astype(a.dtype)


_BY_ALPHA = _differences(values.igamma)


def _igamma(where, function, up):
    kept = _in_own_type(function)

    def gradient(a, x, out, dout):
        density = exp(sub(sub(mul(sub(a, 1.0), log(x)), x), lgamma(a)))
        by_alpha = by_numpy("igamma_by_alpha", _BY_ALPHA, a, x)
        return mul(dout, mul(by_alpha, up)), mul(dout, mul(density, up))

    def call(input: Tensor | float, other: Tensor | float) -> Tensor:
        a, x = _of_floats(where, input, other)
        return by_numpy(where, kept, a, x, bprop=gradient)

    call.__name__ = call.__qualname__ = where
    return call


igamma = _igamma("igamma", values.igamma, 1.0)
igamma.__doc__ = """The lower incomplete gamma function of (a, x) over the gamma function of a, broadcast. Raises
    ValueError for shapes that do not broadcast, TypeError for integers."""
igammac = _igamma("igammac", values.igammac, -1.0)
igammac.__doc__ = """The upper incomplete gamma function of (a, x) over the gamma function of a, broadcast. Raises
    ValueError for shapes that do not broadcast, TypeError for integers."""
