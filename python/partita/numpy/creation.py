"""Arrays that are made of numbers, with the names of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.common.dtype import DTypeLike, float32, int32, is_float, to_dtype
from partita.common.tensor import Tensor
from partita.numpy.tensors import ArrayLike, sizes_of, tensor_of
from partita.ops import functional as F

__all__ = (
    "arange array asarray asfarray empty empty_like eye full full_like identity linspace logspace meshgrid ones "
    "ones_like rand randint randn tri tril triu zeros zeros_like"
).split()


def array(obj: ArrayLike, dtype: DTypeLike | None = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A tensor of numbers, of at least `ndmin` dimensions: integers of Python become int32, other numbers float32, and
    arrays of NumPy keep their element type."""
    x = tensor_of(obj, dtype)
    x = x.copy() if copy and x is obj and x._symbol is None else x
    return F.reshape(x, [1] * (ndmin - x.ndim) + list(x.shape)) if x.ndim < ndmin else x


def asarray(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of numbers: integers of Python become int32, other numbers float32, and arrays of NumPy keep their
    element type."""
    return tensor_of(a, dtype)


def asfarray(a: ArrayLike, dtype: DTypeLike | None = float32) -> Tensor:
    """A tensor of floating-point numbers: float32 in place of a type of integers."""
    if dtype is not None and not is_float(to_dtype(dtype)):
        dtype = float32
    return F.as_float(tensor_of(a, dtype))


def zeros(shape: int | Sequence[int], dtype: DTypeLike | None = float32) -> Tensor:
    """Zeros of a shape, an integer or a sequence of these."""
    return F.full(sizes_of(shape), 0, dtype=dtype)


def ones(shape: int | Sequence[int], dtype: DTypeLike | None = float32) -> Tensor:
    """Ones of a shape, an integer or a sequence of these."""
    return F.full(sizes_of(shape), 1, dtype=dtype)


def empty(shape: int | Sequence[int], dtype: DTypeLike | None = float32) -> Tensor:
    """Zeros of a shape, an integer or a sequence of these: values that are not set do not exist here."""
    return zeros(shape, dtype)


def full(shape: int | Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of a shape with one number, or with the elements of a tensor, broadcast."""
    return F.broadcast_to(tensor_of(fill_value, dtype), sizes_of(shape))


def _like(a, shape, dtype, value):
    x = tensor_of(a)
    return full(x.shape if shape is None else shape, value, dtype or x.dtype)


def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: int | Sequence[int] | None = None) -> Tensor:
    """Zeros of the shape and element type of a tensor, or of those given."""
    return _like(a, shape, dtype, 0)


def ones_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: int | Sequence[int] | None = None) -> Tensor:
    """Ones of the shape and element type of a tensor, or of those given."""
    return _like(a, shape, dtype, 1)


def full_like(
    a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: int | Sequence[int] | None = None
) -> Tensor:
    """One number, of the shape and element type of a tensor, or of those given."""
    return _like(a, shape, dtype, fill_value)


empty_like = zeros_like


def arange(
    start: float, stop: float | None = None, step: float | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """Numbers from `start`, or 0, to below `stop`, in steps of `step`, or 1: int32, or float32 where one of the three
    is a float.

    >>> ms.numpy.arange(4).asnumpy().tolist()
    [0, 1, 2, 3]
    """
    step = 1 if step is None else step
    values = np.arange(0, start, step) if stop is None else np.arange(start, stop, step)
    return Tensor(values, dtype or (float32 if values.dtype.kind == "f" else int32))


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor | tuple[Tensor, Tensor]:
    """`num` numbers from `start` to `stop`, in equal steps, as float32; without `endpoint` the last one is a step
    before `stop`. (numbers, step) with `retstep`. Ends with dimensions give these after the new one, `axis`."""
    start, stop = (one.asnumpy() if isinstance(one, Tensor) else one for one in (start, stop))
    values, step = np.linspace(start, stop, int(num), endpoint, True, axis=axis)
    made = Tensor(values, dtype or float32)
    return (made, Tensor(step, float32)) if retstep else made


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Powers of `base` whose exponents are in equal steps."""
    return Tensor(np.logspace(start, stop, int(num), endpoint, base, axis=axis), dtype or float32)


def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = float32) -> Tensor:
    """A matrix with 1 on a diagonal, else 0."""
    return Tensor(np.eye(N, M, k), dtype)


def identity(n: int, dtype: DTypeLike | None = float32) -> Tensor:
    """A square matrix with 1 on its diagonal, else 0."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = float32) -> Tensor:
    """A matrix with 1 up to a diagonal, 0 above it."""
    return Tensor(np.tri(N, M, k), dtype)


def tril(m: ArrayLike, k: int = 0) -> Tensor:
    """The elements up to a diagonal, 0 above it."""
    return F.tril(tensor_of(m), k)


def triu(m: ArrayLike, k: int = 0) -> Tensor:
    """The elements of a matrix, or of several [..,rows,columns], from the k-th diagonal on, 0 below it."""
    return F.triu(tensor_of(m), k)


def meshgrid(*xi, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of the points of a grid, a tensor for each of the vectors `xi`, as a list. With "xy" the first
    two dimensions are exchanged, of length len(y), len(x); with "ij" they have the order of the vectors.
    With `sparse` tensors have one element along the dimensions of the others."""
    vectors = [tensor_of(one) for one in xi]
    if not sparse:
        return list(F.meshgrid(*vectors, indexing=indexing))
    places = list(range(len(vectors)))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    shapes = [[-1 if i == place else 1 for i in range(len(places))] for place in places]
    return [F.reshape(one, to) for one, to in zip(vectors, shapes)]


def rand(*shape, dtype: DTypeLike = float32) -> Tensor:
    """Numbers from 0 to 1 of a shape, given as integers or as one tuple."""
    return F.rand(*shape, dtype=dtype)


def randn(*shape, dtype: DTypeLike = float32) -> Tensor:
    """Numbers of the standard normal distribution."""
    return F.randn(*shape, dtype=dtype)


def randint(
    minval: int, maxval: int | None = None, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = int32
) -> Tensor:
    """Integers from `minval`, or 0, to below the other number."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    return F.randint(low, high, (1,) if shape is None else tuple(sizes_of(shape)), dtype=dtype)
