"""Element types in which operands meet, and calls of NumPy for each element."""

import functools

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import as_float, cast
from partita.ops.hosted import Hosted
from partita.ops.shapes import broadcast_to
from partita.ops.support import as_tensor, broadcast_shape, is_number, number_dtype


def typed(x, dtype):
    """The tensor in an element type: itself where it has this one."""
    return x if x.dtype == dtype else cast(x, dtype)


def wide(x):
    """The tensor, or as float32 if its numbers have 16 bits: what is computed from it is rounded once."""
    return cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x


def met(first, second):
    """The element type in which two others meet: the wider float, else the integer that holds both."""
    if first == second:
        return first
    floats = [one for one in (first, second) if mstype.is_float(one)]
    if len(floats) == 2:
        sizes = [8 if one == mstype.float64 else 4 if one == mstype.float32 else 2 for one in floats]
        return mstype.float32 if sizes[0] == sizes[1] else floats[0] if sizes[0] > sizes[1] else floats[1]
    return floats[0] if floats else mstype.to_dtype(np.result_type(first.numpy, second.numpy))


def pair(where, a, b):
    """Two operands as tensors of one element type. A number takes that of the tensor which it meets, unless this holds
    numbers of a lower kind."""
    if is_number(a) and isinstance(b, Tensor):
        a = Tensor(a, number_dtype(b, a))
    if is_number(b) and isinstance(a, Tensor):
        b = Tensor(b, number_dtype(a, b))
    a, b = as_tensor(a, where), as_tensor(b, where)
    kind = met(a.dtype, b.dtype)
    return typed(a, kind), typed(b, kind)


def floats(where, a, b):
    """Two operands as tensors of one type of floats; integers become float32."""
    return tuple(as_float(one) for one in pair(where, a, b))


def integers(where, *operands):
    """The operands, if they hold integers. Raises TypeError for floats and bools."""
    for one in operands:
        if mstype.is_float(one.dtype) or one.dtype == mstype.bool_:
            raise TypeError(f"[{where}] no integers, got {one.dtype}, expected an integer type")
    return operands


@functools.lru_cache(maxsize=None)
def _op_of(name, function, rank, count, dtype, bprop):
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    rule = ",".join([letters] * count) + "->" + letters if rank else ""
    return Hosted(name, function, out_dtype=dtype, gradient=bprop, rule=rule)


def by_numpy(name, function, *operands, dtype=None, bprop=None):
    """`function` of NumPy, the only one of this name, for each element, broadcast, also within programs and cut over
    ranks. Without `bprop`, whose
    operands and gradients have the shape of the result, it has no gradient. The result has the element type of the
    operands, or `dtype`."""
    shape = broadcast_shape(name, *[one.shape for one in operands])
    spread = [one if one.shape == shape else broadcast_to(one, shape) for one in operands]
    return _op_of(name, function, len(shape), len(spread), dtype, bprop)(*spread)
