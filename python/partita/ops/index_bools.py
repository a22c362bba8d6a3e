"""Bools among the indices of a tensor, as NumPy reads them: together an array of one element, or of none."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor


def without_bools(shape, index):
    """(an index without bools that takes the same elements, the shape of the result where a bool takes none)."""
    items = [_plain(one) for one in (index if isinstance(index, tuple) else (index,))]
    bools = [i for i, one in enumerate(items) if isinstance(one, (bool, np.bool_))]
    if not bools:
        return index, None
    if not all(items[i] for i in bools):
        return index, _shape_of_none(shape, items)
    arrays = [i for i, one in enumerate(items) if _is_array(one)]
    made = [one for i, one in enumerate(items) if i not in bools]
    if not any(isinstance(one, (Tensor, np.ndarray, list)) for one in items):  # else it has the dimension
        together = arrays[-1] - arrays[0] == len(arrays) - 1
        made.insert(arrays[0] if together else 0, None)
    return tuple(made), None


def is_mask(index):
    """Whether an index is an array of bools of one dimension or more."""
    if isinstance(index, list):
        return bool(index) and all(isinstance(one, (bool, np.bool_)) for one in index)
    is_array = isinstance(index, (Tensor, np.ndarray))
    return is_array and index.ndim > 0 and index.dtype in (mstype.bool_, np.dtype(bool))


def _plain(one):
    """A known bool of a tensor as one of Python."""
    if isinstance(one, (Tensor, np.ndarray)) and one.ndim == 0 and one.dtype in (mstype.bool_, np.bool_):
        if not isinstance(one, Tensor) or one._symbol is None:
            return bool(one)
    return one


def _is_array(one):
    return one is not None and one is not Ellipsis and not isinstance(one, slice)


def _shape_of_none(shape, items):
    """The shape of a result without elements. Raises IndexError where the indices do not fit."""
    for one in items:
        if isinstance(one, (Tensor, np.ndarray, list)):
            raise IndexError("[index] False takes no elements of a tensor's, got both, expected one of the two")
    return np.broadcast_to(np.empty(()), shape)[tuple(items)].shape
