"""`vmap`: a function of slices as a function of whole tensors."""

from __future__ import annotations

import numbers
from collections.abc import Callable

from partita import _trace
from partita._mapping import Mapping
from partita.common.tensor import Tensor
from partita.ops.composite import program_of
from partita.ops.shapes import stack, transpose
from partita.ops.support import is_number

__all__ = ("vmap",)


def vmap(fn: Callable[..., object], in_axes: object = 0, out_axes: object = 0) -> Callable[..., object]:
    """A function that calls `fn` once, with tensors that stand for one slice each, and gives the results of all slices.
    `in_axes` are the axes along which arguments are cut, an integer or None for each, or one for all; `out_axes` are
    those of results. What `fn` draws is the same for all slices. A value that differs between slices cannot be read.

    An op costs what it costs for a batch of all slices. Some have no form for a batch and are computed slice by slice:
    the program is then as much longer, and takes longer to compile (docs/guide/python.md). A list of cells has one cell
    for each slice, which are called one after the other. Raises RuntimeError for axes that do not fit."""
    is_list = getattr(type(fn), "is_list_of_cells", False)
    if not is_list and not callable(fn):
        raise RuntimeError(f"[vmap] not a function, got {type(fn).__name__}, expected a function or a cell")
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        _require_axes(name, axes, is_list and name == "in_axes")

    def mapped(*args, **kwargs):
        if kwargs:
            raise RuntimeError(f"[vmap] arguments have names, got {sorted(kwargs)}, expected positions")
        if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
            raise RuntimeError(
                f"[vmap] wrong number of axes in in_axes, got {len(in_axes)}, expected {len(args)}, one for each "
                "argument"
            )
        pairs, cells = _paired("in_axes", in_axes, args), list(fn) if is_list else None
        size = _size(pairs, cells)
        if cells is not None:
            return _of_cells(cells, pairs, out_axes)
        mapping = Mapping(_trace.current(), size)
        given = _made(pairs, lambda one, axis: one if axis is None else mapping.slice(_to_front(one, axis)))
        with mapping:
            found = fn(*given)
        return _results(mapping, found, out_axes)

    return program_of(fn, ("vmap", repr(in_axes), repr(out_axes)), mapped)


def _leaves(axes):
    if isinstance(axes, (tuple, list)):
        return [inner for one in axes for inner in _leaves(one)]
    return [axes]


def _require_axes(name, axes, may_be_none):
    """Raises RuntimeError unless all axes are integers or None, and one is an integer."""
    for one in _leaves(axes):
        if one is not None and (isinstance(one, bool) or not isinstance(one, numbers.Integral)):
            raise RuntimeError(f"[vmap] bad axis in {name}, got {one!r}, expected an integer or None")
    if not may_be_none and all(one is None for one in _leaves(axes)):
        raise RuntimeError(f"[vmap] no axis in {name}, got {axes}, expected an integer for one at least")


def _paired(name, axes, value):
    """(value, axis) in place of each value that is no tuple or list."""
    if not isinstance(value, (tuple, list)):
        if isinstance(axes, (tuple, list)):
            raise RuntimeError(f"[vmap] too many axes in {name}, got {axes}, expected one for a {type(value).__name__}")
        return _Pair(value, axes)
    if not isinstance(axes, (tuple, list)):
        axes = [axes] * len(value)
    if len(axes) != len(value):
        raise RuntimeError(f"[vmap] wrong number of axes in {name}, got {len(axes)}, expected {len(value)}")
    return tuple(_paired(name, axis, one) for axis, one in zip(axes, value))


class _Pair:
    """A value and its axis."""

    def __init__(self, value, axis):
        self.value, self.axis = value, axis


def _made(pairs, make):
    """`make(value, axis)` in place of each pair."""
    if isinstance(pairs, tuple):
        return tuple(_made(one, make) for one in pairs)
    return make(pairs.value, pairs.axis)


def _axis(name, axis, rank):
    if not -rank <= axis < rank:
        expected = f"{-rank} to {rank - 1}"
        raise RuntimeError(f"[vmap] an axis in {name} is outside the tensor, got {axis}, expected {expected}")
    return axis % rank


def _size(pairs, cells):
    """The number of slices. Raises RuntimeError if arguments have different ones."""
    sizes = [] if cells is None else [len(cells)]

    def add(value, axis):
        if axis is None:
            return
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"[vmap] an argument has no slices, got {type(value).__name__}, expected a Tensor, or None in in_axes"
            )
        if value.ndim == 0:
            raise RuntimeError("[vmap] an argument has no slices, got a tensor of no dimensions, expected one at least")
        sizes.append(value.shape[_axis("in_axes", axis, value.ndim)])

    _made(pairs, add)
    if not sizes or len(set(sizes)) > 1 or sizes[0] < 1:
        raise RuntimeError(f"[vmap] axes have no common size, got sizes {sizes}, expected equal ones from 1")
    return sizes[0]


def _to_front(tensor, axis):
    """The tensor with this axis as its first."""
    axis = _axis("in_axes", axis, tensor.ndim)
    return transpose(tensor, [axis, *[i for i in range(tensor.ndim) if i != axis]]) if axis else tensor


def _from_front(tensor, axis):
    """The tensor with its first axis at this place."""
    axis = _axis("out_axes", axis, tensor.ndim)
    others = list(range(1, tensor.ndim))
    return transpose(tensor, [*others[:axis], 0, *others[axis:]]) if axis else tensor


def _results(mapping, found, out_axes):
    """The results of all slices."""

    def result(one, axis):
        one = _as_result(one)
        if axis is None:
            if mapping.is_slice(one):
                raise RuntimeError("[vmap] a result differs between slices, got None in out_axes, expected an integer")
            return one
        return _from_front(mapping.whole(one), axis)

    return _made(_paired("out_axes", out_axes, found), result)


def _as_result(one):
    if isinstance(one, Tensor):
        return one
    if is_number(one):
        return Tensor(one)
    raise RuntimeError(f"[vmap] a result is not a tensor, got {type(one).__name__}, expected tensors or numbers")


def _of_cells(cells, pairs, out_axes):
    """The results of cells, one for each slice."""

    def slice_of(number):
        return lambda one, axis: one if axis is None else _to_front(one, axis)[number]

    found = [cell(*_made(pairs, slice_of(i))) for i, cell in enumerate(cells)]
    axes = [_paired("out_axes", out_axes, one) for one in found]

    def joined(ones):
        if isinstance(ones[0], tuple):
            return tuple(joined(parts) for parts in zip(*ones))
        axis = 0 if ones[0].axis is None else ones[0].axis
        return _from_front(stack([_as_result(one.value) for one in ones]), axis)

    return joined(axes)
