"""Operations on the bits of integers, and on bools."""

from __future__ import annotations

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import logical_and, logical_not, logical_or
from partita.ops.kinds import by_numpy, integers, pair

__all__ = "bitwise_and bitwise_or bitwise_xor".split()


def _bitwise(where, function, of_bools, input, other):
    a, b = pair(where, input, other)
    return of_bools(a, b) if a.dtype == mstype.bool_ else by_numpy(where, function, *integers(where, a, b))


def bitwise_and(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The bits that both of each pair of elements have, broadcast, in the integer type that holds both; of bools a
    bool. Raises TypeError for floats, ValueError for shapes that do not broadcast."""
    return _bitwise("bitwise_and", np.bitwise_and, logical_and, input, other)


def bitwise_or(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The bits that one of each pair of elements has, broadcast, in the integer type that holds both; of bools a bool.
    Raises TypeError for floats, ValueError for shapes that do not broadcast."""
    return _bitwise("bitwise_or", np.bitwise_or, logical_or, input, other)


def bitwise_xor(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The bits that only one of each pair of elements has, broadcast, in the integer type that holds both; of bools a
    bool. Raises TypeError for floats, ValueError for shapes that do not broadcast."""

    def of_bools(a, b):
        return logical_and(logical_or(a, b), logical_not(logical_and(a, b)))

    return _bitwise("bitwise_xor", np.bitwise_xor, of_bools, input, other)
