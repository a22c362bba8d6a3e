"""Sums of products, named by their dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from partita.common.tensor import Tensor
from partita.ops.elementwise import add, mul
from partita.ops.layers import matmul
from partita.ops.reductions import reduce_sum
from partita.ops.shapes import reshape, transpose
from partita.ops.support import as_tensor

__all__ = "addbmm addmm addmv addr baddbmm dot einsum inner mm mv tensor_dot".split()

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(equation: str, *operands: Tensor | float) -> Tensor:
    """Sums of products of operands, whose dimensions the equation names: "ij,jk->ik". `...` are the first dimensions,
    which are broadcast. Without an arrow the result has the names that stand once, in their order. The operands, of
    shapes of any number of dimensions, may be one list. Raises ValueError for another number of operands or dimensions
    than the equation has, sizes of one name that differ, and names of the result that no operand has, TypeError for
    products of matrices of bools or of two types.

    >>> x, y = ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]])
    >>> ops.einsum("ij,jk->ik", x, y).asnumpy().tolist()
    [[11.0]]
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    tensors = [as_tensor(one, "einsum") for one in operands]
    names, result = _read(equation, tensors)
    parts = [_without_repeats(one, own) for one, own in zip(tensors, names)]
    first, own = parts[0]
    for k, (other, theirs) in enumerate(parts[1:], 1):
        later = set("".join(name for _, name in parts[k + 1 :])) | set(result)
        first, own = _contracted(first, own, other, theirs, later)
    summed = [i for i, one in enumerate(own) if one not in result]
    if summed:
        first = reduce_sum(first, tuple(summed))
        own = "".join(one for one in own if one in result)
    order = [own.index(one) for one in result]
    return first if order == list(range(len(order))) else transpose(first, order)


def _read(equation, tensors):
    """(names of the dimensions of each operand, of the result), `...` as letters of their own."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        raise ValueError(
            f"[einsum] wrong number of operands, got {len(tensors)} for '{equation}', expected {len(parts)}"
        )
    used = set(text)
    free = [one for one in _LETTERS if one not in used]
    widths = [one.ndim - len(part.replace("...", "")) for part, one in zip(parts, tensors) if "..." in part]
    ahead = "".join(free[: max(widths, default=0)])
    names = []
    for part, one in zip(parts, tensors):
        count = one.ndim - len(part.replace("...", ""))
        if count < 0 or (count and "..." not in part):
            raise ValueError(
                f"[einsum] wrong number of dimensions, got shape {one.shape} for '{part}', expected {len(part)}"
            )
        names.append(part.replace("...", ahead[len(ahead) - count :]))
    every = "".join(names)
    if arrow:
        result = right.replace("...", ahead)
        if set(result) - set(every) or len(set(result)) < len(result):
            raise ValueError(
                f"[einsum] bad names of the result, got '{equation}', expected names of operands, each once"
            )
        return names, result
    return names, ahead + "".join(sorted(one for one in set(every) if every.count(one) == 1 and one not in ahead))


def _without_repeats(x, names):
    """The diagonal where a name stands twice."""
    for one in dict.fromkeys(names):
        while names.count(one) > 1:
            i = names.index(one)
            j = names.index(one, i + 1)
            order = [k for k in range(len(names)) if k not in (i, j)] + [i, j]
            x = transpose(x, order)
            size = x.shape[-1]
            x = reshape(x, [*x.shape[:-2], size * size])
            x = x[(..., slice(None, None, size + 1))]
            names = "".join(names[k] for k in order[:-1])
    return x, names


def _contracted(a, own, b, theirs, later):
    """(the product of two operands, its names), summed over the names that are not used later."""
    shapes = dict(zip(own, a.shape)) | {
        name: size for name, size in zip(theirs, b.shape) if size != 1 or name not in own
    }
    both = [one for one in own if one in theirs]
    batch = [one for one in both if one in later]
    summed = [one for one in both if one not in later]
    rows = [one for one in own if one not in both]
    columns = [one for one in theirs if one not in both]
    if not summed or any(a.shape[own.index(one)] != b.shape[theirs.index(one)] for one in both):
        names = batch + summed + rows + columns  # element by element
        wide = mul(_aligned(a, own, names), _aligned(b, theirs, names))
        drop = tuple(range(len(batch), len(batch) + len(summed)))
        return (reduce_sum(wide, drop) if drop else wide), "".join(batch + rows + columns)

    def size(names):
        count = 1
        for one in names:
            count *= shapes[one]
        return count

    left = transpose(a, [own.index(one) for one in batch + rows + summed])
    right = transpose(b, [theirs.index(one) for one in batch + summed + columns])
    lead = [shapes[one] for one in batch]
    y = matmul(reshape(left, [*lead, size(rows), size(summed)]), reshape(right, [*lead, size(summed), size(columns)]))
    names = "".join(batch + rows + columns)
    return reshape(y, [shapes[one] for one in names]), names


def _aligned(x, own, names):
    """The tensor with a dimension for each name, of one element where it has none."""
    x = transpose(x, [own.index(one) for one in names if one in own])
    sizes = iter(x.shape)
    return reshape(x, [next(sizes) if one in own else 1 for one in names])


def mm(input: Tensor | float, mat2: Tensor | float) -> Tensor:
    """The product of two matrices, [m, k] and [k, n], as [m, n]. Raises ValueError for shapes that do not fit,
    TypeError for operands of different types, or of bools."""
    return matmul(input, mat2)


def mv(mat: Tensor | float, vec: Tensor | float) -> Tensor:
    """The product of a matrix [m, n] and a vector [n], as a vector [m]. Raises ValueError for shapes that do not fit,
    TypeError for operands of different types."""
    column = as_tensor(vec, "mv")
    if column.ndim > 1 and column.size == column.shape[0]:
        column = reshape(column, [-1])
    if column.ndim != 1:
        raise ValueError(f"[mv] the second operand is no vector, got shape {column.shape}, expected one dimension")
    return matmul(mat, column)


def inner(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Sums of products over the last dimensions, whose sizes are equal: [.., k] and [.., k] give the other dimensions
    of the first, then of the second. A tensor without dimensions multiplies each element. Raises ValueError for other
    sizes."""
    a, b = as_tensor(input, "inner"), as_tensor(other, "inner")
    return mul(a, b) if a.ndim == 0 or b.ndim == 0 else tensor_dot(a, b, ([a.ndim - 1], [b.ndim - 1]))


def dot(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Sums of products over the last dimension of the first tensor and the last but one of the second, or its only one,
    of equal sizes. The result has the other dimensions of the first, then of the second. Raises ValueError for other
    sizes."""
    a, b = as_tensor(input, "dot"), as_tensor(other, "dot")
    return tensor_dot(a, b, ([a.ndim - 1], [max(0, b.ndim - 2)]))


def tensor_dot(x1: Tensor | float, x2: Tensor | float, axes: int | Sequence[int] | Sequence[Sequence[int]]) -> Tensor:
    """Sums of products over the given dimensions of both tensors, or over the last and first ones of a number. The
    result has the other dimensions of the first, then of the second. Raises ValueError for sizes that do not fit."""
    a, b = as_tensor(x1, "tensor_dot"), as_tensor(x2, "tensor_dot")
    if isinstance(axes, int):
        axes = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    left, right = ([one] if isinstance(one, int) else list(one) for one in axes)
    own = _LETTERS[: a.ndim]
    theirs = list(_LETTERS[a.ndim : a.ndim + b.ndim])
    for i, j in zip(left, right):
        theirs[j] = own[i]
    kept = [one for i, one in enumerate(own) if i - a.ndim not in left and i not in left]
    others = [one for one in theirs if one not in own]
    return einsum(f"{own},{''.join(theirs)}->{''.join(kept + others)}", a, b)


def addmm(
    input: Tensor | float, mat1: Tensor | float, mat2: Tensor | float, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta input + alpha mat1 mat2, of mat1 [m, k], mat2 [k, n] and an input that broadcasts to [m, n]. Raises
    ValueError for shapes that do not fit, TypeError for matrices of different types."""
    return add(mul(input, beta), mul(matmul(mat1, mat2), alpha))


def baddbmm(
    input: Tensor | float, batch1: Tensor | float, batch2: Tensor | float, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta input + alpha batch1 batch2, of batches of matrices [b, m, k] and [b, k, n] and an input that broadcasts to
    [b, m, n]. Raises ValueError for shapes that do not fit, TypeError for batches of different types."""
    return addmm(input, batch1, batch2, beta=beta, alpha=alpha)


def addbmm(
    input: Tensor | float, batch1: Tensor | float, batch2: Tensor | float, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta input + alpha times the sum over the batch of batch1 [b, m, k] times batch2 [b, k, n], as [m, n]. Raises
    ValueError for shapes that do not fit, TypeError for batches of different types."""
    return add(mul(input, beta), mul(reduce_sum(matmul(batch1, batch2), 0), alpha))


def addmv(
    input: Tensor | float, mat: Tensor | float, vec: Tensor | float, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta input + alpha mat vec, of a matrix [m, n], a vector [n] and an input that broadcasts to [m]. Raises
    ValueError for shapes that do not fit, TypeError for operands of different types."""
    return add(mul(input, beta), mul(mv(mat, vec), alpha))


def addr(x: Tensor | float, vec1: Tensor | float, vec2: Tensor | float, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta x + alpha times the products of all pairs of elements of two vectors, [m] and [n], and of x that broadcasts
    to [m, n]. Raises ValueError for shapes that do not fit."""
    a, b = as_tensor(vec1, "addr"), as_tensor(vec2, "addr")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            f"[addr] operands are not vectors, got shapes {a.shape} and {b.shape}, expected one dimension each"
        )
    return add(mul(x, beta), mul(mul(reshape(a, [-1, 1]), reshape(b, [1, -1])), alpha))
