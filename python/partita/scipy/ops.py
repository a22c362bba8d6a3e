"""Ops of linear algebra under the names that SciPy's functions call."""

from partita._names import absent_all, refuse_missing
from partita.common import dtype as mstype
from partita.ops import functional as F
from partita.ops.linear_primitives import Eig  # noqa: F401
from partita.ops.matrix_factors import lu_factors, permutation
from partita.ops.primitive import Primitive
from partita.scipy.linalg import solve_triangular

globals().update(absent_all(__name__, {"LinearSumAssignment": "scipy.optimize of SciPy on asnumpy()"}))


class SolveTriangular(Primitive):
    """(a, b): the solution X of a X = b, or with `trans` "T" or "C" of a^T X = b, for a triangle of a."""

    def __init__(self, lower=False, unit_diagonal=False, trans="N"):
        super().__init__()
        self.lower, self.unit_diagonal, self.trans = bool(lower), bool(unit_diagonal), trans

    def compute(self, a, b):
        return solve_triangular(a, b, self.trans, self.lower, self.unit_diagonal)


class LU(Primitive):
    """(L below the diagonal and U in one matrix, the rows with which rows were exchanged, the permutation as int32)."""

    def __init__(self):
        super().__init__()

    def compute(self, a):
        packed, pivots = lu_factors(a)
        change = permutation(pivots, packed.shape[-2])
        return packed, F.cast(pivots, mstype.int32), F.cast(change, mstype.int32)


__getattr__ = refuse_missing(globals())
