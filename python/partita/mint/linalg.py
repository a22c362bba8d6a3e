"""Linear algebra with the parameters that PyTorch has."""

from partita._names import refuse_missing
from partita.mint.matrices import inv, qr  # noqa: F401
from partita.ops import functional as F


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norms of matrices, whose rows and columns are two dimensions."""
    return F.matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements, or of those along dimensions."""
    return F.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of vectors or of matrices."""
    return F.norm(A, ord, dim, keepdim, dtype=dtype)


__getattr__ = refuse_missing(globals())
