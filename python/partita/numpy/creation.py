"""Arrays that are made of numbers, with the names of NumPy."""


import numpy as np

from partita.common.dtype import float32, int32, is_float, to_dtype
from partita.common.tensor import Tensor
from partita.numpy.tensors import sizes_of, tensor_of
from partita.ops import functional as F

__all__ = (
    "arange array asarray asfarray empty empty_like eye full full_like identity linspace logspace meshgrid ones "
    "ones_like rand randint randn tri tril triu zeros zeros_like"
).split()


def array(obj, dtype=None, copy=True, ndmin=0):
    """A tensor of numbers, of at least `ndmin` dimensions."""
    x = tensor_of(obj, dtype)
    x = x.copy() if copy and x is obj and x._symbol is None else x
    return F.reshape(x, [1] * (ndmin - x.ndim) + list(x.shape)) if x.ndim < ndmin else x


def asarray(a, dtype=None):
    """A tensor of numbers."""
    return tensor_of(a, dtype)


def asfarray(a, dtype=float32):
    """A tensor of floating-point numbers: float32 in place of a type of integers."""
    if dtype is not None and not is_float(to_dtype(dtype)):
        dtype = float32
    return F.as_float(tensor_of(a, dtype))


def zeros(shape, dtype=float32):
    """Zeros of a shape, an integer or a sequence of these."""
    return F.full(sizes_of(shape), 0, dtype=dtype)


def ones(shape, dtype=float32):
    """Ones of a shape, an integer or a sequence of these."""
    return F.full(sizes_of(shape), 1, dtype=dtype)


def empty(shape, dtype=float32):
    """Zeros: values that are not set do not exist here."""
    return zeros(shape, dtype)


def full(shape, fill_value, dtype=None):
    """One number, or the elements of a tensor, broadcast."""
    return F.broadcast_to(tensor_of(fill_value, dtype), sizes_of(shape))


def _like(a, shape, dtype, value):
    x = tensor_of(a)
    return full(x.shape if shape is None else shape, value, dtype or x.dtype)


def zeros_like(a, dtype=None, shape=None):
    """Zeros of the shape and element type of a tensor."""
    return _like(a, shape, dtype, 0)


def ones_like(a, dtype=None, shape=None):
    """Ones of the shape and element type of a tensor."""
    return _like(a, shape, dtype, 1)


def full_like(a, fill_value, dtype=None, shape=None):
    """One number, of the shape and element type of a tensor."""
    return _like(a, shape, dtype, fill_value)


empty_like = zeros_like


def arange(start, stop=None, step=None, dtype=None):
    """Numbers from `start`, or 0, to below `stop`: int32, or float32 where one of the three is a float.

    >>> ms.numpy.arange(4).asnumpy().tolist()
    [0, 1, 2, 3]
    """
    step = 1 if step is None else step
    values = np.arange(0, start, step) if stop is None else np.arange(start, stop, step)
    return Tensor(values, dtype or (float32 if values.dtype.kind == "f" else int32))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """Numbers from `start` to `stop`, in equal steps; (numbers, step) with `retstep`."""
    start, stop = (one.asnumpy() if isinstance(one, Tensor) else one for one in (start, stop))
    values, step = np.linspace(start, stop, int(num), endpoint, True, axis=axis)
    made = Tensor(values, dtype or float32)
    return (made, Tensor(step, float32)) if retstep else made


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Powers of `base` whose exponents are in equal steps."""
    return Tensor(np.logspace(start, stop, int(num), endpoint, base, axis=axis), dtype or float32)


def eye(N, M=None, k=0, dtype=float32):
    """A matrix with 1 on a diagonal, else 0."""
    return Tensor(np.eye(N, M, k), dtype)


def identity(n, dtype=float32):
    """A square matrix with 1 on its diagonal, else 0."""
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=float32):
    """A matrix with 1 up to a diagonal, 0 above it."""
    return Tensor(np.tri(N, M, k), dtype)


def tril(m, k=0):
    """The elements up to a diagonal, 0 above it."""
    return F.tril(tensor_of(m), k)


def triu(m, k=0):
    """The elements from a diagonal on, 0 below it."""
    return F.triu(tensor_of(m), k)


def meshgrid(*xi, sparse=False, indexing="xy"):
    """The coordinates of the points of a grid, as a list."""
    if sparse:
        raise NotImplementedError("[meshgrid] sparse grids are not supported, got sparse=True, expected False")
    return list(F.meshgrid(*[tensor_of(one) for one in xi], indexing=indexing))


def rand(*shape, dtype=float32):
    """Numbers from 0 to 1."""
    return F.rand(*shape, dtype=dtype)


def randn(*shape, dtype=float32):
    """Numbers of the standard normal distribution."""
    return F.randn(*shape, dtype=dtype)


def randint(minval, maxval=None, shape=None, dtype=int32):
    """Integers from `minval`, or 0, to below the other number."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    return F.randint(low, high, (1,) if shape is None else tuple(sizes_of(shape)), dtype=dtype)
