"""Tensors that nothing else makes."""

import numbers

import numpy as np

from partita import _trace
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.support import F, as_tensor, attributes, run


def one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    """`on_value` at each index along a dimension that is added last, else `off_value`."""
    ids = as_tensor(indices, "one_hot")
    if axis not in (-1, ids.ndim):
        raise ValueError(f"[one_hot] another place for the dimension, got axis {axis}, expected -1")
    dtype = on_value.dtype if isinstance(on_value, Tensor) else mstype.float32
    attrs = attributes(depth=int(depth), on_value=float(on_value), off_value=float(off_value), dtype=dtype)
    return run(lambda trace, x: F.apply(trace, "one_hot", [x], attrs)[0], ids)


def zeros(size, dtype=mstype.float32):
    return full(size, 0, dtype=dtype)


def ones(shape, dtype=mstype.float32):
    return full(shape, 1, dtype=dtype)


def full(size, fill_value, *, dtype=None):
    dtype = mstype.to_dtype(dtype or (mstype.int64 if isinstance(fill_value, numbers.Integral) else mstype.float32))
    sizes = [size] if isinstance(size, numbers.Integral) else list(size)
    return run(lambda trace: trace.constant(float(fill_value), dtype.core, sizes))


def fill(type, shape, value):
    return full(shape, value, dtype=type)


def zeros_like(input, *, dtype=None):
    return full(as_tensor(input).shape, 0, dtype=dtype or input.dtype)


def ones_like(input, *, dtype=None):
    return full(as_tensor(input).shape, 1, dtype=dtype or input.dtype)


def arange(start=0, end=None, step=1, *, dtype=None):
    values = np.arange(start, step=step) if end is None else np.arange(start, end, step)
    return Tensor(values, dtype)


def scalar_to_tensor(input_x, dtype=mstype.float32):
    return Tensor(input_x, dtype)


scalar_to_array = scalar_to_tensor


def assign(variable, value):
    """The parameter with the values of a tensor of its shape; in a network that is being built parameters are changed
    by optimizers alone."""
    if not isinstance(variable, Parameter):
        raise TypeError(f"[assign] no parameter, got {type(variable).__name__}, expected a Parameter")
    if _trace.current() is not None:
        raise NotImplementedError(
            f"[assign] a parameter changed within a program, got '{variable.name}', expected a call outside of it"
        )
    return variable.set_data(as_tensor(value, "assign"))
