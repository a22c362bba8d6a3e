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
    if is_basic(index):
        made = _in_box(x, index, value)
        if made is not None:
            return made
    places = np.arange(x.size).reshape(x.shape)[_known(index)]
    if places.size == 0:
        _require_shape(value, places.shape)
        return x
    taken = np.zeros(x.size, np.bool_)
    taken[places.reshape(-1)] = True
    return _placed(x, value, places, Tensor(taken.reshape(x.shape)))


def _in_box(x, index, value):
    """The value in the box that numbers and slices of steps of 1 take, or None for other indices. Dimensions that are
    taken whole are left alone, so that rows of ranks stay where they are."""
    items = list(index) if isinstance(index, tuple) else [index]
    given = sum(one is not Ellipsis for one in items)
    if given > x.ndim or any(one is None for one in items) or 0 in x.shape:
        return None
    at = next((i for i, one in enumerate(items) if one is Ellipsis), len(items))
    items[at : at + 1] = [slice(None)] * (x.ndim - given)
    box, taken, mask = [], [], [1] * x.ndim
    for i, (one, size) in enumerate(zip(items, x.shape)):
        begin, end, step = one.indices(size) if isinstance(one, slice) else (int(one), int(one) + 1, 1)
        if not isinstance(one, slice):
            if not -size <= begin < size:
                return None  # which NumPy refuses
            begin, end = begin % size, begin % size + 1
        else:
            taken.append(i)
        if step != 1 or end <= begin:
            return None
        box.append((begin, end))
        mask[i] = 1 if (begin, end) == (0, size) else size
    shape = [box[i][1] - box[i][0] for i in taken]
    value = _spread(value, tuple(shape))
    value = reshape(value, [end - begin for begin, end in box])
    # Other elements are those of x, whatever stands in their places: one that is the value's, along each dimension.
    for i, ((begin, end), size) in enumerate(zip(box, x.shape)):
        if end - begin == 1 and size > 1:
            value = broadcast_to(value, [size if k == i else n for k, n in enumerate(value.shape)])
        elif (begin, end) != (0, size):
            numbers = np.clip(np.arange(size) - begin, 0, end - begin - 1)
            value = gather(value, Tensor(numbers.astype(np.int32)), i)
    if all(n == 1 for n in mask):
        return value
    inside = np.zeros(mask, np.bool_)
    inside[tuple(slice(*pair) if n > 1 else slice(None) for pair, n in zip(box, mask))] = True
    return select(broadcast_to(Tensor(inside), x.shape), value, x)


def _spread(value, shape):
    """The value, broadcast to a shape. Raises ValueError if it does not fit."""
    _require_shape(value, shape)
    return broadcast_to(_without_ones(value, len(shape)), shape)


def _require_shape(value, shape):
    given = value.shape
    while len(given) > len(shape) and given[0] == 1:
        given = given[1:]
    if len(given) > len(shape) or any(a not in (1, b) for a, b in zip(reversed(given), reversed(shape))):
        raise ValueError(
            f"[index] the value has the wrong shape, got {value.shape}, expected that of the elements, {shape}"
        )


def _masked(x, mask, value):
    """`value` where a mask over the first dimensions holds."""
    if mask.shape != x.shape[: mask.ndim]:
        raise IndexError(f"[index] the mask has another shape, got {mask.shape}, expected that of {x.shape}")
    if value.size > 1 and value.shape != x.shape[mask.ndim :]:
        places = np.arange(x.size).reshape(x.shape)[mask._values()]
        return _placed(x, value, places, Tensor(mask._values()))
    return select(_whole(mask, x.shape), broadcast_to(_without_ones(value, x.ndim), x.shape), x)


def _placed(x, value, places, taken):
    """Elements of the value at the places of the flat x; `taken` says where these are."""
    if value.size == 1:
        return select(taken, broadcast_to(reshape(value, [1] * x.ndim), x.shape), x)
    value = _spread(value, places.shape)
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


def _write(tensor, index, value):
    """Sets elements of the values. Raises ValueError for a value of another shape, IndexError for no index."""
    values, where = tensor._writable(), _known(index)
    given = value._values() if isinstance(value, Tensor) else value
    try:
        values[where] = given
    except ValueError as error:
        raise ValueError(
            f"[Tensor] the value does not fit the place, got shape {np.shape(given)}, expected one that becomes "
            f"{values[where].shape} of {values.shape}"
        ) from error


def assign_item(tensor, index, value):
    """`tensor[index] = value`: of the tensor, of what it is a view of, and of the views of both."""
    build = current()
    if tensor.is_parameter and build is not None:
        return build.assign(tensor, assigned(tensor, index, value))
    symbolic = any(_is_symbolic(one) for one in (tensor, index, value))
    if build is not None and build.is_recorded and not symbolic and build.knows(tensor):
        build.detach(tensor)
    if build is None or not (symbolic or build.knows(tensor)):
        _write(tensor, index, value)
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
