"""Slices at places that come as tensors: added to those of a tensor or a parameter, or put in their stead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.assignment import assign_item
from partita.ops.creation import assign, full
from partita.ops.elementwise import add, cast, greater_equal, less, logical_and, mul, select
from partita.ops.segments import combined
from partita.ops.shapes import reshape
from partita.ops.support import as_tensor

_KINDS = "add sub mul div max min update".split()
_OF_TENSORS = [f"tensor_scatter_{kind}" for kind in _KINDS]
_OF_PARAMETERS = [f"scatter_{kind}" for kind in _KINDS if kind != "sub"]  # there is no function scatter_sub
_OF_BOTH = [f"scatter_nd_{kind}" for kind in _KINDS]
__all__ = ["scatter_nd", *_OF_TENSORS, *_OF_PARAMETERS, *_OF_BOTH]


def numbered(where, ids, sizes):
    """The numbers of slices in a row, of places ids[.., len(sizes)]. Raises IndexError for places outside; those that
    are not known get the number -1, which ops refuse."""
    if ids.dtype not in (mstype.int32, mstype.int64):
        raise TypeError(f"[{where}] places are no integers, got {ids.dtype}, expected int32 or int64")
    if ids._symbol is None:
        values = ids.asnumpy()
        outside = (values < 0) | (values >= np.array(sizes))
        if outside.any():
            raise IndexError(
                f"[{where}] a place is outside, got {values[outside].tolist()[0]}, expected 0 to below {list(sizes)}"
            )
    number, inside = None, None
    for k, size in enumerate(sizes):
        part = reshape(ids[(..., slice(k, k + 1))], [-1])
        within = logical_and(greater_equal(part, 0), less(part, size))
        number = part if number is None else add(mul(number, int(size)), part)
        inside = within if inside is None else logical_and(inside, within)
    return number if ids._symbol is None else select(inside, number, full(number.shape, -1, dtype=number.dtype))


def placed(where, kind, x, indices, updates):
    """The tensor whose slices at places indices[.., q] are joined with updates, "add" and so on, or replaced."""
    x, ids, new = (as_tensor(one, where) for one in (x, indices, updates))
    if ids.ndim < 1 or ids.shape[-1] > x.ndim:
        raise ValueError(f"[{where}] bad places, got shape {ids.shape} for {x.shape}, expected numbers of dimensions")
    count = ids.shape[-1]
    if tuple(new.shape) != (*ids.shape[:-1], *x.shape[count:]):
        raise ValueError(
            f"[{where}] the shapes do not fit, got updates {new.shape}, expected {(*ids.shape[:-1], *x.shape[count:])}"
        )
    if new.dtype != x.dtype:
        raise TypeError(f"[{where}] the element types differ, got {new.dtype} for {x.dtype}, expected the same")
    if 0 in (new.size, x.size):
        return x
    slices, places = int(np.prod(x.shape[:count])), new.size // (x.size // int(np.prod(x.shape[:count])))
    rows, new = reshape(x, [slices, x.size // slices]), reshape(new, [places, x.size // slices])
    return reshape(combined(where, kind, rows, numbered(where, ids, x.shape[:count]), new), x.shape)


def scatter_nd(indices: Tensor | float, updates: Tensor | float, shape: Sequence[int]) -> Tensor:
    """A tensor of a shape that has updates at places indices[.., q], their sum where places are equal, else 0. Raises
    IndexError for places outside, ValueError for updates of another shape."""
    new = as_tensor(updates, "scatter_nd")
    sizes = [int(one) for one in (shape.asnumpy() if isinstance(shape, Tensor) else shape)]
    return placed("scatter_nd", "add", full(sizes, 0, dtype=new.dtype), indices, new)


def change(where, kind, variable, indices, updates):
    """Gives a parameter, or a tensor, the values that `placed` makes, and returns it."""
    made = placed(where, kind, variable, indices, cast(as_tensor(updates, where), variable.dtype))
    if isinstance(variable, Parameter):
        return assign(variable, made)
    assign_item(variable, Ellipsis, made)
    return variable


def change_rows(where, kind, variable, indices, updates):
    """Gives a parameter, or a tensor, other slices along the first dimension; their numbers may have any shape."""
    ids = as_tensor(indices, where)
    return change(where, kind, variable, reshape(ids, [*ids.shape, 1]), updates)


_WORDS = {
    "add": "increased by the updates",
    "sub": "reduced by the updates",
    "mul": "multiplied by the updates",
    "div": "divided by the updates",
    "max": "replaced by larger updates",
    "min": "replaced by smaller updates",
    "update": "replaced by the updates, by the last one where places are equal",
}


def _of_tensors(kind):
    def call(input_x: Tensor, indices: Tensor, updates: Tensor | float) -> Tensor:
        return placed(f"tensor_scatter_{kind}", kind, input_x, indices, updates)

    call.__doc__ = f"""The tensor with its slices at places indices[.., q] {_WORDS[kind]}. The updates have the shape
    indices.shape[:-1] + input_x.shape[q:]. Raises IndexError for places outside, ValueError for other shapes."""
    return call


def _of_parameters(kind):
    def call(input_x: Tensor, indices: Tensor, updates: Tensor | float) -> Tensor:
        return change_rows(f"scatter_{kind}", kind, input_x, indices, updates)

    call.__doc__ = f"""The parameter with its slices of some numbers {_WORDS[kind]}: it has these values from then on.
    The updates have the shape indices.shape + input_x.shape[1:]. Raises IndexError for numbers outside, ValueError for
    other shapes."""
    return call


def _of_both(kind):
    def call(
        input_x: Tensor, indices: Tensor, updates: Tensor | float, use_locking: bool = kind == "update"
    ) -> Tensor:
        return change(f"scatter_nd_{kind}", kind, input_x, indices, updates)

    call.__doc__ = f"""The parameter with its slices at places indices[.., q] {_WORDS[kind]}: it has these values from
    then on. The updates have the shape indices.shape[:-1] + input_x.shape[q:]. `use_locking` has no effect. Raises
    IndexError for places outside, ValueError for other shapes."""
    return call


def _define():
    for names, make in ((_OF_TENSORS, _of_tensors), (_OF_PARAMETERS, _of_parameters), (_OF_BOTH, _of_both)):
        for name in names:
            function = make(name.rpartition("_")[2])
            function.__name__ = function.__qualname__ = name
            globals()[name] = function


_define()
