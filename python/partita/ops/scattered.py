"""Tensors of which some elements are replaced, or added to."""

import numpy as np

from partita import _trace
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.creation import assign, full, one_hot, zeros_like
from partita.ops.elementwise import add, cast, greater, mul, select
from partita.ops.reductions import argmax, reduce_sum
from partita.ops.shapes import broadcast_to, expand_dims, swapaxes
from partita.ops.support import as_tensor, axis_of

__all__ = "assign_add assign_sub index_add scatter scatter_nd_update tensor_scatter_elements".split()


def assign_add(variable, value):
    """The parameter with a tensor added to its values, outside of programs."""
    return assign(variable, add(_values("assign_add", variable), value))


def assign_sub(variable, value):
    """The parameter with a tensor taken from its values, outside of programs."""
    return assign(variable, add(_values("assign_sub", variable), mul(as_tensor(value, "assign_sub"), -1)))


def _values(where, variable):
    if not isinstance(variable, Parameter):
        raise TypeError(f"[{where}] not a parameter, got {type(variable).__name__}, expected a Parameter")
    return variable


def tensor_scatter_elements(input_x, indices, updates, axis=0, reduction="none"):
    """The tensor with elements at places along an axis replaced by updates, the last one where places are equal, or
    ("add") with the updates added."""
    x, ids, new = (as_tensor(one, "tensor_scatter_elements") for one in (input_x, indices, updates))
    axis = axis_of("tensor_scatter_elements", axis, x.ndim)
    if reduction not in ("none", "add"):
        raise ValueError(f"[tensor_scatter_elements] unknown reduction, got {reduction!r}, expected none or add")
    if (
        ids.shape != new.shape
        or ids.ndim != x.ndim
        or any(n != m for i, (n, m) in enumerate(zip(ids.shape, x.shape)) if i != axis)
    ):
        raise ValueError(
            f"[tensor_scatter_elements] the shapes do not fit, got indices {ids.shape} and updates {new.shape} of "
            f"{x.shape}, expected those of the tensor but along axis {axis}"
        )
    last = x.ndim - 1
    x, ids, new = (swapaxes(one, axis, last) if axis != last else one for one in (x, ids, new))
    size = x.shape[-1]
    ids = select(ids < 0, ids + size, ids)
    hot = one_hot(ids, size, 1.0, 0.0)  # [.., k, size]
    wide = cast(hot, x.dtype)
    if reduction == "add":
        made = add(x, reduce_sum(_where(wide, expand_dims(new, -1)), -2))
    else:
        made = _replaced(x, hot, new)
    return swapaxes(made, axis, last) if axis != last else made


def index_add(x, indices, y, axis, use_lock=True, check_index_bound=True):
    """The tensor with slices along an axis added to those at places; a parameter has the values from then on."""
    made = added_at(x, indices, y, axis)
    return assign(x, made) if isinstance(x, Parameter) else made


def added_at(x, indices, y, axis):
    """A tensor with slices along an axis added to those at places."""
    own, ids, new = (as_tensor(one, "index_add") for one in (x, indices, y))
    axis = axis_of("index_add", axis, own.ndim)
    if ids.ndim != 1 or new.ndim != own.ndim or new.shape[axis] != ids.shape[0]:
        raise ValueError(
            f"[index_add] the shapes do not fit, got places {ids.shape} and slices {new.shape} along axis {axis} of "
            f"{own.shape}, expected a place for each slice"
        )
    last = own.ndim - 1
    ids = select(ids < 0, ids + own.shape[axis], ids)
    hot = one_hot(ids, own.shape[axis], 1.0, 0.0)  # [k, size]
    turned = swapaxes(new, axis, last) if axis != last else new
    spread = expand_dims(cast(turned, own.dtype), -1)  # [.., k, 1]
    added = reduce_sum(_where(broadcast_to(hot, [*turned.shape, hot.shape[-1]]), spread), -2)
    return add(own, swapaxes(added, axis, last) if axis != last else added)


def scatter(input, axis, index, src):
    """The tensor with elements at places along an axis replaced by others, or by a number."""
    ids = as_tensor(index, "scatter")
    new = src if isinstance(src, Tensor) else full(ids.shape, src, dtype=input.dtype)
    if new.shape != ids.shape:
        raise ValueError(f"[scatter] the shapes do not fit, got {ids.shape} and {new.shape}, expected the same")
    return tensor_scatter_elements(input, ids, new, axis)


def _where(hot, values):
    """The values where the other tensor has 1, else 0: infinite ones, too, stay in their places."""
    values = broadcast_to(values, hot.shape)
    return select(greater(hot, 0.0), values, zeros_like(values))


def _replaced(x, hot, new):
    """x[.., z] with the last of the updates new[.., k] whose hot[.., k, z] is 1."""
    count = new.shape[-1]
    order = Tensor(np.arange(1, count + 1, dtype=np.float32).reshape(count, 1))
    places = mul(hot, order)  # [.., k, z]
    turned = swapaxes(places, -1, -2)
    chosen = one_hot(argmax(turned, -1), count, 1.0, 0.0)  # [.., z, k]
    taken = reduce_sum(_where(chosen, expand_dims(new, -2)), -1)
    given = greater(reduce_sum(hot, -2), 0.0)
    return select(given, taken, x)


def scatter_nd_update(input_x, indices, updates, use_locking=True):
    """The parameter with slices at places, the last dimension of the indices, replaced by updates; outside of
    programs."""
    variable = _values("scatter_nd_update", input_x)
    if _trace.current() is not None:
        raise NotImplementedError(
            f"[scatter_nd_update] a parameter cannot be changed within a program, got '{variable.name}', expected a"
            " call outside of it"
        )
    places = tuple(np.moveaxis(as_tensor(indices).asnumpy(), -1, 0))
    variable[places] = as_tensor(updates).astype(variable.dtype).asnumpy()
    return variable
