"""Largest and smallest elements so far, ranks, differences and sums at places: dimensions are `dim`."""

from partita.common import dtype as mstype
from partita.common._types import DType, Ints
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.filled import scatter_along
from partita.ops.place_methods import kth

__all__ = "cummax cummin diff kthvalue median nansum scatter_add".split()


def cummax(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """(largest elements up to each one along a dimension, where they are, the last of equal ones)."""
    return F.cummax(input, dim)


def cummin(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """(smallest elements up to each one along a dimension, where they are as int64, the last of equal ones)."""
    values, places = F.cummin(input, dim)
    return values, F.cast(places, mstype.int64)


def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along a dimension, n times; of what is put before and after, too."""
    return F.diff(input, n, dim, prepend, append)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(the k-th smallest element along a dimension, from 1, where it is)."""
    return kth(input, k, dim, keepdim)


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """(the element in the middle of the order along a dimension, the lower of two, where it is as int64), both in the
    shape without it, or with `keepdim` with size 1 there; of all elements the element alone."""
    return F.median(F.reshape(input, [-1]), 0)[0] if dim is None else F.median(input, dim, keepdim)


def nansum(input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The sum over dimensions, or of all elements, without NaN; of integers and bools as int64."""
    x = input if dtype or mstype.is_float(input.dtype) else F.cast(input, mstype.int64)
    return F.nansum(x, dim, keepdim, dtype=dtype)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """The tensor with elements added at places along a dimension. There may be fewer indices than elements along other
    dimensions, and more elements of `src` than indices, which are left out."""
    return scatter_along("scatter_add", "add", input, dim, index, src)
