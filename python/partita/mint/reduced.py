"""Functions of all elements, or of those along dimensions, and norms of vectors."""

from partita.common import dtype as mstype
from partita.common._types import DType, Ints
from partita.common.tensor import Tensor
from partita.mint.functions import _of_scalars, _typed
from partita.ops import functional as F

__all__ = "amax amin bincount count_nonzero logsumexp norm prod std std_mean var var_mean".split()


def amax(input: Tensor, dim: Ints = (), keepdim: bool = False) -> Tensor:
    """The largest elements along dimensions, or of all, in the shape without them, or with `keepdim` with size 1
    there."""
    return F.amax(input, _dims(dim), keepdim)


def amin(input: Tensor, dim: Ints = (), keepdim: bool = False) -> Tensor:
    """The smallest elements along dimensions, or of all, in the shape without them, or with `keepdim` with size 1
    there."""
    return F.amin(input, _dims(dim), keepdim)


def _dims(dim):
    return None if isinstance(dim, (tuple, list)) and not dim else dim


@_of_scalars
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The product of all elements, or of those along a dimension, in the shape without it, or with `keepdim` with size
    1 there; of integers as int64."""
    x = _typed(input, dtype)
    if dtype is None and not mstype.is_float(x.dtype):
        x = F.cast(x, mstype.int64)
    return F.prod(x, dim, keepdim)


def count_nonzero(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Number of elements other than 0, as int64, of all or along dimensions."""
    return F.count_nonzero(input, () if dim is None else dim, False, mstype.int64)


def logsumexp(input: Tensor, dim: Ints, keepdim: bool = False) -> Tensor:
    """log of the sum of exp(x) along dimensions, without overflow, in the shape without them, or with `keepdim` with
    size 1 there."""
    return F.logsumexp(input, dim, keepdim)


def std(input: Tensor, dim: Ints | None = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The root of `var`, in its shape."""
    return F.std(input, _dims(dim), correction, keepdim)


def var(input: Tensor, dim: Ints | None = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The sum of squared differences from the mean over n - correction, of all n elements or of those along dimensions,
    in the shape without them, or with `keepdim` with size 1 there; of integers as float32."""
    return F.var(input, _dims(dim), correction, keepdim)


def std_mean(
    input: Tensor, dim: Ints | None = None, *, correction: int = 1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """(`std`, mean)."""
    return F.std_mean(input, _dims(dim), correction, keepdim)


def var_mean(
    input: Tensor, dim: Ints | None = None, *, correction: int = 1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """(`var`, mean)."""
    return F.var_mean(input, _dims(dim), correction, keepdim)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 stands in a row, as int64, or the sums of their weights: [largest + 1], or
    `minlength` if that is more. Raises ValueError for integers below 0, TypeError for what is no row of integers."""
    found = F.bincount(input, weights, minlength)
    return F.cast(found, mstype.int64 if weights is None else weights.dtype)


def _axes_of(x, dim):
    if dim is None:
        return tuple(range(x.ndim))
    return tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)


def vector_norm(
    x: Tensor, ord: float = 2, dim: Ints | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """(sum of |x|^ord)^(1 / ord) over dimensions, or of all elements; the largest magnitude (inf), the smallest (-inf),
    or the number of elements other than 0 (0)."""
    x = _typed(x, dtype)
    axes = _axes_of(x, dim)
    if not axes:
        return F.abs(x)
    order = [i for i in range(x.ndim) if i not in {one % x.ndim for one in axes}]
    rows = F.transpose(x, (*order, *(one % x.ndim for one in axes)))
    rows = F.reshape(rows, [*(x.shape[i] for i in order), -1])
    made = F.norm(rows, float(ord), -1)
    kept = [n if i in order else 1 for i, n in enumerate(x.shape)]
    return F.reshape(made, kept) if keepdim else made


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of the matrices in two dimensions: "fro", 1, -1, inf or -inf."""
    return F.norm(A, ord, tuple(dim), keepdim, dtype=dtype)


def linalg_norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of vectors, or of matrices where `dim` has two dimensions and `ord` is given, or of a matrix whose `ord`
    is given without `dim`."""
    x = _typed(A, dtype)
    if dim is None and ord is None:
        return vector_norm(x, 2, None, keepdim)
    axes = _axes_of(x, dim)
    if len(axes) == 2:
        return matrix_norm(x, "fro" if ord is None else ord, axes, keepdim)
    return vector_norm(x, 2 if ord is None else ord, axes, keepdim)


def norm(
    input: Tensor, p: float | str = "fro", dim: Ints | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The norm `p` of the vectors along dimensions, or of all elements; "fro" is 2. Gives the shape without the
    dimensions, or with `keepdim` with size 1 there. Raises NotImplementedError for the nuclear norm."""
    if p not in ("fro", None) and not isinstance(p, (int, float)):
        raise NotImplementedError(f"[norm] singular values are not supported, got p={p!r}, expected 'fro' or a number")
    return vector_norm(input, 2 if p in ("fro", None) else p, _dims(dim), keepdim, dtype=dtype)
