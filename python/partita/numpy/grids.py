"""Places in arrays: grids, triangles, and numbers of elements, with the names of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.common.dtype import DTypeLike, float32, int32, is_float, to_dtype
from partita.common.tensor import Tensor
from partita.numpy.tensors import ArrayLike, integers, sizes_of, tensor_of
from partita.ops import functional as F

__all__ = (
    "diag_indices geomspace indices ix_ mgrid ogrid ravel_multi_index tril_indices tril_indices_from triu_indices "
    "triu_indices_from unravel_index"
).split()


def _numbers(values):
    return Tensor(values, float32 if values.dtype.kind == "f" else int32)


class _Grid:
    """The coordinates of the points of a grid, from slices: `mgrid[0:3, 0:1:5j]`. A step with a j is a number of
    points, with the end."""

    def __init__(self, grid, is_sparse):
        self._grid, self._sparse = grid, is_sparse

    def __getitem__(self, index):
        found = self._grid[index]
        if self._sparse and isinstance(index, tuple):
            return [_numbers(one) for one in found]
        return _numbers(found)


mgrid, ogrid = _Grid(np.mgrid, False), _Grid(np.ogrid, True)


def indices(dimensions: Sequence[int], dtype: DTypeLike | None = int32, sparse: bool = False) -> list[Tensor]:
    """The coordinates of the elements of an array of a shape, as a list."""
    return [Tensor(one, to_dtype(dtype)) for one in np.indices(tuple(dimensions), sparse=sparse)]


def ix_(*args):
    """Rows of integers, each along a dimension of its own."""
    rows = [tensor_of(one) for one in args]
    for one in rows:
        if one.ndim != 1:
            raise ValueError(f"[ix_] not a row, got shape {one.shape}, expected one dimension")
    return tuple(F.reshape(one, [-1 if i == k else 1 for k in range(len(rows))]) for i, one in enumerate(rows))


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The places of a diagonal, for each dimension."""
    return tuple(integers(np.arange(n)) for _ in range(ndim))


def tril_indices(n: int, k: int = 0, m: ArrayLike | None = None) -> tuple[Tensor, ...]:
    """(rows, columns) of the places up to a diagonal."""
    return tuple(integers(one) for one in np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: ArrayLike | None = None) -> tuple[Tensor, ...]:
    """(rows, columns) of the places from a diagonal on."""
    return tuple(integers(one) for one in np.triu_indices(n, k, m))


def _matrix_shape(where, arr):
    shape = tensor_of(arr).shape
    if len(shape) != 2:
        raise ValueError(f"[{where}] no matrix, got shape {shape}, expected two dimensions")
    return shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, ...]:
    """(rows, columns) of the places of a matrix up to a diagonal."""
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, ...]:
    """(rows, columns) of the places of a matrix from a diagonal on."""
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Numbers from `start` to `stop`, with equal quotients."""
    start, stop = (tensor_of(one).asnumpy().astype(np.float64) for one in (start, stop))
    return Tensor(np.geomspace(start, stop, int(num), endpoint, axis=axis), dtype or float32)


def _steps(sizes, order):
    """By how much the number of an element grows along each dimension."""
    if order not in ("C", "F"):
        raise ValueError(f"[ravel_multi_index] unknown order, got {order!r}, expected C or F")
    sizes = list(sizes) if order == "F" else list(reversed(sizes))
    found = np.cumprod([1, *sizes[:-1]]).tolist()
    return found if order == "F" else found[::-1]


def ravel_multi_index(
    multi_index: Sequence[ArrayLike], dims: Sequence[int], mode: str = "clip", order: str = "C"
) -> Tensor:
    """The numbers of elements, as float32, from their places in each dimension of an array of a shape. Places outside
    are moved to the ends, or with "wrap" counted around."""
    if mode not in ("clip", "wrap"):
        raise ValueError(f"[ravel_multi_index] unknown mode, got {mode!r}, expected clip or wrap")
    places, total = tensor_of(multi_index), 0
    for i, (size, step) in enumerate(zip(dims, _steps(dims, order))):
        at = F.cast(places[i], float32)
        at = F.clip(at, 0, size - 1) if mode == "clip" else F.floor_mod(at, float(size))
        total = F.add(F.mul(at, float(step)), total)
    return total


def unravel_index(indices: ArrayLike, shape: int | Sequence[int], order: str = "C") -> tuple[Tensor, ...]:
    """The places in each dimension of an array of a shape, from the numbers of elements."""
    at, sizes = tensor_of(indices), sizes_of(shape)
    if is_float(at.dtype):
        raise TypeError(f"[unravel_index] no numbers of elements, got {at.dtype}, expected integers")
    return tuple(F.floor_mod(F.floor_div(at, step), size) for size, step in zip(sizes, _steps(sizes, order)))
