"""Windows, sums of shifted products, polynomials and integrals, with the names of NumPy."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from partita.common.dtype import float32
from partita.common.tensor import Tensor
from partita.numpy.shapes import ravel
from partita.numpy.tensors import ArrayLike, tensor_of
from partita.ops import functional as F

__all__ = (
    "bartlett blackman convolve correlate gradient hamming hanning interp polyadd polyder polyint polymul polysub "
    "polyval trapz unwrap vander"
).split()


def _window(name, doc):
    def call(M: int) -> Tensor:
        return Tensor(getattr(np, name)(int(M)), float32)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


bartlett = _window("bartlett", "The triangular window: M numbers.")
blackman = _window("blackman", "The window of three cosines: M numbers.")
hamming = _window("hamming", "0.54 - 0.46 cos: M numbers.")
hanning = _window("hanning", "0.5 - 0.5 cos: M numbers.")


def _of_one_type(*given):
    """Rows of one element type."""
    rows = [ravel(tensor_of(one)) for one in given]
    kinds = {one.dtype for one in rows}
    if len(kinds) > 1:
        total = F.add(*(F.narrow(one, 0, 0, 1) for one in rows))
        rows = [F.cast(one, total.dtype) for one in rows]
    return rows


def _products(a, v):
    """The sums of a[i] v[k - i] for all k: row i of the products is moved by i, as its padding is part of the next."""
    n, m = a.shape[0], v.shape[0]
    rows = F.pad(F.mul(F.expand_dims(a, 1), F.expand_dims(v, 0)), (0, n))
    moved = F.reshape(F.narrow(F.reshape(rows, [-1]), 0, 0, n * (n + m - 1)), [n, n + m - 1])
    return F.cast(F.sum(moved, 0), a.dtype)


def _part(full, n, m, mode):
    """The part of all sums that a mode names; n is not below m."""
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ValueError(f"[convolve] unknown mode, got {mode!r}, expected full, same or valid")
    return F.narrow(full, 0, (m - 1) // 2, n) if mode == "same" else F.narrow(full, 0, m - 1, n - m + 1)


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Tensor:
    """The sums of a[i] v[k - i]: all of them, as many as the longer row has elements ("same"), or those without an end
    ("valid")."""
    a, v = _of_one_type(a, v)
    a, v = (v, a) if v.shape[0] > a.shape[0] else (a, v)
    return _part(_products(a, v), a.shape[0], v.shape[0], mode)


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Tensor:
    """The sums of a[i + k] v[i], of integers as float32: see `convolve`."""
    a, v = (F.as_float(one) for one in _of_one_type(a, v))
    if v.shape[0] > a.shape[0]:
        return F.flip(correlate(v, a, mode), [0])
    return _part(_products(a, F.flip(v, [0])), a.shape[0], v.shape[0], mode)


def _differences(x, axis, step):
    """The slope along a dimension: between both neighbours, at the ends between the end and its neighbour."""
    n = x.shape[axis]
    if n < 2:
        raise ValueError(f"[gradient] too few elements, got {n}, expected at least 2")
    begin, end = (F.sub(F.narrow(x, axis, at + 1, 1), F.narrow(x, axis, at, 1)) for at in (0, n - 2))
    parts = [begin]
    if n > 2:
        inner = F.sub(F.narrow(x, axis, 2, n - 2), F.narrow(x, axis, 0, n - 2))
        parts.append(F.mul(inner, 0.5))
    return F.div(F.concat([*parts, end], axis), step)


def gradient(f: ArrayLike, *varargs, axis: int | Sequence[int] | None = None, edge_order: int = 1):
    """The slopes along all dimensions as a list, or along those of `axis`; `varargs` are the steps, one for all or one
    for each."""
    x = F.as_float(tensor_of(f))
    if edge_order != 1:
        raise ValueError(f"[gradient] other orders are not supported, got edge_order={edge_order}, expected 1")
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, numbers.Integral) else list(axis)
    axes = [one % x.ndim for one in axes]
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if len(steps) != len(axes) or not all(isinstance(one, numbers.Real) for one in steps):
        raise TypeError(f"[gradient] bad steps, got {varargs}, expected a number, or one for each dimension")
    made = [_differences(x, one, float(step)) for one, step in zip(axes, steps)]
    return made[0] if len(made) == 1 else made


def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: float | None = None, right: float | None = None) -> Tensor:
    """The values at x of the lines between the points (xp, fp), xp rising; below and above them `left` and `right`, or
    the first and the last value."""
    x, places, values = (F.as_float(tensor_of(one)) for one in (x, xp, fp))
    n = places.shape[0]
    if n != values.shape[0] or n < 1:
        raise ValueError(f"[interp] the points do not fit, got {n} and {values.shape[0]} numbers, expected as many")
    first, last = values[0], values[n - 1]
    made = F.add(F.mul(x, 0.0), first)
    if n > 1:
        above = F.sum(F.cast(F.greater_equal(F.expand_dims(x, -1), places), float32), -1)
        at = F.clip(F.cast(above, "int32"), 1, n - 1)
        (x0, x1), (y0, y1) = (tuple(F.gather(one, F.sub(at, k), 0) for k in (1, 0)) for one in (places, values))
        made = F.add(y0, F.mul(F.sub(x, x0), F.div(F.sub(y1, y0), F.sub(x1, x0))))
    made = F.select(F.less(x, places[0]), _end(made, first if left is None else left), made)
    return F.select(F.greater(x, places[n - 1]), _end(made, last if right is None else right), made)


def _end(made, value):
    return F.broadcast_to(F.cast(tensor_of(value), made.dtype), made.shape)


def _padded(p1, p2):
    rows = _of_one_type(p1, p2)
    size = max(one.shape[0] for one in rows)
    return [F.pad(one, (size - one.shape[0], 0)) for one in rows]


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The coefficients of the sum of two polynomials, that of the highest power first."""
    return F.add(*_padded(a1, a2))


def polysub(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The coefficients of the difference of two polynomials, that of the highest power first."""
    return F.sub(*_padded(a1, a2))


def polymul(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The coefficients of the product of two polynomials, that of the highest power first."""
    return convolve(a1, a2)


def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """The values of a polynomial, whose coefficient of the highest power is first."""
    p, x = tensor_of(p), F.as_float(tensor_of(x))
    made = F.mul(x, 0)
    for i in range(p.shape[0]):
        made = F.add(F.mul(made, x), p[i])
    return made


def _powers(p, count):
    """The powers of the coefficients, the last of which has power `count`."""
    return Tensor(np.arange(p.shape[0] - 1 + count, count - 1, -1), p.dtype)


def polyder(p: ArrayLike, m: int = 1) -> Tensor:
    """The coefficients of the m-th derivative of a polynomial, that of the highest power first."""
    p = tensor_of(p)
    if m < 0:
        raise ValueError(f"[polyder] bad order, got {m}, expected an integer from 0")
    for _ in range(m):
        if p.shape[0] < 2:
            return F.zeros((0,), p.dtype)
        p = F.mul(p, _powers(p, 0))[: p.shape[0] - 1]
    return p


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Tensor:
    """The coefficients of the m-th integral of a polynomial, that of the highest power first; `k` has the constants."""
    p = tensor_of(p)
    if m < 0:
        raise ValueError(f"[polyint] bad order, got {m}, expected an integer from 0")
    if m:
        p = F.as_float(p)
    constants = F.zeros((max(m, 1),), p.dtype) if k is None else F.as_float(ravel(tensor_of(k)))
    constants = F.broadcast_to(constants, [max(m, 1)]) if constants.shape[0] == 1 else constants
    if constants.shape[0] != max(m, 1):
        raise ValueError(f"[polyint] wrong number of constants, got {constants.shape[0]}, expected {m}")
    for i in range(m):
        p = F.concat([F.div(p, _powers(p, 1)), F.cast(constants[i : i + 1], p.dtype)], 0)
    return p


def trapz(y: ArrayLike, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, over places x, or in steps of dx."""
    return F.trapz(tensor_of(y), None if x is None else tensor_of(x), dx=dx, dim=axis)


def unwrap(p: ArrayLike, discont: float = np.pi, axis: int = -1) -> Tensor:
    """Angles along a dimension, moved by turns where two neighbours differ by more than `discont`."""
    x = F.as_float(tensor_of(p))
    axis = axis % x.ndim
    n = x.shape[axis]
    if n < 2:
        return x
    gaps = F.sub(F.narrow(x, axis, 1, n - 1), F.narrow(x, axis, 0, n - 1))
    short = F.sub(F.floor_mod(F.add(gaps, np.pi), 2 * np.pi), np.pi)
    is_half = F.logical_and(F.equal(short, -np.pi), F.greater(gaps, 0))
    short = F.select(is_half, F.full_like(short, np.pi), short)
    moves = F.select(F.less(F.abs(gaps), discont), F.mul(gaps, 0.0), F.sub(short, gaps))
    first = F.narrow(x, axis, 0, 1)
    return F.concat([first, F.add(F.narrow(x, axis, 1, n - 1), F.cumsum(moves, axis))], axis)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a row as columns: N of them, falling to 0, or rising from it."""
    x = tensor_of(x)
    made = F.cast(F.vander(x, N), x.dtype)
    return F.flip(made, [1]) if increasing else made
