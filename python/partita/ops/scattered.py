"""Parameters that are added to, and tensors with slices added at places."""

from __future__ import annotations

from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.creation import assign, one_hot, zeros_like
from partita.ops.elementwise import add, cast, greater, mul, select
from partita.ops.reductions import reduce_sum
from partita.ops.shapes import broadcast_to, expand_dims, swapaxes
from partita.ops.support import as_tensor, axis_of

__all__ = "assign_add assign_sub index_add".split()


def assign_add(variable: Parameter, value: Tensor | float) -> Parameter:
    """The parameter with a tensor added to its values, outside of programs; the tensor broadcasts to its shape. Raises
    TypeError for what is no parameter, ValueError for shapes that do not fit."""
    return assign(variable, add(_values("assign_add", variable), value))


def assign_sub(variable: Parameter, value: Tensor | float) -> Parameter:
    """The parameter with a tensor taken from its values, outside of programs; the tensor broadcasts to its shape.
    Raises TypeError for what is no parameter, ValueError for shapes that do not fit."""
    return assign(variable, add(_values("assign_sub", variable), mul(as_tensor(value, "assign_sub"), -1)))


def _values(where, variable):
    if not isinstance(variable, Parameter):
        raise TypeError(f"[{where}] not a parameter, got {type(variable).__name__}, expected a Parameter")
    return variable


def index_add(
    x: Tensor | float,
    indices: Tensor | float,
    y: Tensor | float,
    axis: int,
    use_lock: bool = True,
    check_index_bound: bool = True,
) -> Tensor:
    """The tensor with slices along an axis added to those at places; a parameter has the values from then on. `indices`
    is [k], and `y` has the shape of `x` with size k along the axis. Raises ValueError for other shapes, or an axis that
    the tensor has not."""
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


def _where(hot, values):
    """The values where the other tensor has 1, else 0: infinite ones, too, stay in their places."""
    values = broadcast_to(values, hot.shape)
    return select(greater(hot, 0.0), values, zeros_like(values))
