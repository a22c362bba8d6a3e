"""Tensors that nothing else makes."""

import numbers

import numpy as np

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.support import F, as_tensor, attributes, axis_of, number, run


def one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    """`on_value` at each index along a dimension that is added at `axis`, else `off_value`, in their element type."""
    ids = as_tensor(indices, "one_hot")
    axis = axis_of("one_hot", axis, ids.ndim + 1)
    on, off = as_tensor(on_value, "one_hot"), as_tensor(off_value, "one_hot")
    if on.dtype != off.dtype:
        raise TypeError(f"[one_hot] the values differ in element type, got {on.dtype} and {off.dtype}, expected one")
    if mstype.is_float(on.dtype):
        attrs = attributes(depth=int(depth), on_value=float(on), off_value=float(off), dtype=on.dtype)
        hot = run(lambda trace, x: F.apply(trace, "one_hot", [x], attrs)[0], ids)
    else:
        attrs = attributes(depth=int(depth))
        hot = run(lambda trace, x: F.cast(F.apply(trace, "one_hot", [x], attrs)[0], "bool"), ids)
        hot = run(lambda trace, c, a, b: F.select(c, a, b), hot, on, off)
    if axis == ids.ndim:
        return hot
    order = [*range(axis), ids.ndim, *range(axis, ids.ndim)]
    return run(lambda trace, x: F.transpose(x, order), hot)


def zeros(size, dtype=None):
    """Zeros of a shape; float32 without a type.

    >>> ops.zeros((2, 2)).asnumpy().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return full(size, 0, dtype=dtype or mstype.float32)


def ones(shape, dtype=None):
    """Ones of a shape; float32 without a type.

    >>> ops.ones((2,), ms.int32).asnumpy().tolist()
    [1, 1]
    """
    return full(shape, 1, dtype=dtype or mstype.float32)


def full(size, fill_value, *, dtype=None):
    """One number, or the element of a tensor, in all places of a shape: int64 of an integer, else float32, without a
    type.

    >>> ops.full((2,), 7).asnumpy().tolist()
    [7, 7]
    """
    dtype = mstype.to_dtype(dtype or (mstype.int64 if isinstance(fill_value, numbers.Integral) else mstype.float32))
    sizes = [size] if isinstance(size, numbers.Integral) else list(size)
    if dtype == mstype.bool_ and isinstance(fill_value, numbers.Number):
        fill_value = bool(fill_value)

    def body(trace, value):
        if type(value) is float:
            return trace.constant(value, dtype.core, sizes)
        return F.apply(trace, "broadcast_to", [number(trace, value, dtype.core)], attributes(shape=sizes))[0]

    return run(body, float(fill_value))


def fill(type, shape, value):
    """One number in all places of a shape, in an element type."""
    return full(shape, value, dtype=type)


def zeros_like(input, *, dtype=None):
    """Zeros in the shape, and without a type also in the type, of a tensor.

    >>> ops.zeros_like(ms.Tensor([[1, 2]])).asnumpy().tolist()
    [[0, 0]]
    """
    return full(as_tensor(input).shape, 0, dtype=dtype or input.dtype)


def ones_like(input, *, dtype=None):
    """Ones in the shape, and without a type also in the type, of a tensor.

    >>> ops.ones_like(ms.Tensor([[1, 2]]), dtype=ms.float32).asnumpy().tolist()
    [[1.0, 1.0]]
    """
    return full(as_tensor(input).shape, 1, dtype=dtype or input.dtype)


def arange(start=0, end=None, step=1, *, dtype=None):
    """Numbers from `start`, or 0, to below `end`: int64, or float32 where one of the three is a float.

    >>> ops.arange(1, 7, 2).asnumpy().tolist()
    [1, 3, 5]
    """
    values = np.arange(0, start, step) if end is None else np.arange(start, end, step)
    return Tensor(values, dtype or (mstype.float32 if values.dtype.kind == "f" else mstype.int64))


def scalar_to_tensor(input_x, dtype=mstype.float32):
    """A number as a tensor without dimensions."""
    return Tensor(input_x, dtype)


scalar_to_array = scalar_to_tensor


def assign(variable, value):
    """The parameter with the values of a tensor of its shape. Raises NotImplementedError in a network that is compiled
    once, where optimizers alone change parameters."""
    if not isinstance(variable, Parameter):
        raise TypeError(f"[assign] not a parameter, got {type(variable).__name__}, expected a Parameter")
    return variable.set_data(as_tensor(value, "assign"))
