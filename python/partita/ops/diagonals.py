"""Matrices by their diagonals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.arranged import diagonal
from partita.ops.creation import full, zeros_like
from partita.ops.elementwise import cast, select
from partita.ops.shapes import broadcast_to, concat, gather, reshape, transpose
from partita.ops.support import as_tensor, axis_of, is_number

__all__ = "diag diag_embed diagflat matrix_band_part matrix_diag matrix_diag_part matrix_set_diag".split()

_ALIGNED = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _chosen(x, sources, shape, padding=None):
    """The elements of x[.., k] with the numbers `sources` as its last dimensions, `shape`; the padding for -1."""
    taken = gather(x, Tensor(np.maximum(sources, 0).reshape(-1).astype(np.int32)), x.ndim - 1)
    mask = Tensor(sources.reshape(-1) >= 0)
    other = zeros_like(taken) if padding is None else broadcast_to(cast(padding, x.dtype), taken.shape)
    return reshape(select(broadcast_to(mask, taken.shape), taken, other), [*x.shape[:-1], *shape])


def diag_embed(input: Tensor | float, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The elements of the last dimension on a diagonal of two dimensions, with 0 elsewhere. Raises ValueError for one
    dimension twice, or one that the result has not."""
    x = as_tensor(input, "diag_embed")
    count = x.shape[-1] if x.ndim else 1
    size, rank = count + abs(int(offset)), x.ndim + 1
    first, second = axis_of("diag_embed", dim1, rank), axis_of("diag_embed", dim2, rank)
    if first == second or x.ndim == 0:
        raise ValueError(f"[diag_embed] bad dimensions, got {dim1} and {dim2} of {x.shape}, expected two")
    sources = np.full((size, size), -1)
    np.fill_diagonal(sources[max(0, -offset) :, max(0, offset) :], np.arange(count))
    made = _chosen(x, sources, (size, size))
    order = [i for i in range(rank) if i not in (first, second)]
    places = dict(zip(order, range(rank - 2))) | {first: rank - 2, second: rank - 1}
    wanted = [places[i] for i in range(rank)]
    return made if wanted == list(range(rank)) else transpose(made, wanted)


def diagflat(input: Tensor | float, offset: int = 0) -> Tensor:
    """A matrix with all elements, of any shape, on a diagonal, `offset` places right of the main one, else 0. Raises
    TypeError for what holds no numbers."""
    return diag_embed(reshape(as_tensor(input, "diagflat"), [-1]), offset)


def diag(input: Tensor | float) -> Tensor:
    """A tensor of shape input.shape + input.shape that has the elements where both places are the same, else 0. Raises
    ValueError for a tensor without dimensions."""
    x = as_tensor(input, "diag")
    if x.ndim == 0:
        raise ValueError("[diag] no dimension, got a number, expected at least one")
    return reshape(diagflat(x), [*x.shape, *x.shape])


def diag_part(input):
    """The elements of a tensor of shape s + s where both places are the same: of shape s."""
    x = as_tensor(input, "diag_part")
    half = x.shape[: x.ndim // 2]
    if x.ndim % 2 or x.ndim == 0 or (x.shape[x.ndim // 2 :] != half and x.ndim != 2):
        raise ValueError(f"[diag_part] not the same shape twice, got {x.shape}, expected s + s")
    if x.ndim == 2:
        return diagonal(x)
    return reshape(diagonal(reshape(x, [math.prod(half), math.prod(half)])), half)


def fill_diagonal(input, fill_value, wrap=False):
    """The tensor with a number on its main diagonal: of a matrix with more rows than columns, with `wrap`, again below
    it after a row without; of more dimensions, which have the same size, where all places are the same."""
    x = as_tensor(input, "fill_diagonal")
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ValueError(f"[fill_diagonal] bad shape, got {x.shape}, expected a matrix, or dimensions of one size")
    mask = np.zeros(x.shape, np.bool_)
    np.fill_diagonal(mask, True, wrap)
    return select(Tensor(mask), full(x.shape, fill_value, dtype=x.dtype), x)


def matrix_band_part(x: Tensor | float, lower: int, upper: int) -> Tensor:
    """The elements of matrices up to `lower` places below the diagonal and `upper` above it, else 0; all of a side for
    a number below 0."""
    x = as_tensor(x, "matrix_band_part")
    if x.ndim < 2:
        raise ValueError(f"[matrix_band_part] no matrix, got shape {x.shape}, expected two dimensions or more")
    lower, upper = int(lower), int(upper)
    apart = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    mask = ((lower < 0) | (-apart <= lower)) & ((upper < 0) | (apart <= upper))
    return select(broadcast_to(Tensor(mask), x.shape), x, zeros_like(x))


def _diagonals_of(where, k):
    """(lowest, highest) diagonal."""
    values = np.asarray(k.asnumpy() if isinstance(k, Tensor) else k).reshape(-1)
    if values.size not in (1, 2) or values[0] > values[-1]:
        raise ValueError(f"[{where}] bad diagonals, got {values.tolist()}, expected one, or the lowest and the highest")
    return int(values[0]), int(values[-1])


def _number(value):
    return int(value.asnumpy().reshape(-1)[0]) if isinstance(value, Tensor) else int(value)


def _rows_of_diagonals(where, rows, columns, low, high, align):
    """The places in matrices of the elements of diagonals, the highest first, one a row, aligned; -1 for padding."""
    if align not in _ALIGNED:
        raise ValueError(f"[{where}] unknown align, got {align!r}, expected one of {', '.join(_ALIGNED)}")
    if not -rows < low <= high < columns:
        raise ValueError(f"[{where}] a diagonal is outside, got {low} to {high}, expected {1 - rows} to {columns - 1}")
    above, below = align.split("_")
    numbers = np.arange(rows * columns).reshape(rows, columns)
    parts = [np.diagonal(numbers, k) for k in range(high, low - 1, -1)]
    longest = max(len(one) for one in parts)
    found = np.full((len(parts), longest), -1)
    for row, (k, one) in enumerate(zip(range(high, low - 1, -1), parts)):
        # The main diagonal is aligned as those above it.
        begin = longest - len(one) if (above if k >= 0 else below) == "RIGHT" else 0
        found[row, begin : begin + len(one)] = one
    return found


def matrix_diag(
    x: Tensor | float,
    k: int | Sequence[int] = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Tensor | float = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the elements of x[.., k, n], or x[.., n] of one, on diagonals from k[0] to k[1], the highest first,
    and the padding elsewhere. `align` says on which side shorter diagonals above and below stand in their rows. Raises
    ValueError for a number of diagonals that does not fit."""
    x = as_tensor(x, "matrix_diag")
    low, high = _diagonals_of("matrix_diag", k)
    if x.ndim == 0:
        raise ValueError("[matrix_diag] no diagonal, got a number, expected at least one dimension")
    longest, one = x.shape[-1], low == high
    if not one and (x.ndim < 2 or x.shape[-2] != high - low + 1):
        raise ValueError(f"[matrix_diag] wrong number of diagonals, got {x.shape}, expected {high - low + 1}")
    rows, columns = _number(num_rows), _number(num_cols)
    fewest_rows, fewest_columns = longest - min(high, 0), longest + max(low, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(fewest_rows, fewest_columns)
    rows = fewest_rows if rows == -1 else rows
    columns = fewest_columns if columns == -1 else columns
    places = _rows_of_diagonals("matrix_diag", rows, columns, low, high, align)
    if places.shape[1] != longest:
        raise ValueError(f"[matrix_diag] diagonals do not fit, got {longest} elements, expected {places.shape[1]}")
    sources = np.full(rows * columns, -1)
    flat = places.reshape(-1)
    sources[flat[flat >= 0]] = np.flatnonzero(flat >= 0)
    flat_x = x if one else reshape(x, [*x.shape[:-2], x.shape[-2] * x.shape[-1]])
    padding = full([], padding_value, dtype=x.dtype) if is_number(padding_value) else as_tensor(padding_value)
    return _chosen(flat_x, sources, (rows, columns), padding)


def matrix_diag_part(
    x: Tensor | float, k: int | Sequence[int], padding_value: Tensor | float, align: str = "RIGHT_LEFT"
) -> Tensor:
    """The diagonals from k[0] to k[1] of matrices, the highest first, one a row, with padding where they are shorter
    than the longest; without this dimension for one diagonal."""
    x = as_tensor(x, "matrix_diag_part")
    low, high = _diagonals_of("matrix_diag_part", k)
    places = _rows_of_diagonals("matrix_diag_part", *x.shape[-2:], low, high, align)
    padding = full([], padding_value, dtype=x.dtype) if is_number(padding_value) else as_tensor(padding_value)
    flat = reshape(x, [*x.shape[:-2], x.shape[-2] * x.shape[-1]])
    return _chosen(flat, places, places.shape[1:] if low == high else places.shape, padding)


def matrix_set_diag(
    x: Tensor | float, diagonal: Tensor | float, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with their diagonals from k[0] to k[1], the highest first in `diagonal`, replaced."""
    x, new = as_tensor(x, "matrix_set_diag"), as_tensor(diagonal, "matrix_set_diag")
    low, high = _diagonals_of("matrix_set_diag", k)
    rows, columns = x.shape[-2:]
    places = _rows_of_diagonals("matrix_set_diag", rows, columns, low, high, align)
    wanted = [*x.shape[:-2], *(places.shape[1:] if low == high else places.shape)]
    if list(new.shape) != wanted:
        raise ValueError(f"[matrix_set_diag] the diagonals do not fit, got {new.shape}, expected {tuple(wanted)}")
    sources = np.arange(rows * columns)
    flat = places.reshape(-1)
    sources[flat[flat >= 0]] = rows * columns + np.flatnonzero(flat >= 0)
    lines = [reshape(one, [*x.shape[:-2], -1]) for one in (x, cast(new, x.dtype))]
    return _chosen(concat(lines, x.ndim - 2), sources, (rows, columns))
