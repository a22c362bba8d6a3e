"""Tensors put together, taken apart and repeated."""

from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common._types import DType, Ints, Number
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.picked import require_known
from partita.ops.support import as_tensor

__all__ = (
    "addr_ baddbmm bmm chunk cross diag dstack full full_like hstack index_add item meshgrid mm mv"
    " npu_gelu ravel repeat_interleave scatter t take trace unique vdot"
).split()


def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta input + alpha times the products of the elements of two vectors, [n, m], which the tensor itself takes."""
    return input.copy_(F.addr(input, vec1, vec2, beta=beta, alpha=alpha))


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta input + alpha batch1 batch2: takes (b, n, p), (b, n, m) and (b, m, p), gives (b, n, p)."""
    return F.baddbmm(input, batch1, batch2, beta, alpha)


def _require_matrices(where, count, one, other):
    """Checks that two tensors have `count` dimensions and that their matrices can be multiplied. Raises ValueError
    otherwise."""
    a, b = as_tensor(one, where).shape, as_tensor(other, where).shape
    if len(a) != count or len(b) != count or a[:-2] != b[:-2] or a[-1] != b[-2]:
        wanted = "[b, n, m] and [b, m, p]" if count == 3 else "[n, m] and [m, p]"
        raise ValueError(f"[{where}] the shapes do not fit, got {list(a)} and {list(b)}, expected {wanted}")


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of the matrices of two batches: (b, n, m) and (b, m, p) give (b, n, p). Raises ValueError for
    batches that do not fit."""
    _require_matrices("bmm", 3, input, mat2)
    return F.bmm(input, mat2)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts along a dimension, all but the last of one size: a tuple. Raises ValueError for numbers
    below 1."""
    if chunks < 1:
        raise ValueError(f"[chunk] bad number of parts, got {chunks}, expected an integer from 1")
    return F.chunk(input, chunks, dim)


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The products of vectors of three elements along a dimension, without one the first of size 3, in the shape of
    both. Raises ValueError without three elements."""
    return F.cross(input, other, dim)


def full(size: Ints, fill_value: Tensor | Number, *, dtype: DType | None = None) -> Tensor:
    """A tensor of a shape with one number, or the element of a tensor, in all places: without `dtype` int64 of an
    integer, bool of a bool, float32 of other numbers."""
    if dtype is None and isinstance(fill_value, (bool, Tensor)):
        kind = mstype.bool_ if isinstance(fill_value, bool) else fill_value.dtype
        dtype = mstype.float32 if mstype.is_float(kind) else kind if kind == mstype.bool_ else mstype.int64
    return F.full(size, fill_value, dtype=dtype)


def full_like(input: Tensor, fill_value: Number, *, dtype: DType | None = None) -> Tensor:
    """A tensor of one number, of the shape of another and, unless `dtype` is given, of its element type. Raises
    TypeError for what is no element type."""
    return F.full_like(input, fill_value, dtype=dtype)


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix [n, n] with a vector as its diagonal, or the diagonal of a matrix; above the main one from 1 on.
    Raises ValueError for other than one or two dimensions."""
    x, k = as_tensor(input, "diag"), int(diagonal)
    if x.ndim == 2:
        return F.diagonal(x, k, 0, 1)
    if x.ndim != 1:
        raise ValueError(f"[diag] wrong number of dimensions, got {x.shape}, expected 1 or 2")
    size = x.shape[0] + abs(k)
    rows = F.pad(x, (max(k, 0), max(-k, 0)))  # what a column holds
    on = Tensor(np.eye(size, k=k, dtype=np.bool_))
    return F.select(on, F.broadcast_to(F.expand_dims(rows, 0), [size, size]), F.zeros([size, size], x.dtype))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors along their second dimension, those of one dimension along it."""
    return F.hstack(tensors)


def _of_three(x):
    if x.ndim > 2:
        return x
    return F.reshape(x, [1, x.size, 1] if x.ndim < 2 else [*x.shape, 1])


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors along their third dimension; a vector of n elements has the shape [1, n, 1]."""
    return F.concat([_of_three(one) for one in tensors], 2)


def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid, from those along each of its dimensions: of [n] and [m] two tensors [n,
    m], the first one down ("ij"), or with `indexing` "xy" [m, n]. Raises ValueError for another indexing."""
    return F.meshgrid(*tensors, indexing=indexing or "ij")


def item(input: Tensor) -> Number | bool:
    """The only element of a tensor, as a number. Raises ValueError for several elements."""
    return input.item()


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: (n, m) and (m, p) give (n, p). Raises ValueError for sizes that do not fit."""
    _require_matrices("mm", 2, input, mat2)
    return F.mm(input, mat2)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector: (n, m) and (m) give (n)."""
    return F.mv(input, vec)


def npu_gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function, as `nn.functional.gelu`."""
    return F.gelu(input, approximate)


def ravel(input: Tensor) -> Tensor:
    """All elements in one row."""
    return F.reshape(input, [-1])


def repeat_interleave(
    input: Tensor, repeats: int | Sequence[int] | Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element, along a dimension each slice, several times: as often as one number says, or one for each. Without
    `dim` the result has one dimension. `output_size` is known without being given. Raises ValueError for another number
    of numbers."""
    return F.repeat_interleave(input, repeats, dim)


def scatter(input: Tensor, dim: int, index: Tensor, src: Tensor | Number) -> Tensor:
    """The tensor with elements of `src`, or a number, at places `index` along a dimension, in the shape of the tensor.
    Indices have as many dimensions as it."""
    if not isinstance(src, Tensor):
        src = F.full(index.shape, src, dtype=input.dtype)
    elif src.shape != index.shape:  # of a larger one the part that has indices
        src = F.sliced(src, [(0, n) for n in index.shape])
    return F.scatter(input, dim, index, src)


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """The tensor with slices, times alpha, added at places of a dimension."""
    return F.index_add(input, index, source if alpha == 1 else F.mul(source, alpha), dim)


def t(input: Tensor) -> Tensor:
    """The transposed matrix; vectors stay."""
    return F.t(input)


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at places of all in one row, below 0 from its end."""
    x = as_tensor(input, "take")
    places = F.select(F.less(index, 0), F.add(index, x.size), index)
    return F.gather(F.reshape(x, [-1]), places, 0)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix, of integers as int64."""
    x = as_tensor(input, "trace")
    return F.trace(x if mstype.is_float(x.dtype) else F.cast(x, mstype.int64))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The different elements, or slices along a dimension, in rising order; also which of them each element is, and how
    many there are of each, as int64. Outside of programs that are compiled once."""
    x = as_tensor(input, "unique")
    require_known("unique", x)
    values = x.asnumpy()
    found, which, counts = np.unique(values, return_inverse=True, return_counts=True, axis=dim)
    made = [Tensor(found)]
    if return_inverse:
        made.append(Tensor(which.reshape(values.shape if dim is None else [-1]).astype(np.int64)))
    if return_counts:
        made.append(Tensor(counts.astype(np.int64)))
    return made[0] if len(made) == 1 else tuple(made)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of the elements of two vectors."""
    return F.dot(input, other)
