"""Operations on the bits of integers, and on bools."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import logical_and, logical_not, logical_or
from partita.ops.picked import require_known
from partita.ops.support import as_tensor

__all__ = "bitwise_and bitwise_or bitwise_xor".split()


def _bitwise(where, function, of_bools, input, other):
    a = as_tensor(input, where)
    b = other if isinstance(other, Tensor) else Tensor(other, a.dtype)
    if a.dtype == b.dtype == mstype.bool_:
        return of_bools(a, b)
    for one in (a, b):
        if mstype.is_float(one.dtype):
            raise TypeError(f"[{where}] no bits to combine, got {one.dtype}, expected integers or bools")
    require_known(where, a, b)
    return Tensor(function(a.asnumpy(), b.asnumpy()))


def bitwise_and(input, other):
    """The bits that both have; of integers outside of programs that are compiled once."""
    return _bitwise("bitwise_and", np.bitwise_and, logical_and, input, other)


def bitwise_or(input, other):
    """The bits that one of both has; of integers outside of programs that are compiled once."""
    return _bitwise("bitwise_or", np.bitwise_or, logical_or, input, other)


def bitwise_xor(input, other):
    """The bits that only one of both has; of integers outside of programs that are compiled once."""

    def of_bools(a, b):
        return logical_and(logical_or(a, b), logical_not(logical_and(a, b)))

    return _bitwise("bitwise_xor", np.bitwise_xor, of_bools, input, other)
