"""Item assignment: `x[index] = value` as a new tensor, so that gradients pass through it, and views."""

import numpy as np

from partita._current import current
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import cast, select
from partita.ops.shapes import broadcast_to, expand_dims, gather, reshape
from partita.ops.support import is_number


def assigned(x, index, value):
    """Returns the tensor that `x[index] = value` makes of x, as an op of x and the value. Raises NeedsValue for a
    symbolic tensor of integers as index, ValueError for a value whose shape does not fit, TypeError for other
    values."""
    if not isinstance(value, Tensor):
        if not is_number(value) and not isinstance(value, (np.ndarray, list, tuple)):
            raise TypeError(
                f"[index] bad value for an element, got {type(value).__name__}, expected a number or a Tensor"
            )
        value = Tensor(np.asarray(value))
    value = cast(value, x.dtype) if value.dtype != x.dtype else value
    if isinstance(index, Tensor) and index.dtype == mstype.bool_:
        return _masked(x, index, value)
    places = np.arange(x.size).reshape(x.shape)[_known(index)]
    taken = np.zeros(x.size, np.bool_)
    taken[places.reshape(-1)] = True
    return _placed(x, value, places, Tensor(taken.reshape(x.shape)))


def _masked(x, mask, value):
    """`value` where a mask over the first dimensions holds."""
    if mask.shape != x.shape[: mask.ndim]:
        raise IndexError(f"[index] the mask has another shape, got {mask.shape}, expected that of {x.shape}")
    if value.size > 1 and value.shape != x.shape[mask.ndim :]:
        places = np.arange(x.size).reshape(x.shape)[mask._values()]
        return _placed(x, value, places, Tensor(mask._values()))
    whole = reshape(mask, list(mask.shape) + [1] * (x.ndim - mask.ndim))
    return select(broadcast_to(whole, x.shape), broadcast_to(_without_ones(value, x.ndim), x.shape), x)


def _placed(x, value, places, taken):
    """Elements of the value at the places of the flat x; `taken` says where these are."""
    if value.size == 1:
        return select(taken, broadcast_to(reshape(value, [1] * x.ndim), x.shape), x)
    try:
        np.broadcast_shapes(value.shape, places.shape)
        value = broadcast_to(_without_ones(value, places.ndim), places.shape)
    except ValueError:
        raise ValueError(
            f"[index] the value has the wrong shape, got {value.shape}, expected that of the elements, {places.shape}"
        ) from None
    source = np.zeros(x.size, np.int32)
    source[places.reshape(-1)] = np.arange(places.size)  # of places that come twice the last
    spread = reshape(gather(reshape(value, [-1]), Tensor(source), 0), x.shape)
    whole = taken if taken.shape == x.shape else _whole(taken, x.shape)
    return select(whole, spread, x)


def _whole(mask, shape):
    return broadcast_to(reshape(mask, list(mask.shape) + [1] * (len(shape) - mask.ndim)), shape)


def _without_ones(value, rank):
    """The value with at most `rank` dimensions: leading ones are dropped."""
    while value.ndim > rank and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    while value.ndim < rank:
        value = expand_dims(value, 0)
    return value


def _known(index):
    """An index for NumPy. Raises NeedsValue for tensors whose values are not known."""
    if isinstance(index, tuple):
        return tuple(_known(one) for one in index)
    if isinstance(index, list):
        return [_known(one) for one in index]
    if not isinstance(index, Tensor):
        return index
    index._refuse_symbolic("an index")
    return index._values()


def is_basic(index):
    """Whether an index makes a view: numbers, slices, None and Ellipsis."""
    if isinstance(index, tuple):
        return all(is_basic(one) for one in index)
    number = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
    return number or index is None or index is Ellipsis or isinstance(index, slice)


def assign_item(tensor, index, value):
    """`tensor[index] = value`: of the tensor, of what it is a view of, and of the views of both."""
    build = current()
    if tensor.is_parameter and build is not None:
        return build.assign(tensor, assigned(tensor, index, value))
    symbolic = any(_is_symbolic(one) for one in (tensor, index, value))
    if build is not None and build.is_recorded and not symbolic and build.knows(tensor):
        build.detach(tensor)
    if build is None or not (symbolic or build.knows(tensor)):
        tensor._writable()[_known(index)] = value._values() if isinstance(value, Tensor) else value
    else:
        made = assigned(tensor, index, value)
        if build is not None and tensor._symbol is None:
            build.detach(tensor)
        tensor._become(made)
    view = getattr(tensor, "_view", None)
    if view is not None:
        base, at = view
        assign_item(base, at, tensor)  # which makes this view anew
    else:
        _renew_views(tensor)


def _is_symbolic(part):
    """Whether a value of a step or a network is among these."""
    if isinstance(part, (tuple, list)):
        return any(_is_symbolic(one) for one in part)
    return isinstance(part, Tensor) and part._symbol is not None


def _renew_views(base):
    for view in list(getattr(base, "_views", None) or ()):
        view._become(base._item(view._view[1]))
        _renew_views(view)
