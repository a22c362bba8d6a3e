"""Conversions that the functions with the names of NumPy share."""

import numbers
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.picked import require_known


def typed(x, dtype):
    """The tensor with an element type, or as it is without one."""
    return x if dtype is None else F.cast(x, dtype)


def tensor_of(a, dtype=None):
    """The tensor that an array is or holds; integers of Python are int32, numbers with a fraction float32."""
    if not isinstance(a, Tensor):
        if isinstance(a, (list, tuple)):
            a = [one.asnumpy() if isinstance(one, Tensor) else one for one in a]
        values = np.asarray(a)
        if not isinstance(a, (np.ndarray, np.generic)):
            kinds = {"i": np.int32, "f": np.float32}
            values = values.astype(kinds.get(values.dtype.kind, values.dtype))
        a = Tensor(values)
    return typed(a, dtype)


def sizes_of(shape):
    """A shape as a list; one number is one dimension."""
    return [shape] if isinstance(shape, numbers.Integral) else list(shape)


def values_of(where, *given):
    """The arrays of NumPy of tensors, which a program that is compiled once does not have: it raises the error of
    `require_known`."""
    tensors = [tensor_of(one) for one in given]
    require_known(where, *tensors)
    return [one.asnumpy() for one in tensors]


ArrayLike = Tensor | np.ndarray | Sequence | float  # what `tensor_of` takes


def integers(values):
    """A tensor of int32."""
    return Tensor(np.asarray(values, np.int32))
