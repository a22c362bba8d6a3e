"""Factors of matrices: QR, LU, singular values, eigenvalues of symmetric matrices, and products of reflections. NumPy
computes them; the gradients are made of functions that have gradients themselves.

The gradients of QR are by H.-J. Liao and others, "Differentiable programming tensor networks" (2019), of LU by S.
Axelsson and others as in "Differentiation of matrix factorizations" of M. Giles (2008), of singular values by J.
Townsend, "Differentiating the singular value decomposition" (2016)."""

from __future__ import annotations

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.creation import zeros_like
from partita.ops.elementwise import add, cast, div, equal, mul, select, sub
from partita.ops.hosted import hosted, matrices
from partita.ops.layers import matmul
from partita.ops.linear_solutions import matrix_solve, solve_triangle, turned
from partita.ops.shapes import broadcast_to, concat, expand_dims, sliced
from partita.ops.support import as_tensor
from partita.ops.triangles import eye, tril, triu

__all__ = "eig eigvals geqrf lu_solve lu_unpack orgqr ormqr qr svd".split()


def _columns(x, begin, end):
    return sliced(x, [*((0, n) for n in x.shape[:-1]), (begin, end)])


def _qr_shapes(a, mode):
    rows, columns = a[-2:]
    inner = rows if mode == "complete" else min(rows, columns)
    return [*a[:-2], rows, inner], [*a[:-2], inner, columns]


def _of_qr(a, out, dout, mode):
    q, r = out
    rows, columns = a.shape[-2:]
    if mode == "complete" and rows > columns:
        raise NotImplementedError(
            "[qr] complete factors have no gradient, got more rows than columns, expected mode='reduced'"
        )
    if rows >= columns:
        return (_of_tall_qr(q, r, *dout),)
    left, right = _columns(r, 0, rows), _columns(r, rows, columns)  # A = [X, Y], R = [left, right], Y = Q right
    dleft, dright = _columns(dout[1], 0, rows), _columns(dout[1], rows, columns)
    dq = add(dout[0], matmul(_columns(a, rows, columns), turned(dright)))
    return (concat([_of_tall_qr(q, left, dq, dleft), matmul(q, dright)], -1),)


def _of_tall_qr(q, r, dq, dr):
    both = sub(matmul(r, turned(dr)), matmul(turned(dq), q))
    symmetric = add(tril(both), turned(tril(both, -1)))
    return turned(matrix_solve(r, turned(add(dq, matmul(q, symmetric)))))


_qr = hosted("qr", lambda a, mode: tuple(np.linalg.qr(a, mode)), _qr_shapes, _of_qr, [2], [2, 2])


def qr(input: Tensor | float, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """(Q, R) of matrices x[.., m, n]: x = Q R, Q has orthonormal columns, R is an upper triangle. With "complete" Q has
    m columns, else the smaller of m and n. The gradient needs the first columns to be independent. Raises ValueError
    for less than two dimensions, TypeError for integers, or another mode."""
    if mode not in ("reduced", "complete"):
        raise TypeError(f"[qr] unknown mode, got {mode!r}, expected reduced or complete")
    return _qr(matrices("qr", input), mode)


def _differences(values):
    """1 / (values[j] - values[i]) for places i, j, and 0 where these are the same."""
    gaps = sub(expand_dims(values, -2), expand_dims(values, -1))
    none = equal(gaps, 0.0)
    return select(none, zeros_like(gaps), div(1.0, select(none, add(gaps, 1.0), gaps)))


def _diagonals(values):
    return mul(expand_dims(values, -1), eye(values.shape[-1], dtype=values.dtype))


def _svd_values(a, full):
    u, s, v = np.linalg.svd(a, full)
    return s, u, np.swapaxes(v, -1, -2)


def _svd_shapes(a, full):
    rows, columns = a[-2:]
    inner = min(rows, columns)
    return (
        [*a[:-2], inner],
        [*a[:-2], rows, rows if full else inner],
        [*a[:-2], columns, columns if full else inner],
    )


def _of_svd(a, out, dout, full):
    (s, u, v), (ds, du, dv) = out, dout
    rows, columns = a.shape[-2:]
    if full and rows != columns:
        raise NotImplementedError(
            "[svd] full matrices have no gradient, got other numbers of rows than columns, expected full_matrices=False"
        )
    f, sizes = _differences(mul(s, s)), expand_dims(s, -2)
    of_u, of_v = matmul(turned(u), du), matmul(turned(v), dv)
    inner = mul(mul(f, sub(of_u, turned(of_u))), sizes)
    inner = add(inner, mul(expand_dims(s, -1), mul(f, sub(of_v, turned(of_v)))))
    made = matmul(matmul(u, add(inner, _diagonals(ds))), turned(v))
    if rows > columns:
        rest = sub(du, matmul(u, of_u))
        made = add(made, matmul(div(rest, sizes), turned(v)))
    if columns > rows:
        rest = sub(dv, matmul(v, of_v))
        made = add(made, matmul(u, turned(div(rest, sizes))))
    return (made,)


def _of_sizes(a, out, dout):
    _, u, v = _svd(a, False)
    return (matmul(mul(u, expand_dims(dout, -2)), turned(v)),)


_svd = hosted("svd", _svd_values, _svd_shapes, _of_svd, [2], [1, 2, 2])
_sizes = hosted(
    "singular_values",
    lambda a: np.linalg.svd(a, compute_uv=False),
    lambda a: [*a[:-2], min(a[-2:])],
    _of_sizes,
    [2],
    [1],
)


def svd(
    input: Tensor | float, full_matrices: bool = False, compute_uv: bool = True
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """(s, U, V) of matrices x[.., m, n]: x = U diag(s) V^T, the singular values s falling, or s alone without
    `compute_uv`. Columns of U and V may have the other sign. With `full_matrices` they have m and n columns. The
    gradients of U and V need different singular values. Raises ValueError for less than two dimensions, TypeError for
    integers and bools."""
    x = matrices("svd", input)
    return _svd(x, bool(full_matrices)) if compute_uv else _sizes(x)


def singular_values(x):
    """The singular values of matrices x[.., m, n], falling."""
    return _sizes(x)


def _of_eigh(a, out, dout, lower):
    (_, v), (dw, dv) = out, dout
    inner = add(mul(_differences(out[0]), matmul(turned(v), dv)), _diagonals(dw))
    found = matmul(matmul(v, inner), turned(v))
    both = add(found, turned(found))  # the triangle that is read stands for both
    part = tril(both) if lower else triu(both)
    return (sub(part, mul(found, eye(a.shape[-1], dtype=a.dtype))),)


_eigh = hosted(
    "eigh",
    lambda a, lower: tuple(np.linalg.eigh(a, "L" if lower else "U")),
    lambda a, lower: (list(a[:-1]), a),
    _of_eigh,
    [2],
    [1, 2],
)


def symmetric_eigen(x, lower=True):
    """(rising eigenvalues, eigenvectors as columns) of symmetric matrices x[.., n, n], of which a triangle is read. The
    gradient is that by this triangle."""
    return _eigh(matrices("eigh", x, square=[0]), bool(lower))


def _no_complex(name):
    def call(A: Tensor) -> None:
        raise NotImplementedError(
            f"[{name}] complex numbers are not supported, got a call, expected scipy.linalg.eigh of symmetric "
            "matrices, or numpy.linalg.eig on asnumpy()"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Not there: eigenvalues are complex. See scipy.linalg.eigh, of symmetric matrices."
    return call


eig, eigvals = _no_complex("eig"), _no_complex("eigvals")


def _geqrf_values(a):
    found, tau = np.linalg.qr(a, "raw")
    return np.swapaxes(found, -1, -2), tau


def _of_geqrf(a, out, dout):
    raise NotImplementedError("[geqrf] reflections have no gradient, got grad, expected qr")


_geqrf = hosted(
    "geqrf", _geqrf_values, lambda a: (a, [*a[:-2], min(a[-2:])]), _of_geqrf, [2], [2, 1]
)


def geqrf(input: Tensor | float) -> tuple[Tensor, Tensor]:
    """(reflections below R, factors) of matrices x[.., m, n], as LAPACK has them: column i below the diagonal is the
    vector v of I - tau v v^T, whose first element is 1. `orgqr` gives Q. Raises ValueError for less than two
    dimensions, TypeError for integers."""
    return _geqrf(matrices("geqrf", input))


def _reflected(vectors, tau, x, backwards):
    """The reflections applied to the columns of x: the first one last, or backwards the last one last."""
    count, parts = tau.shape[-1], tril(vectors, -1)
    parts = add(parts, eye(*vectors.shape[-2:], dtype=vectors.dtype))
    for i in range(count) if backwards else range(count - 1, -1, -1):
        v = _columns(parts, i, i + 1)
        factor = expand_dims(_columns(tau, i, i + 1), -1)
        x = sub(x, mul(factor, matmul(v, matmul(turned(v), x))))
    return x


def _reflections(where, vectors, tau):
    vectors, tau = matrices(where, vectors), as_tensor(tau, where)
    if tau.shape[:-1] != vectors.shape[:-2] or tau.shape[-1] > min(vectors.shape[-2:]):
        raise ValueError(
            f"[{where}] the shapes do not fit, got {vectors.shape} and {tau.shape}, expected a factor for each column"
        )
    return vectors, tau


def orgqr(input: Tensor | float, input2: Tensor | float) -> Tensor:
    """The first n columns of the product of the reflections x[.., m, n] with factors tau[.., k] that `geqrf` gives.
    Raises ValueError for shapes that do not fit."""
    vectors, tau = _reflections("orgqr", input, input2)
    first = broadcast_to(eye(*vectors.shape[-2:], dtype=vectors.dtype), vectors.shape)
    return _reflected(vectors, tau, first, False)


def ormqr(
    input: Tensor | float, tau: Tensor | float, other: Tensor | float, left: bool = True, transpose: bool = False
) -> Tensor:
    """The product of Q, all reflections that `geqrf` gives, and a matrix: Q other, or other Q unless `left`; with
    `transpose` of Q^T. `other` is [.., m, k], or [.., k, m]. Raises ValueError for shapes that do not fit."""
    vectors, tau = _reflections("ormqr", input, tau)
    other = matrices("ormqr", other)
    if left:
        return _reflected(vectors, tau, other, transpose)
    return turned(_reflected(vectors, tau, turned(other), not transpose))


def _lu_values(a):
    """The factors in one matrix, and the row that each one was exchanged with: Gaussian elimination, with the largest
    element of a column as the pivot."""
    a = np.array(a)
    count = min(a.shape[-2:])
    flat = a.reshape(-1, *a.shape[-2:])
    pivots = np.zeros((len(flat), count), a.dtype)
    every = np.arange(len(flat))
    for i in range(count):
        at = i + np.abs(flat[:, i:, i]).argmax(-1)
        pivots[:, i] = at
        flat[every, at], flat[:, i] = flat[:, i].copy(), flat[every, at]
        pivot = flat[:, i, i, None]
        flat[:, i + 1 :, i] /= np.where(pivot == 0, 1, pivot)
        flat[:, i + 1 :, i + 1 :] -= flat[:, i + 1 :, i, None] * flat[:, i, None, i + 1 :]
    return a, pivots.reshape(*a.shape[:-2], count)


def _of_lu(a, out, dout):
    if a.shape[-1] != a.shape[-2]:
        raise NotImplementedError(f"[lu] these factors have no gradient, got {a.shape}, expected square matrices")
    packed, change = out[0], permutation(out[1], a.shape[-2])
    lower = add(tril(packed, -1), eye(a.shape[-1], dtype=a.dtype))
    upper = triu(packed)
    inner = add(
        tril(matmul(turned(lower), tril(dout[0], -1)), -1), triu(matmul(triu(dout[0]), turned(upper)))
    )
    inner = solve_triangle(lower, inner, True, True, True)
    return (matmul(change, turned(solve_triangle(upper, turned(inner), False))),)


_lu = hosted("lu_factor", _lu_values, lambda a: (a, [*a[:-2], min(a[-2:])]), _of_lu, [2], [2, 1])


def lu_factors(x):
    """(L below the diagonal and U in one matrix, the row that each row was exchanged with, as numbers of the matrix's
    type) of matrices x[.., m, n]."""
    return _lu(matrices("lu", x))


def _permutation_values(pivots, rows):
    flat = pivots.reshape(-1, pivots.shape[-1]).astype(np.int64)
    found = np.zeros((len(flat), rows, rows))
    for i, one in enumerate(flat):
        order = np.arange(rows)
        for k, at in enumerate(one):
            order[[k, at]] = order[[at, k]]
        found[i, order, np.arange(rows)] = 1
    return found.reshape(*pivots.shape[:-1], rows, rows)


_permutation = hosted(
    "permutation", _permutation_values, lambda pivots, rows: [*pivots[:-1], rows, rows], None, [1], [2]
)


def permutation(pivots, rows):
    """The matrices P with A = P L U, of the numbers of exchanged rows, counted from 0."""
    return _permutation(pivots, int(rows))


def _exchanges(where, data, pivots):
    """The factors in one matrix, and the permutation of its rows by numbers from 1."""
    packed, pivots = matrices(where, data), as_tensor(pivots, where)
    if pivots.shape[:-1] != packed.shape[:-2]:
        raise ValueError(f"[{where}] the shapes do not fit, got {packed.shape} and {pivots.shape}, expected a row each")
    return packed, permutation(sub(cast(pivots, packed.dtype), 1.0), packed.shape[-2])


def lower_factor(packed):
    """The lower triangle L[.., m, min(m, n)], with ones on its diagonal, of factors in one matrix x[.., m, n]."""
    count = min(packed.shape[-2:])
    part = _columns(tril(packed, -1), 0, count)
    return add(part, eye(*part.shape[-2:], dtype=packed.dtype))


def upper_factor(packed):
    """The upper triangle U[.., min(m, n), n] of factors in one matrix x[.., m, n]."""
    rows, columns = packed.shape[-2:]
    return triu(sliced(packed, [*((0, n) for n in packed.shape[:-2]), (0, min(rows, columns)), (0, columns)]))


def lu_solve(b: Tensor | float, LU_data: Tensor | float, LU_pivots: Tensor | float) -> Tensor:
    """The solutions of A X = B, for B[.., n, k] and the factors of A[.., n, n] in one matrix. The pivots are the rows,
    counted from 1, with which rows were exchanged, in order. Raises ValueError for shapes that do not fit."""
    packed, change = _exchanges("lu_solve", LU_data, LU_pivots)
    found = matmul(turned(change), matrices("lu_solve", b))
    return solve_triangle(packed, solve_triangle(packed, found, True, unit=True), False)


def lu_unpack(
    LU_data: Tensor | float, LU_pivots: Tensor | float, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """(P, L, U) with A = P L U, of the factors in one matrix and the rows, counted from 1, that were exchanged. What is
    not unpacked is None. Raises ValueError for less than two dimensions."""
    packed, change = _exchanges("lu_unpack", LU_data, LU_pivots)
    factors = (lower_factor(packed), upper_factor(packed)) if unpack_data else (None, None)
    return (change if unpack_pivots else None, *factors)
