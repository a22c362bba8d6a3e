"""Linear algebra with the names of SciPy, of single matrices: see `ops` for batches."""

from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.linear_solutions import solve_triangle
from partita.ops.matrix_factors import lower_factor, lu_factors, permutation, symmetric_eigen, upper_factor
from partita.ops.support import as_tensor


def _matrix(where, a, square=True):
    """A matrix; integers become float64."""
    x = as_tensor(a, where)
    if x.ndim != 2 or (square and x.shape[0] != x.shape[1]):
        expected = "as many rows as columns" if square else "two dimensions"
        raise ValueError(f"[{where}] not such a matrix, got shape {x.shape}, expected {expected}")
    if x.dtype in (mstype.float32, mstype.float64):
        return x
    if x.dtype not in (mstype.int32, mstype.int64):
        raise TypeError(f"[{where}] bad element type, got {x.dtype}, expected float32, float64, int32 or int64")
    return F.cast(x, mstype.float64)


def block_diag(*arrs):
    """The matrix that has matrices along its diagonal, else 0."""
    return F.block_diag(*arrs) if arrs else F.zeros((1, 0), mstype.float32)


def inv(a, overwrite_a=False, check_finite=True):
    """The inverse of a matrix."""
    return F.inverse(_matrix("inv", a))


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    """The upper triangle U with U^T U = A, or the lower one, of a symmetric positive definite matrix."""
    return F.cholesky(_matrix("cholesky", a), not lower)


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """(triangle, lower): what `cho_solve` needs."""
    return cholesky(a, lower), lower


def _column(b, dtype):
    """(the right side as a matrix, whether it was a vector)."""
    b = as_tensor(b, "solve")
    b = b if mstype.is_float(b.dtype) else F.cast(b, dtype)
    return (F.expand_dims(b, 1), True) if b.ndim == 1 else (b, False)


def _flat(x, is_vector):
    return F.squeeze(x, 1) if is_vector else x


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """The solution X of A X = b, for the triangle of A that `cho_factor` gives."""
    factor, lower = c_and_lower
    factor = _matrix("cho_solve", factor)
    b, is_vector = _column(b, factor.dtype)
    return _flat(F.cholesky_solve(b, factor, not lower), is_vector)


def eigh(
    a,
    b=None,
    lower=True,
    eigvals_only=False,
    overwrite_a=False,
    overwrite_b=False,
    turbo=True,
    eigvals=None,
    type=1,
    check_finite=True,
):
    """(rising eigenvalues, eigenvectors as columns) of a symmetric matrix, of which a triangle is read, or the
    eigenvalues alone."""
    if b is not None or eigvals is not None:
        raise ValueError("[eigh] generalised problems are not supported, got b or eigvals, expected None")
    values, vectors = symmetric_eigen(_matrix("eigh", a), lower)
    return values if eigvals_only else (values, vectors)


def _factored(a):
    x = _matrix("lu", a, square=False)
    if x.shape[0] > x.shape[1]:
        raise ValueError(f"[lu] too many rows, got shape {x.shape}, expected at most as many as columns")
    return lu_factors(x)


def lu_factor(a, overwrite_a=False, check_finite=True):
    """(L below the diagonal and U in one matrix, the rows, counted from 0, with which rows were exchanged)."""
    packed, pivots = _factored(a)
    return packed, F.cast(pivots, mstype.int32)


def lu(a, permute_l=False, overwrite_a=False, check_finite=True):
    """(P as int32, L, U) with A = P L U, or with `permute_l` (P L, U)."""
    packed, pivots = _factored(a)
    change, lower, upper = permutation(pivots, packed.shape[0]), lower_factor(packed), upper_factor(packed)
    return (F.matmul(change, lower), upper) if permute_l else (F.cast(change, mstype.int32), lower, upper)


def solve_triangular(
    a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, debug=None, check_finite=True
):
    """The solution X of A X = b, or with `trans` 1, 2, "T" or "C" of A^T X = b, for a triangle of A."""
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"[solve_triangular] unknown trans, got {trans!r}, expected 0, 1, 2, 'N', 'T' or 'C'")
    a = _matrix("solve_triangular", a)
    b, is_vector = _column(b, a.dtype)
    if b.dtype != a.dtype:
        raise TypeError(f"[solve_triangular] the operands are of two types, got {a.dtype} and {b.dtype}, expected one")
    return _flat(solve_triangle(a, b, lower, trans not in (0, "N"), unit_diagonal), is_vector)


def lstsq(A, B, rcond=None, driver=None):
    """(solution X of least squares of A X - B, empty residuals, the smaller size of A, no singular values)."""
    if rcond is not None or driver is not None:
        raise ValueError("[lstsq] options are not supported, got rcond or driver, expected None")
    a = _matrix("lstsq", A, square=False)
    b, is_vector = _column(B, a.dtype)
    none = F.zeros((0,), a.dtype)
    return _flat(F.lstsq(a, b), is_vector), none, Tensor(min(a.shape), mstype.int64), none


__getattr__ = refuse_missing(globals())
