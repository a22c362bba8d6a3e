"""Tensors put together, taken apart and repeated."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.picked import require_known
from partita.ops.support import as_tensor

__all__ = (
    "addr_ baddbmm bmm chunk cross diag dstack full full_like hstack index_add item meshgrid mm mv"
    " npu_gelu ravel repeat_interleave scatter t take trace unique vdot"
).split()


def addr_(input, vec1, vec2, beta=1, alpha=1):
    """beta input + alpha times the products of the elements of two vectors, [n, m], which the tensor itself takes."""
    return input.copy_(F.addr(input, vec1, vec2, beta=beta, alpha=alpha))


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta input + alpha batch1 batch2, of batches of matrices."""
    return F.baddbmm(input, batch1, batch2, beta, alpha)


def bmm(input, mat2):
    """The products of the matrices of two batches."""
    return F.bmm(input, mat2)


def chunk(input, chunks, dim=0):
    """At most as many parts along a dimension, all but the last of one size."""
    return F.chunk(input, chunks, dim)


def cross(input, other, dim=None):
    """The products of vectors of three elements along a dimension, without one the first of size 3."""
    return F.cross(input, other, dim)


def full(size, fill_value, *, dtype=None):
    """A tensor of a shape with one number, or the element of a tensor, in all places: without `dtype` int64 of an
    integer, bool of a bool, float32 of other numbers."""
    if dtype is None and isinstance(fill_value, (bool, Tensor)):
        kind = mstype.bool_ if isinstance(fill_value, bool) else fill_value.dtype
        dtype = mstype.float32 if mstype.is_float(kind) else kind if kind == mstype.bool_ else mstype.int64
    return F.full(size, fill_value, dtype=dtype)


def full_like(input, fill_value, *, dtype=None):
    """A tensor of one number, of the shape of another and, unless `dtype` is given, of its element type."""
    return F.full_like(input, fill_value, dtype=dtype)


def diag(input, diagonal=0):
    """The matrix with a vector as its diagonal, or the diagonal of a matrix; above the main one from 1 on."""
    x, k = as_tensor(input, "diag"), int(diagonal)
    if x.ndim == 2:
        return F.diagonal(x, k, 0, 1)
    if x.ndim != 1:
        raise ValueError(f"[diag] wrong number of dimensions, got {x.shape}, expected 1 or 2")
    size = x.shape[0] + abs(k)
    rows = F.pad(x, (max(k, 0), max(-k, 0)))  # what a column holds
    on = Tensor(np.eye(size, k=k, dtype=np.bool_))
    return F.select(on, F.broadcast_to(F.expand_dims(rows, 0), [size, size]), F.zeros([size, size], x.dtype))


def hstack(tensors):
    """Tensors along their second dimension, those of one dimension along it."""
    return F.hstack(tensors)


def _of_three(x):
    if x.ndim > 2:
        return x
    return F.reshape(x, [1, x.size, 1] if x.ndim < 2 else [*x.shape, 1])


def dstack(tensors):
    """Tensors along their third dimension; a vector of n elements has the shape [1, n, 1]."""
    return F.concat([_of_three(one) for one in tensors], 2)


def meshgrid(*tensors, indexing=None):
    """The coordinates of the points of a grid, from those along each of its dimensions, the first one down ("ij")."""
    return F.meshgrid(*tensors, indexing=indexing or "ij")


def item(input):
    """The only element of a tensor, as a number."""
    return input.item()


def mm(input, mat2):
    """The product of two matrices."""
    return F.mm(input, mat2)


def mv(input, vec):
    """The product of a matrix and a vector."""
    return F.mv(input, vec)


def npu_gelu(input, approximate="none"):
    """x times the normal distribution function, as `nn.functional.gelu`."""
    return F.gelu(input, approximate)


def ravel(input):
    """All elements in one row."""
    return F.reshape(input, [-1])


def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each element, along a dimension each slice, several times: as often as one number says, or one for each.
    `output_size` is known without being given."""
    return F.repeat_interleave(input, repeats, dim)


def scatter(input, dim, index, src):
    """The tensor with elements of `src`, or a number, at places along a dimension."""
    if not isinstance(src, Tensor):
        src = F.full(index.shape, src, dtype=input.dtype)
    elif src.shape != index.shape:  # of a larger one the part that has indices
        src = F.sliced(src, [(0, n) for n in index.shape])
    return F.scatter(input, dim, index, src)


def index_add(input, dim, index, source, *, alpha=1):
    """The tensor with slices, times alpha, added at places of a dimension."""
    return F.index_add(input, index, source if alpha == 1 else F.mul(source, alpha), dim)


def t(input):
    """The transposed matrix; vectors stay."""
    return F.t(input)


def take(input, index):
    """The elements at places of all in one row, below 0 from its end."""
    x = as_tensor(input, "take")
    places = F.select(F.less(index, 0), F.add(index, x.size), index)
    return F.gather(F.reshape(x, [-1]), places, 0)


def trace(input):
    """The sum of the diagonal of a matrix, of integers as int64."""
    x = as_tensor(input, "trace")
    return F.trace(x if mstype.is_float(x.dtype) else F.cast(x, mstype.int64))


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
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


def vdot(input, other):
    """The sum of the products of the elements of two vectors."""
    return F.dot(input, other)
