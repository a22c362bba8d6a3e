"""Statistics, also of arrays that have elements that are no numbers, and sets, with the names of NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.dtype import DType, DTypeLike, bool_, float32, int32, is_float, to_dtype, uint32, uint8
from partita.common.tensor import Tensor
from partita.numpy.joined import append, broadcast_arrays
from partita.numpy.shapes import ravel
from partita.numpy.tensors import ArrayLike, integers, tensor_of, typed, values_of
from partita.ops import functional as F

__all__ = (
    "argwhere array_equal array_equiv bincount corrcoef cov cumprod digitize histogram histogram2d "
    "histogram_bin_edges histogramdd in1d intersect1d isin nancumsum nanmax nanmean nanmin nanstd nansum nanvar "
    "promote_types ptp result_type searchsorted setdiff1d sometrue unique"
).split()


def _axes(axis):
    return () if axis is None else axis


def _filled(x, value):
    """The tensor with a number in place of elements that are none."""
    return F.masked_fill(x, F.isnan(x), value) if is_float(x.dtype) else x


def nansum(
    a: ArrayLike, axis: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The sum over dimensions without elements that are no numbers."""
    return typed(F.reduce_sum(_filled(tensor_of(a), 0.0), _axes(axis), keepdims), dtype)


def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Sums of the elements up to each one, without those that are no numbers; of all in one row without an axis."""
    x = _filled(tensor_of(a), 0.0)
    return F.cumsum(ravel(x) if axis is None else x, 0 if axis is None else axis, dtype)


def nanmax(
    a: ArrayLike, axis: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The largest number over dimensions."""
    return typed(F.reduce_max(_filled(tensor_of(a), -math.inf), _axes(axis), keepdims), dtype)


def nanmin(
    a: ArrayLike, axis: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The smallest number over dimensions."""
    return typed(F.reduce_min(_filled(tensor_of(a), math.inf), _axes(axis), keepdims), dtype)


def _count(x, axis, keepdims):
    return F.reduce_sum(F.cast(F.logical_not(F.isnan(x)), x.dtype), _axes(axis), keepdims)


def nanmean(
    a: ArrayLike, axis: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The mean over dimensions of the elements that are numbers. `dtype` has no effect, as in the documented system."""
    x = F.as_float(tensor_of(a))
    return F.div(nansum(x, axis, None, keepdims), _count(x, axis, keepdims))


def nanvar(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Tensor:
    """The variance over dimensions of the elements that are numbers."""
    x = F.as_float(tensor_of(a))
    squares = F.square(F.sub(x, nanmean(x, axis, None, True)))
    return typed(F.div(nansum(squares, axis, None, keepdims), F.sub(_count(x, axis, keepdims), float(ddof))), dtype)


def nanstd(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Tensor:
    """The standard deviation over dimensions of the elements that are numbers."""
    return typed(F.sqrt(nanvar(a, axis, None, ddof, keepdims)), dtype)


def ptp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """The difference of the largest and the smallest element over dimensions."""
    x = tensor_of(x)
    return F.sub(F.reduce_max(x, _axes(axis), keepdims), F.reduce_min(x, _axes(axis), keepdims))


def sometrue(a: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Whether an element is other than 0, over dimensions."""
    x = tensor_of(a)
    return F.any(x if x.dtype == bool_ else F.not_equal(x, 0), _axes(axis), keepdims)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Products of the elements up to each one; of all in one row without an axis. Bytes become uint32, bools int32."""
    x = tensor_of(a)
    if dtype is None and x.dtype in (uint8, bool_):
        dtype = uint32 if x.dtype == uint8 else int32
    x = ravel(x) if axis is None else x
    whole = not is_float(x.dtype)
    made = F.cumprod(F.cast(x, mstype.float64) if whole else x, 0 if axis is None else axis)
    return F.cast(made, dtype or x.dtype)


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The covariances of variables, the rows of a matrix, or its columns unless `rowvar`, and those of `y`: see
    ops.cov."""
    rows = [_variables(one, rowvar) for one in (m, y) if one is not None]
    x = rows[0] if len(rows) == 1 else append(*rows, axis=0)
    correction = ddof if ddof is not None else 0 if bias else 1
    weights = [None if one is None else tensor_of(one) for one in (fweights, aweights)]
    made = F.cov(x, correction=correction, fweights=weights[0], aweights=weights[1])
    return typed(F.reshape(made, []) if made.size == 1 else made, dtype)


def _variables(m, rowvar):
    x = F.as_float(tensor_of(m))
    x = F.reshape(x, [1, -1]) if x.ndim < 2 else x
    return x if rowvar or x.shape[0] == 1 else F.transpose(x, (1, 0))


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Tensor:
    """The correlations of variables: see `cov`."""
    made = cov(x, y, rowvar)
    if made.ndim == 0:
        return typed(F.div(made, made), dtype)
    sizes = F.sqrt(F.diagonal(made))
    return typed(F.div(F.div(made, F.expand_dims(sizes, 1)), F.expand_dims(sizes, 0)), dtype)


def argwhere(a: ArrayLike) -> Tensor:
    """The places of the elements other than 0, one a row, as int64."""
    return F.nonzero(tensor_of(a))


def _all_equal(a, b, equal_nan=False):
    same = F.equal(a, b)
    if equal_nan:
        same = F.logical_or(same, F.logical_and(F.isnan(a), F.isnan(b)))
    return F.all(same)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Tensor:
    """Whether two arrays have the same shape and elements, as a tensor."""
    a, b = tensor_of(a1), tensor_of(a2)
    return _all_equal(a, b, equal_nan) if a.shape == b.shape else Tensor(False)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """Whether two arrays have the same elements after they are broadcast, as a tensor."""
    a, b = tensor_of(a1), tensor_of(a2)
    try:
        a, b = broadcast_arrays(a, b)
    except ValueError:
        return Tensor(False)
    return _all_equal(a, b)


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """How often each integer from 0 stands, or the sums of their weights, as float32; `length` of them, or at least
    `minlength`."""
    made = F.bincount(tensor_of(x), None if weights is None else tensor_of(weights), max(minlength, length or 0))
    return made if length is None else made[:length]


def digitize(x: ArrayLike, bins: int | Sequence[float] | Tensor, right: bool = False) -> Tensor:
    """In which of the parts between the bins, which rise or fall, each element is, as int32."""
    values, edges = values_of("digitize", x, bins)
    return integers(np.digitize(values, edges, right))


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> Tensor:
    """Where values belong in a row that rises, as int32: before equal elements, or after them ("right")."""
    if side not in ("left", "right"):
        raise ValueError(f"[searchsorted] unknown side, got {side!r}, expected left or right")
    row, wanted = values_of("searchsorted", a, v)
    order = None if sorter is None else values_of("searchsorted", sorter)[0]
    return integers(np.searchsorted(row, wanted, side, order))


def _edges(bins):
    """Numbers of parts as they are, places between parts as arrays."""
    if isinstance(bins, (list, tuple, Tensor, np.ndarray)):
        return values_of("histogram", bins)[0]
    return int(bins)


def _weights(weights):
    return None if weights is None else values_of("histogram", weights)[0]


def histogram_bin_edges(
    a: ArrayLike,
    bins: int | Sequence[float] | Tensor = 10,
    range: Sequence[float] | None = None,
    weights: ArrayLike | None = None,
) -> Tensor:
    """The places between parts of equal width, from the smallest to the largest element, or over a range."""
    edges = _edges(bins)
    if isinstance(edges, np.ndarray):
        return Tensor(edges)
    return Tensor(np.histogram_bin_edges(values_of("histogram_bin_edges", a)[0], edges, range), float32)


def histogram(
    a: ArrayLike,
    bins: int | Sequence[float] | Tensor = 10,
    range: Sequence[float] | None = None,
    weights: ArrayLike | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """(how many elements are in each part, as float32, the places between parts), outside of programs that are compiled
    once; with `density` shares over widths."""
    values = values_of("histogram", a)[0]
    shares = _weights(weights)
    shares = None if shares is None else shares.reshape(values.shape)
    counts, _ = np.histogram(values, _edges(bins), range, density, shares)
    return Tensor(counts, float32), histogram_bin_edges(a, bins, range)


def histogramdd(
    sample: ArrayLike,
    bins: int | Sequence = 10,
    range: Sequence | None = None,
    weights: ArrayLike | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """(how many points are in each part, as float32, the places between parts of each dimension, as a list). Points are
    rows of a tensor, or a list has their coordinates."""
    values = values_of("histogramdd", sample)[0]
    values = values.T if isinstance(sample, (list, tuple)) else values
    parts = [_edges(one) for one in bins] if isinstance(bins, (list, tuple)) else _edges(bins)
    counts, edges = np.histogramdd(values.reshape(len(values), -1), parts, range, density, _weights(weights))
    return Tensor(counts, float32), [Tensor(one, float32) for one in edges]


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: int | Sequence = 10,
    range: Sequence | None = None,
    weights: ArrayLike | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """(how many points are in each part, as float32, the places between parts of x, those of y)."""
    counts, edges = histogramdd([tensor_of(x), tensor_of(y)], bins, range, weights, density)
    return counts, *edges


def isin(element: ArrayLike, test_elements: ArrayLike, invert: bool = False) -> Tensor:
    """Whether each element is among others, or with `invert` is not, as bools of the shape of `element`."""
    x, others = tensor_of(element), ravel(tensor_of(test_elements))
    found = F.any(F.equal(F.expand_dims(x, -1), others), -1)
    return F.logical_not(found) if invert else found


def in1d(ar1: ArrayLike, ar2: ArrayLike, invert: bool = False) -> Tensor:
    """Whether each element, in one row, is among others, or with `invert` is not."""
    return isin(ravel(tensor_of(ar1)), ar2, invert)


def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Tensor | tuple[Tensor, ...]:
    """The elements that both arrays have, in rising order, and with `return_indices` where they are in both; outside of
    programs that are compiled once."""
    a, b = values_of("intersect1d", ar1, ar2)
    found = np.intersect1d(a, b, assume_unique, return_indices)
    return (Tensor(found[0]), integers(found[1]), integers(found[2])) if return_indices else Tensor(found)


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Tensor:
    """The elements of the first array that the second one has not, outside of programs that are compiled once."""
    return Tensor(np.setdiff1d(*values_of("setdiff1d", ar1, ar2), assume_unique))


def unique(x: ArrayLike, return_inverse: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The different elements in the order in which they are met first, and with `return_inverse` which of them each one
    is, in one row."""
    found, which = F.unique(tensor_of(x))
    return (found, ravel(which)) if return_inverse else found


def _promoted(kinds):
    floats = [one for one in kinds if is_float(one)]
    return to_dtype(np.result_type(*(one.numpy for one in floats or kinds)))


def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType:
    """The smallest element type to which both can be cast. Integers take the type of a number with a fraction."""
    return _promoted([to_dtype(type1), to_dtype(type2)])


def result_type(*arrays_and_dtypes) -> DType:
    """The element type of what is computed of these: tensors, numbers, and element types."""
    kinds = []
    for one in arrays_and_dtypes:
        is_type = isinstance(one, (mstype.DType, str, type, np.dtype))
        kinds.append(to_dtype(one) if is_type else tensor_of(one).dtype)
    return _promoted(kinds)
