"""Tensors of windows, of ranges and of places, which NumPy makes: their sizes are known when a network is built."""

from __future__ import annotations

import numbers

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.elementwise import pow
from partita.ops.kinds import typed
from partita.ops.shapes import broadcast_to, expand_dims, reshape
from partita.ops.support import as_tensor

__all__ = (
    "bartlett_window blackman_window fills hamming_window hann_window kaiser_window logspace range tril_indices"
    " triu_indices vander"
).split()


def _known_number(where, value):
    """The number that a tensor of one element, or Python, has."""
    if isinstance(value, Tensor):
        if value.size != 1:
            raise ValueError(f"[{where}] not one number, got a tensor of shape {value.shape}, expected one element")
        return value.asnumpy().reshape(-1)[0].item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"[{where}] not a number, got {value!r}, expected one")
    return value


def _length(where, window_length):
    size = _known_number(where, window_length)
    if not isinstance(size, numbers.Integral):
        raise TypeError(f"[{where}] the length is not an integer, got {window_length!r}, expected one from 0")
    if size < 0:
        raise ValueError(f"[{where}] bad length, got {size}, expected an integer from 0")
    return int(size)


def _window(where, of, window_length, periodic, dtype, short=None):
    """The first elements of a window of one element more if it is periodic, else the window itself. `of` gives that of
    places between 0 and 1; `short` is the element type of windows of less than 2 elements, where it is another."""
    size, kind = _length(where, window_length), mstype.to_dtype(dtype or mstype.float32)
    if not mstype.is_float(kind):
        raise TypeError(f"[{where}] dtype is not a type of floats, got {kind}, expected one")
    if size < 2:
        return Tensor(np.ones(size), short or kind)
    places = np.arange(size, dtype=np.float64) / (size if periodic else size - 1)
    return Tensor(of(places), kind)


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: mstype.DType | str | type | None = None
) -> Tensor:
    """The window of Bartlett: 1 - |2 t - 1|, for t from 0 to 1, in one dimension. Raises ValueError for a length below
    0."""
    return _window("bartlett_window", lambda t: 1 - np.abs(2 * t - 1), window_length, periodic, dtype)


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: mstype.DType | str | type | None = None
) -> Tensor:
    """The window of Blackman: 0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t), for t from 0 to 1, in one dimension. Raises
    ValueError for a length below 0."""

    def of(t):
        return 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t)

    return _window("blackman_window", of, window_length, periodic, dtype)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """The window of Hamming: alpha - beta cos(2 pi t), for t from 0 to 1, in one dimension. Raises ValueError for a
    length below 0."""

    def of(t):
        return alpha - beta * np.cos(2 * np.pi * t)

    return _window("hamming_window", of, window_length, periodic, dtype, mstype.float64)


def hann_window(window_length: int, periodic: bool = True, *, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """The window of Hann: 0.5 - 0.5 cos(2 pi t), for t from 0 to 1, in one dimension, as float64 without `dtype`.
    Raises ValueError for a length below 0."""
    return hamming_window(window_length, periodic, 0.5, 0.5, dtype=dtype or mstype.float64)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: mstype.DType | str | type | None = None
) -> Tensor:
    """The window of Kaiser: I0(beta sqrt(1 - (2 t - 1)^2)) / I0(beta), for t from 0 to 1, in one dimension, as float64
    without `dtype`. Raises ValueError for a length below 0."""

    def of(t):
        return np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * t - 1) ** 2))) / np.i0(beta)

    return _window("kaiser_window", of, window_length, periodic, dtype or mstype.float64, mstype.float64)


def logspace(
    start: float, end: float, steps: int, base: float = 10, *, dtype: mstype.DType | str | type = mstype.float32
) -> Tensor:
    """Powers of the base, in one dimension: the exponents are `steps` numbers from `start` to `end` at equal distances.
    Raises ValueError for a number of steps that is no integer from 0."""
    first, last = (_known_number("logspace", one) for one in (start, end))
    if isinstance(steps, bool) or not isinstance(steps, numbers.Integral) or steps < 0:
        raise ValueError(f"[logspace] bad steps, got {steps!r}, expected an integer from 0")
    return Tensor(np.power(float(base), np.linspace(first, last, int(steps))), dtype)


def range(start: float, end: float, step: float, maxlen: int = 1000000) -> Tensor:
    """Numbers from `start` to before `end`, in one dimension: int64, or float32 if one of them is a float. Raises
    ValueError for more than `maxlen` of them, or a step of 0."""
    first, last, by = (_known_number("range", one) for one in (start, end, step))
    if by == 0:
        raise ValueError("[range] bad step, got 0, expected another number")
    if (last - first) / by > maxlen:
        raise ValueError(f"[range] too many numbers, got {(last - first) / by:.0f}, expected at most maxlen={maxlen}")
    values = np.arange(first, last, by)
    return Tensor(values, mstype.float32 if values.dtype.kind == "f" else mstype.int64)


def _places(where, function, row, col, offset, dtype):
    for name, one in (("row", row), ("col", col), ("offset", offset)):
        if isinstance(one, bool) or not isinstance(one, numbers.Integral):
            raise TypeError(f"[{where}] {name} is not an integer, got {one!r}, expected one")
    kind = mstype.to_dtype(dtype)
    if kind not in (mstype.int32, mstype.int64):
        raise TypeError(f"[{where}] bad dtype, got {kind}, expected int32 or int64")
    return Tensor(np.stack(function(row, offset, col)), kind)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: mstype.DType | str | type = mstype.int64) -> Tensor:
    """The rows and the columns, one above the other, of the places on and below a diagonal of a matrix. [2, places] of
    int64, or of `dtype`. Raises TypeError for sizes that are no integers, and for another type than int32 and int64."""
    return _places("tril_indices", np.tril_indices, row, col, offset, dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: mstype.DType | str | type = mstype.int64) -> Tensor:
    """The rows and the columns, one above the other, of the places on and above a diagonal of a matrix. [2, places] of
    int64, or of `dtype`. Raises TypeError for sizes that are no integers, and for another type than int32 and int64."""
    return _places("triu_indices", np.triu_indices, row, col, offset, dtype)


def vander(x: Tensor | float, N: int | None = None) -> Tensor:
    """The matrix with a row of falling powers, down to 1, for each element of a vector: N of them, or as many as there
    are elements."""
    x = as_tensor(x, "vander")
    if x.ndim != 1:
        raise ValueError(f"[vander] not a vector, got shape {x.shape}, expected one dimension")
    count = x.size if N is None else int(N)
    if count < 1:
        raise ValueError(f"[vander] no columns, got N={N}, expected an integer from 1")
    kind = x.dtype if mstype.is_float(x.dtype) else mstype.int64
    powers = Tensor(np.arange(count - 1, -1, -1), kind)
    return pow(expand_dims(x, 1), reshape(powers, [1, count]))


def fills(x: Tensor | float, value: Tensor | float) -> Tensor:
    """One number, of Python or of a tensor, in the shape and the element type of x."""
    x = as_tensor(x, "fills")
    if isinstance(value, Tensor):
        if value.size != 1:
            raise ValueError(f"[fills] not one number, got a tensor of shape {value.shape}, expected one element")
        return broadcast_to(reshape(typed(value, x.dtype), [1] * x.ndim), x.shape)
    return full(x.shape, value, dtype=x.dtype)
