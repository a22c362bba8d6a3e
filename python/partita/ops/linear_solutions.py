"""Inverses, determinants and solutions of systems of linear equations. NumPy computes them; the gradients are made of
such functions and of products, so they can be differentiated again. The formulas are those of M. Giles, "An extended
collection of matrix derivative results for forward and reverse mode algorithmic differentiation" (2008), that of
`pinv` is by G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate" (1973), and that of `cholesky` by I. Murray, "Differentiation of the Cholesky decomposition"
(2016)."""

from __future__ import annotations

import numbers

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import add, log, mul, neg, sub
from partita.ops.hosted import hosted, matrices
from partita.ops.layers import matmul
from partita.ops.shapes import broadcast_to, concat, expand_dims, sliced, swapaxes
from partita.ops.support import as_tensor, broadcast_shape
from partita.ops.triangles import eye, tril, triu

__all__ = (
    "adjoint cholesky cholesky_inverse cholesky_solve det inverse log_matrix_determinant logdet lstsq "
    "matrix_determinant matrix_exp matrix_power matrix_solve pinv slogdet"
).split()


def turned(x):
    """The matrices with rows and columns exchanged."""
    return swapaxes(x, -1, -2)


def adjoint(x: Tensor | float) -> Tensor:
    """The matrices, the last two dimensions, with rows and columns exchanged. Raises ValueError for less than two
    dimensions."""
    return turned(as_tensor(x, "adjoint"))


def _scaled(x, factors):
    """Each matrix times its number."""
    return mul(x, expand_dims(expand_dims(factors, -1), -1))


def _of_inverse(a, out, dout):
    return (neg(matmul(turned(out), matmul(dout, turned(out)))),)


def _of_det(a, out, dout):
    return (_scaled(turned(inverse(a)), mul(out, dout)),)


def _of_slogdet(a, out, dout):
    return (_scaled(turned(inverse(a)), dout[1]),)


def _inverse_values(a):
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise ValueError("[inverse] a matrix has no inverse, got determinant 0, expected another") from None


_inverse = hosted("matrix_inverse", _inverse_values, lambda a: a, _of_inverse, [2], [2])
_det = hosted("matrix_determinant", np.linalg.det, lambda a: a[:-2], _of_det, [2], [0])
_slogdet = hosted(
    "log_matrix_determinant",
    lambda a: tuple(np.linalg.slogdet(a)),
    lambda a: (a[:-2], a[:-2]),
    _of_slogdet,
    [2],
    [0, 0],
)


def inverse(input: Tensor | float) -> Tensor:
    """The inverses of matrices x[.., n, n], in this shape. Raises ValueError for a matrix that has none, or other
    shapes, TypeError for integers."""
    return _inverse(matrices("inverse", input, square=[0]))


def det(input: Tensor | float) -> Tensor:
    """The determinants of matrices x[.., n, n], of shape [..]. The gradient needs the inverses. Raises ValueError for
    other shapes, TypeError for integers."""
    return _det(matrices("det", input, square=[0]))


def slogdet(input: Tensor | float) -> tuple[Tensor, Tensor]:
    """(signs, logarithms of the magnitudes) of the determinants of matrices x[.., n, n], both of shape [..]. Raises
    ValueError for other shapes, TypeError for integers."""
    return _slogdet(matrices("slogdet", input, square=[0]))


def matrix_determinant(input: Tensor | float) -> Tensor:
    """The determinants of matrices x[.., n, n]: `det`."""
    return det(input)


def log_matrix_determinant(input: Tensor | float) -> tuple[Tensor, Tensor]:
    """(signs, logarithms of the magnitudes) of the determinants of matrices: `slogdet`."""
    return slogdet(input)


def logdet(input: Tensor | float) -> Tensor:
    """The logarithms of the determinants of matrices x[.., n, n], of shape [..], NaN where they are negative. Raises
    ValueError for other shapes, TypeError for integers."""
    signs, logs = slogdet(input)
    return add(logs, log(signs))  # the logarithm of a sign is 0, -inf or NaN


def _solve_values(a, b, adjoint):
    return np.linalg.solve(np.swapaxes(a, -1, -2) if adjoint else a, b)


def _of_solve(a, b, out, dout, adjoint):
    db = _solve(a, dout, not adjoint)
    da = neg(matmul(db, turned(out)))
    return turned(da) if adjoint else da, db


_solve = hosted("matrix_solve", _solve_values, lambda a, b, adjoint: b, _of_solve, [2, 2], [2])


def matrix_solve(matrix: Tensor | float, rhs: Tensor | float, adjoint: bool = False) -> Tensor:
    """The solutions X[.., n, k] of A X = B, for A[.., n, n] and B[.., n, k]; with `adjoint` those of A^T X = B."""
    a, b = matrices("matrix_solve", matrix, rhs, square=[0])
    if a.shape[:-1] != b.shape[:-1]:
        raise ValueError(f"[matrix_solve] the shapes do not fit, got {a.shape} and {b.shape}, expected as many rows")
    return _solve(a, b, bool(adjoint))


def _triangle(a, lower, unit):
    """The triangle that is read of each matrix, with ones on its diagonal where it is `unit`."""
    part = (tril if lower else triu)(a, (-1 if lower else 1) if unit else 0)
    return add(part, eye(a.shape[-1], dtype=a.dtype)) if unit else part


def solve_triangle(a, b, lower=True, transposed=False, unit=False):
    """The solutions of A X = B, or A^T X = B, where A is a triangle of the matrices `a`; `unit`: with ones on its
    diagonal. The dimensions before those of the matrices are broadcast."""
    around = list(broadcast_shape("solve", a.shape[:-2], b.shape[:-2]))
    a, b = (broadcast_to(one, around + list(one.shape[-2:])) for one in (a, b))
    return _solve(_triangle(a, lower, unit), b, bool(transposed))


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(X, A) with A X = b, or A^T X = b, for the upper or else the lower triangle of A; `unitriangular`: with ones on
    its diagonal."""
    return solve_triangle(A, b, not upper, transpose, unitriangular), A


def _cholesky_values(a):
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise ValueError("[cholesky] a matrix is not positive definite, got another, expected one") from None


def _of_cholesky(a, out, dout):
    half = tril(matmul(turned(out), dout))
    half = sub(half, mul(half, mul(eye(a.shape[-1], dtype=a.dtype), 0.5)))
    right = _solve(out, turned(_solve(out, half, True)), True)  # L^-T half L^-1, exchanged
    return (mul(add(right, turned(right)), 0.5),)


_cholesky = hosted("cholesky", _cholesky_values, lambda a: a, _of_cholesky, [2], [2])


def cholesky(input_x: Tensor | float, upper: bool = False) -> Tensor:
    """The lower triangles L with L L^T = A of symmetric positive definite matrices A[.., n, n], or with `upper` their
    transposes. The lower triangles of A are read. Raises ValueError for other matrices."""
    found = _cholesky(matrices("cholesky", input_x, square=[0]))
    return turned(found) if upper else found


def cholesky_solve(input: Tensor | float, input2: Tensor | float, upper: bool = False) -> Tensor:
    """The solutions of A X = B, for B[.., n, k] and the triangle of A[.., n, n] that `cholesky` gives. Raises
    ValueError for shapes that do not fit."""
    b, factor = matrices("cholesky_solve", input, input2, square=[1])
    first = solve_triangle(factor, b, not upper, upper)
    return solve_triangle(factor, first, not upper, not upper)


def cholesky_inverse(input_x: Tensor | float, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose triangle `cholesky` gives: (L L^T)^-1, or with `upper` (U^T U)^-1. All elements
    are read."""
    found = inverse(matrices("cholesky_inverse", input_x, square=[0]))
    return matmul(found, turned(found)) if upper else matmul(turned(found), found)


def _pinv_values(a, rtol, atol, hermitian):
    u, s, v = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    limit = np.maximum(atol, rtol * s.max(-1, keepdims=True, initial=0))
    s = np.where(s > limit, 1 / np.where(s > limit, s, 1), 0)
    return np.swapaxes(v, -1, -2) @ (s[..., None] * np.swapaxes(u, -1, -2))


def _of_pinv(a, out, dout, rtol, atol, hermitian):
    p, pt, dt = out, turned(out), turned(dout)
    rows, columns = (eye(n, dtype=a.dtype) for n in a.shape[-2:])
    first = neg(matmul(pt, matmul(dout, pt)))
    second = matmul(sub(rows, matmul(a, p)), matmul(dt, matmul(p, pt)))
    third = matmul(matmul(pt, p), matmul(dt, sub(columns, matmul(p, a))))
    return (add(first, add(second, third)),)


_pinv = hosted(
    "pinv", _pinv_values, lambda a, *options: [*a[:-2], a[-1], a[-2]], _of_pinv, [2], [2]
)


def pinv(x: Tensor | float, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverses of matrices x[.., n, m], of shape [.., m, n]. Singular values that are at most the larger of
    `atol` and `rtol` times the largest one count as 0; `rtol` is the larger size times the rounding of the type unless
    one of both is given. The gradient holds where the rank does not change. `hermitian`: the matrices are symmetric.
    Raises ValueError for less than two dimensions, TypeError for integers."""
    x = matrices("pinv", x, square=[0] if hermitian else [])
    if rtol is None:
        rtol = 0.0 if atol is not None else max(x.shape[-2:]) * float(np.finfo(x.dtype.numpy).eps)
    return _pinv(x, float(rtol), 0.0 if atol is None else float(atol), bool(hermitian))


def lstsq(input: Tensor | float, A: Tensor | float) -> Tensor:
    """The X[n, k] for which the sums of squares of input X - A are least, for matrices input[m, n] of full rank, m at
    least n, and A[m, k] or A[m]. If m is below n, the shortest of the solutions. Raises ValueError for another number
    of rows."""
    a = as_tensor(A, "lstsq")
    x, b = matrices("lstsq", input, expand_dims(a, 1) if a.ndim == 1 else a)
    if x.shape[0] != b.shape[0]:
        raise ValueError(f"[lstsq] the shapes do not fit, got {x.shape} and {b.shape}, expected as many rows")
    return matmul(pinv(x), b)


def matrix_power(input: Tensor | float, n: int) -> Tensor:
    """The product of n equal matrices x[.., m, m]: the inverse of it if n is negative, and ones on the diagonal if it
    is 0. Raises ValueError for other shapes, TypeError for an n that is no integer."""
    x = as_tensor(input, "matrix_power")
    if isinstance(n, bool) or not isinstance(n, numbers.Integral):
        raise TypeError(f"[matrix_power] n is not an integer, got {n!r}, expected one")
    if n < 0 or mstype.is_float(x.dtype):
        x = matrices("matrix_power", x, square=[0])
    if n < 0:
        x, n = inverse(x), -n
    made = None
    while n:
        if n % 2:
            made = x if made is None else matmul(made, x)
        n //= 2
        x = matmul(x, x) if n else x
    return broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape) if made is None else made


# Coefficients of the Pade approximant of degree 13 of the exponential: N. Higham, "The scaling and squaring method for
# the matrix exponential revisited" (2005).
_PADE = [64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600]
_PADE += [670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1]


def _exp_values(a):
    a = np.asarray(a, np.float64)
    size = np.abs(a).sum(-2, keepdims=True).max(-1, keepdims=True, initial=0)  # of each matrix
    halvings = np.ceil(np.log2(np.where(np.isfinite(size), np.maximum(size, 5.37), 5.37) / 5.37))
    a = a / 2.0**halvings
    power, even, odd = np.broadcast_to(np.eye(a.shape[-1]), a.shape), 0, 0
    square = a @ a
    for low, high in zip(_PADE[::2], _PADE[1::2]):
        even, odd, power = even + low * power, odd + high * power, power @ square
    odd = a @ odd
    made = np.linalg.solve(even - odd, even + odd)
    with np.errstate(all="ignore"):
        for k in range(int(halvings.max(initial=0))):
            made = np.where(k < halvings, made @ made, made)
    return made


def _of_exp(a, out, dout):
    """The upper right block of exp([[A^T, dout], [0, A^T]]): R. Mathias, "A chain rule for matrix functions" (1996)."""
    n, at = a.shape[-1], turned(a)
    zero = mul(at, 0.0)
    both = concat([concat([at, dout], -1), concat([zero, at], -1)], -2)
    ranges = [*((0, size) for size in a.shape[:-2]), (0, n), (n, 2 * n)]
    return (sliced(_exp(both), ranges),)


_exp = hosted("matrix_exp", _exp_values, lambda a: a, _of_exp, [2], [2])


def matrix_exp(input: Tensor | float) -> Tensor:
    """The exponentials of matrices x[.., n, n]: sums of their powers x^k / k!. Raises ValueError for other shapes,
    TypeError for integers."""
    return _exp(matrices("matrix_exp", input, square=[0]))
