"""Tensors that nothing else makes."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.support import F, as_tensor, attributes, axis_of, number, run


def one_hot(
    indices: Tensor | float, depth: int, on_value: Tensor | float = 1, off_value: Tensor | float = 0, axis: int = -1
) -> Tensor:
    """`on_value` at each index along a dimension of size `depth` that is added at `axis`, else `off_value`, in their
    element type, which is int64 without them. `indices` are int32 or int64, of any shape; those outside of 0 to depth -
    1 have `off_value` alone. Raises TypeError for other indices or two types of values, ValueError for a `depth` below
    1, or an `axis` that the result has not."""
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


def zeros(size: int | Sequence[int], dtype: mstype.DType | str | type | None = None) -> Tensor:
    """Zeros of a shape, or of as many elements as an integer says; float32 without a type. Raises ValueError for a
    negative size, TypeError for an unknown type, and sizes that are no integers.

    >>> ops.zeros((2, 2)).asnumpy().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return full(size, 0, dtype=dtype or mstype.float32)


def ones(shape: int | Sequence[int], dtype: mstype.DType | str | type | None = None) -> Tensor:
    """Ones of a shape, or of as many elements as an integer says; float32 without a type. Raises ValueError for a
    negative size, TypeError for an unknown type, and sizes that are no integers.

    >>> ops.ones((2,), ms.int32).asnumpy().tolist()
    [1, 1]
    """
    return full(shape, 1, dtype=dtype or mstype.float32)


def full(
    size: int | Sequence[int], fill_value: Tensor | float, *, dtype: mstype.DType | str | type | None = None
) -> Tensor:
    """One number, or the element of a tensor, in all places of a shape, or of as many as an integer says: int64 of an
    integer, else float32, without a type. Raises ValueError for a negative size or a tensor of several elements,
    TypeError for an unknown type, and sizes that are no integers.

    >>> ops.full((2,), 7).asnumpy().tolist()
    [7, 7]
    """
    if not isinstance(fill_value, (numbers.Number, Tensor, np.generic)):
        raise TypeError(f"[full] the value is not a number, got {fill_value!r}, expected one, or a Tensor of one")
    dtype = mstype.to_dtype(dtype or (mstype.int64 if isinstance(fill_value, numbers.Integral) else mstype.float32))
    sizes = [size] if isinstance(size, numbers.Integral) else list(size)
    for one in sizes:
        if isinstance(one, (str, float)):
            raise TypeError(f"[full] a size is not an integer, got {one!r}, expected a shape of integers")
    if dtype == mstype.bool_ and isinstance(fill_value, numbers.Number):
        fill_value = bool(fill_value)

    def body(trace, value):
        if type(value) is float:
            return trace.constant(value, dtype.core, sizes)
        return F.apply(trace, "broadcast_to", [number(trace, value, dtype.core)], attributes(shape=sizes))[0]

    return run(body, float(fill_value))


def fill(type: mstype.DType | str | type, shape: int | Sequence[int], value: Tensor | float) -> Tensor:
    """One number in all places of a shape, in an element type. Raises ValueError for a negative size, TypeError for an
    unknown type."""
    return full(shape, value, dtype=type)


def zeros_like(input: Tensor | float, *, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """Zeros in the shape, and without a type also in the type, of a tensor. Raises TypeError for what holds no numbers,
    and for an unknown type.

    >>> ops.zeros_like(ms.Tensor([[1, 2]])).asnumpy().tolist()
    [[0, 0]]
    """
    x = as_tensor(input, "zeros_like")
    return full(x.shape, 0, dtype=dtype or x.dtype)


def ones_like(input: Tensor | float, *, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """Ones in the shape, and without a type also in the type, of a tensor. Raises TypeError for what holds no numbers,
    and for an unknown type.

    >>> ops.ones_like(ms.Tensor([[1, 2]]), dtype=ms.float32).asnumpy().tolist()
    [[1.0, 1.0]]
    """
    x = as_tensor(input, "ones_like")
    return full(x.shape, 1, dtype=dtype or x.dtype)


def arange(
    start: Tensor | float = 0,
    end: Tensor | float | None = None,
    step: Tensor | float = 1,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """Numbers from `start`, or 0, to below `end`, in one dimension: int64, or float32 where one of the three is a
    float; none where `end` is not ahead. Raises ValueError for a step of
    0.

    >>> ops.arange(1, 7, 2).asnumpy().tolist()
    [1, 3, 5]
    """
    if not isinstance(step, Tensor) and step == 0:
        raise ValueError("[arange] the numbers have no distance, got step 0, expected another number")
    values = np.arange(0, start, step) if end is None else np.arange(start, end, step)
    return Tensor(values, dtype or (mstype.float32 if values.dtype.kind == "f" else mstype.int64))


def scalar_to_tensor(input_x: float, dtype: mstype.DType | str | type = mstype.float32) -> Tensor:
    """A number as a tensor without dimensions, of float32 without a type. Raises TypeError for an unknown type."""
    return Tensor(input_x, dtype)


scalar_to_array = scalar_to_tensor


def assign(variable: Parameter, value: Tensor | float) -> Parameter:
    """The parameter with the values of a tensor of its shape, in its own element type. Raises TypeError for what is no
    parameter, ValueError for another shape, and NotImplementedError in a network that is compiled once, where
    optimizers alone change parameters."""
    if not isinstance(variable, Parameter):
        raise TypeError(f"[assign] not a parameter, got {type(variable).__name__}, expected a Parameter")
    return variable.set_data(as_tensor(value, "assign"))
