"""Functions of matrices with the parameters that PyTorch has."""

from partita.common import dtype as mstype
from partita.common._types import Number
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.linear_solutions import triangular_solve  # noqa: F401

__all__ = "cdist histc inverse triangular_solve".split()

inverse = F.inverse


def inv(input: Tensor) -> Tensor:
    """The inverses of matrices x[.., n, n]."""
    return F.inverse(input)


def qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """(Q, R) of matrices x[.., m, n]; with "r" R alone, and an empty Q."""
    if mode != "r":
        return F.qr(A, mode)
    return F.zeros((0,), A.dtype), F.qr(A)[1]


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distances, norms `p` of differences, of all rows of x1[.., n, k] and x2[.., m, k]: [.., n, m]. The way in
    which they are computed is always the same."""
    return F.cdist(x1, x2, p)


def histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor:
    """How many elements are in each of `bins` parts of equal width from `min` to `max`, or between the smallest and the
    largest element where both are 0, of their element type."""
    kind = mstype.float32 if mstype.is_float(input.dtype) else mstype.int32
    return F.cast(F.histc(F.cast(input, kind), bins, min, max), input.dtype)
