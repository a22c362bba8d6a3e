"""Ops of linear algebra that are objects."""

import numbers

import numpy as np

from partita.common import dtype as mstype
from partita.ops import functional as F
from partita.ops.linear_solutions import solve_triangle, turned
from partita.ops.op_classes import MUST, options_last
from partita.ops.picked import require_known
from partita.ops.primitive import Primitive
from partita.ops.primitives import plain
from partita.ops.segments import over_segments

_NO_EIGENVALUES = "complex numbers are not supported, got a call, expected scipy.linalg.eigh for symmetric matrices"

_PLAIN = {
    "MatrixDeterminant": F.det,
    "LogMatrixDeterminant": F.slogdet,
    "MatrixExp": F.matrix_exp,
    "LuSolve": F.lu_solve,
    "Geqrf": F.geqrf,
    "Orgqr": F.orgqr,
    "Ger": F.ger,
    "Trace": F.trace,
}
for _name, _function in _PLAIN.items():
    globals()[_name] = plain(_name, _function, False, __name__)

_OPTIONS_LAST = {  # (function, parameters of the class, which follow the operands)
    "MatrixSolve": (F.matrix_solve, {"adjoint": False}),
    "Cholesky": (F.cholesky, {"upper": False}),
    "CholeskyInverse": (F.cholesky_inverse, {"upper": False}),
    "CholeskySolve": (F.cholesky_solve, {"upper": False}),
    "Cdist": (F.cdist, {"p": 2.0}),
    "Pdist": (F.pdist, {"p": 2.0}),
    "LuUnpack": (F.lu_unpack, {"unpack_data": True, "unpack_pivots": True}),
    "Ormqr": (F.ormqr, {"left": True, "transpose": False}),
    "MatrixPower": (F.matrix_power, {"n": MUST}),
    "Renorm": (F.renorm, {"p": MUST, "dim": MUST, "maxnorm": MUST}),
    "Histogram": (F.histc, {"bins": 100, "min": 0.0, "max": 0.0}),
}
for _name, (_function, _defaults) in _OPTIONS_LAST.items():
    globals()[_name] = options_last(_name, _function, __name__, _defaults)

__all__ = [
    *_PLAIN,
    *_OPTIONS_LAST,
    "Bincount",
    "Cross",
    "Eig",
    "EuclideanNorm",
    "HistogramFixedWidth",
    "Lstsq",
    "MatrixInverse",
    "MatrixLogarithm",
    "MatrixSolveLs",
    "MatrixTriangularSolve",
    "NuclearNorm",
    "Qr",
    "Svd",
    "TridiagonalMatMul",
]


class MatrixInverse(Primitive):
    """The inverses of matrices x[.., n, n], with `adjoint` of their transposes."""

    def __init__(self, adjoint=False):
        super().__init__()
        self.adjoint = bool(adjoint)

    def compute(self, x):
        return F.inverse(turned(x) if self.adjoint else x)


class MatrixTriangularSolve(Primitive):
    """(A[.., n, n], B[.., n, k]): the solutions of A X = B, or with `adjoint` A^T X = B, where A is the lower triangle,
    or else the upper one."""

    def __init__(self, lower=True, adjoint=False):
        super().__init__()
        self.lower, self.adjoint = bool(lower), bool(adjoint)

    def compute(self, matrix, rhs):
        return solve_triangle(matrix, rhs, self.lower, self.adjoint)


class MatrixSolveLs(Primitive):
    """(A[.., m, n], B[.., m, k], l): the X for which the squares of A X - B, and l times those of X, have the least
    sum. Without `fast` l has no effect."""

    def __init__(self, fast=True):
        super().__init__()
        self.fast = bool(fast)

    def compute(self, matrix, rhs, l2_regularizer):
        if not self.fast:
            return F.matmul(F.pinv(matrix), rhs)
        columns = F.eye(matrix.shape[-1], dtype=matrix.dtype)
        product = F.matmul(turned(matrix), matrix)
        damped = F.add(product, F.mul(columns, F.cast(l2_regularizer, matrix.dtype)))
        return F.matrix_solve(damped, F.matmul(turned(matrix), rhs))


class MatrixLogarithm(Primitive):
    """Not there: the logarithms of matrices are complex."""

    def __init__(self):
        super().__init__()

    def compute(self, x):
        raise NotImplementedError(
            "[MatrixLogarithm] complex numbers are not supported, got a call, expected scipy.linalg.eigh, and log of "
            "the eigenvalues, for symmetric positive definite matrices"
        )


class Eig(Primitive):
    """Not there: eigenvalues are complex. See scipy.linalg.eigh, of symmetric matrices."""

    def __init__(self, compute_v=False):
        super().__init__()
        self.compute_v = bool(compute_v)

    def compute(self, x):
        raise NotImplementedError(f"[Eig] {_NO_EIGENVALUES}")


class Qr(Primitive):
    """(Q, R) of matrices x[.., m, n], with `full_matrices` Q of m columns."""

    def __init__(self, full_matrices=False):
        super().__init__()
        self.full_matrices = bool(full_matrices)

    def compute(self, x):
        return F.qr(x, "complete" if self.full_matrices else "reduced")


class Svd(Primitive):
    """(s, U, V) of matrices x[.., m, n]. Without `compute_uv` U and V are tensors of one 0."""

    def __init__(self, full_matrices=False, compute_uv=True):
        super().__init__()
        self.full_matrices, self.compute_uv = bool(full_matrices), bool(compute_uv)

    def compute(self, x):
        if self.compute_uv:
            return F.svd(x, self.full_matrices)
        return F.svd(x, compute_uv=False), F.zeros((1,), x.dtype), F.zeros((1,), x.dtype)


class Lstsq(Primitive):
    """(x[m, n], a[m, k] or a[m]): the solution of least squares."""

    def __init__(self, fast=True, l2_regularizer=0.0):
        super().__init__()
        if l2_regularizer:
            raise NotImplementedError(
                f"[Lstsq] a regularizer is not supported, got {l2_regularizer}, expected MatrixSolveLs"
            )
        self.fast, self.l2_regularizer = bool(fast), float(l2_regularizer)

    def compute(self, x, a):
        return F.lstsq(x, a)


class EuclideanNorm(Primitive):
    """(x, axes): the root of the sum of squares over the dimensions that a tensor of integers names."""

    def __init__(self, keep_dims=False):
        super().__init__()
        self.keep_dims = bool(keep_dims)

    def compute(self, x, axes):
        require_known("EuclideanNorm", axes)
        return F.vector_norm(x, 2, tuple(int(one) for one in axes.asnumpy().reshape(-1)), self.keep_dims)


class NuclearNorm(Primitive):
    """The sum of the singular values of a matrix, or of those of two dimensions."""

    def __init__(self, dim=None, keepdim=False):
        super().__init__()
        self.dim, self.keepdim = dim, bool(keepdim)

    def compute(self, x):
        return F.matrix_norm(x, "nuc", (-2, -1) if self.dim is None else self.dim, self.keepdim)


class Cross(Primitive):
    """The products of vectors of three elements along a dimension: the first one of this size where none is given."""

    def __init__(self, dim=-65530):
        super().__init__()
        self.dim = dim

    def compute(self, x1, x2):
        return F.cross(x1, x2, None if self.dim == -65530 else self.dim)


class TridiagonalMatMul(Primitive):
    """(superdiagonal[.., 1, m], main diagonal, subdiagonal, rhs[.., m, n]): the product of the matrix of three
    diagonals and rhs. The last element of the first one and the first element of the third one are not read."""

    def __init__(self):
        super().__init__()

    def compute(self, superdiag, maindiag, subdiag, rhs):
        upper, middle, lower = (turned(one) for one in (superdiag, maindiag, subdiag))
        zero = F.mul(F.narrow(rhs, -2, 0, 1), 0)
        after = F.concat([F.narrow(rhs, -2, 1, rhs.shape[-2] - 1), zero], -2)
        before = F.concat([zero, F.narrow(rhs, -2, 0, rhs.shape[-2] - 1)], -2)
        return F.add(F.mul(middle, rhs), F.add(F.mul(upper, after), F.mul(lower, before)))


class Bincount(Primitive):
    """(integers, size, weights): the sums of the weights of each integer from 0 to below the size."""

    def __init__(self):
        super().__init__()

    def compute(self, array, size, weights):
        count, ids = int(size), F.reshape(array, [-1])
        ids = F.select(F.less(ids, count), ids, F.full_like(ids, -1))
        return over_segments("Bincount", "add", F.reshape(weights, [-1]), ids, count)


class HistogramFixedWidth(Primitive):
    """(x, (low, high)): how many elements are in each of `nbins` parts of equal width, as int32. Those below and above
    count in the first and the last one."""

    def __init__(self, nbins, dtype="int32"):
        super().__init__()
        if isinstance(nbins, bool) or not isinstance(nbins, numbers.Integral) or nbins < 1:
            raise ValueError(f"[HistogramFixedWidth] bad number of parts, got {nbins!r}, expected one or more")
        if dtype != "int32":
            raise ValueError(f"[HistogramFixedWidth] bad dtype, got {dtype}, expected int32")
        self.nbins = int(nbins)

    def compute(self, x, range):
        require_known("HistogramFixedWidth", range)
        low, high = np.asarray(range.asnumpy(), np.float64).reshape(-1).tolist()
        inner = F.clip(F.cast(x, mstype.float32), low, high)
        return F.cast(F.histc(F.reshape(inner, [-1]), self.nbins, low, high), mstype.int32)
