"""Jacobians: the gradients of each element of a result, or the derivatives by each element of an input, as slices of
one computation."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence

from partita import _core, _trace
from partita._mapping import Mapping
from partita.common import dtype as mstype
from partita.common import seed as seeds
from partita.common.tensor import Tensor
from partita.ops.composite import own_inputs, program_of
from partita.ops.creation import ones
from partita.ops.shapes import reshape, sliced, transpose
from partita.ops.support import F, attributes, run

__all__ = ("jacfwd", "jacrev")


def jacrev(
    fn: Callable[..., object], grad_position: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., object]:
    """A function that gives the Jacobian of `fn` by the inputs at these positions: a tensor whose shape is that of the
    result, then that of the input. Several results or positions give a tuple, several of both a tuple for each result.
    With `has_aux` it gives (the Jacobian of the first result, the other results).

    It differentiates each element of the results, and computes `fn` as often, all at once as one batch. So it costs
    less than `jacfwd` where results have fewer elements than inputs. `fn` is called twice in a step: first to find out
    which shapes the results have."""
    return _jacobian_of("jacrev", _by_results, fn, grad_position, has_aux)


def jacfwd(
    fn: Callable[..., object], grad_position: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., object]:
    """A function that gives the Jacobian of `fn`, as `jacrev` does. It computes the derivatives by each element of the
    inputs, all at once as one batch, each by two reverse passes. So it costs less than `jacrev` where inputs have far
    fewer elements than results."""
    return _jacobian_of("jacfwd", _by_inputs, fn, grad_position, has_aux)


def _jacobian_of(where, way, fn, grad_position, has_aux):
    if not callable(fn):
        raise TypeError(f"[{where}] not a function, got {type(fn).__name__}, expected a function or a cell")
    if not isinstance(has_aux, bool):
        raise TypeError(f"[{where}] has_aux is not a bool, got {has_aux!r}, expected True or False")
    positions = _positions(where, grad_position)

    def jacobian(*args, **kwargs):
        if kwargs:
            raise TypeError(f"[{where}] arguments have names, got {sorted(kwargs)}, expected positions")
        for one in positions:
            if one >= len(args):
                raise ValueError(f"[{where}] no such input, got position {one} of {len(args)}, expected a lower one")
            if not isinstance(args[one], Tensor) or not mstype.is_float(args[one].dtype):
                got = args[one].dtype if isinstance(args[one], Tensor) else type(args[one]).__name__
                raise TypeError(f"[{where}] an input has no gradient, got {got}, expected a Tensor of floats")
        found, is_single, others = way(where, fn, args, positions, has_aux)
        rows = [row[0] if len(positions) == 1 else tuple(row) for row in found]
        jacobians = rows[0] if is_single else tuple(rows)
        return jacobians if not has_aux else (jacobians, others[0] if len(others) == 1 else others)

    return program_of(fn, (where, positions, has_aux), jacobian)


def _positions(where, given):
    found = tuple(given) if isinstance(given, tuple) else (given,)
    for one in found:
        if isinstance(one, bool) or not isinstance(one, numbers.Integral):
            raise TypeError(f"[{where}] bad grad_position, got {given!r}, expected an integer or a tuple of them")
        if one < 0:
            raise ValueError(f"[{where}] bad grad_position, got {one}, expected integers from 0")
    if not found or len(set(found)) < len(found):
        raise ValueError(f"[{where}] bad grad_position, got {given!r}, expected different positions, one at least")
    return found


def _split(where, value, has_aux):
    """(results that are differentiated, whether the function gives one alone, other results)."""
    several = isinstance(value, tuple)
    if has_aux and (not several or len(value) < 2):
        raise ValueError(
            f"[{where}] the function returns nothing besides what is differentiated, got {type(value).__name__} of "
            "has_aux=True, expected a tuple"
        )
    results, others = (value[:1], value[1:]) if has_aux else (value if several else (value,), ())
    for one in results:
        if not isinstance(one, Tensor) or not mstype.is_float(one.dtype):
            got = one.dtype if isinstance(one, Tensor) else type(one).__name__
            raise TypeError(f"[{where}] a result has no gradient, got {got}, expected Tensors of floats")
    return results, has_aux or not several, others


def _count(shape):
    return math.prod(shape)


def _basis(tensors):
    """For each of the tensors the unit vectors of all of them: [number of elements of all, *its shape]."""
    count, begin, found = sum(_count(one.shape) for one in tensors), 0, []
    for one in tensors:
        size = _count(one.shape)
        # Row i has its one in column i - begin: rows of other tensors have none.
        numbers_of = attributes(axis=0, begin=-begin, dtype=mstype.int64, shape=[count])
        hot = attributes(depth=size, on_value=1.0, off_value=0.0, dtype=one.dtype)
        made = run(
            lambda trace, a=numbers_of, b=hot: F.apply(trace, "one_hot", [F.apply(trace, "iota", [], a)[0]], b)[0]
        )
        found.append(reshape(made, [count, *one.shape]))
        begin += size
    return found


def _products(where, results, vectors):
    """The sum of the products of all elements."""
    total = None
    for one, vector in zip(results, vectors):
        part = (one * vector).sum()
        total = part if total is None else total + part.astype(total.dtype)
    return total


def _parts(whole, tensors):
    """Rows of a value for each of the tensors."""
    begin, found = 0, []
    for one in tensors:
        end = begin + _count(one.shape)
        found.append(sliced(whole, [(begin, end), *[(0, n) for n in whole.shape[1:]]]))
        begin = end
    return found


def _others(mapping, others):
    """Other results, which are the same in all slices."""

    def first(one):
        if isinstance(one, (tuple, list)):
            return type(one)(first(inner) for inner in one)
        if not isinstance(one, Tensor) or not mapping.is_slice(one):
            return one
        whole = mapping.whole(one)
        return reshape(sliced(whole, [(0, 1), *[(0, n) for n in whole.shape[1:]]]), whole.shape[1:])

    return tuple(first(one) for one in others)


def _by_results(where, fn, args, positions, has_aux):
    """Rows of Jacobians, one for each result; whether there is one; other results."""
    shapes = _split(where, _shapes_of(fn, args), has_aux)[0]
    build, args = _trace.current(), list(args)
    units = _basis(shapes)
    mapping = Mapping(build, units[0].shape[0])
    with mapping:
        inputs = own_inputs(mapping, args, positions)
        results, is_single, others = _split(where, fn(*args), has_aux)
        total = _products(where, results, [mapping.slice(one) for one in units])
        found = [mapping.whole(one) for one in mapping.differentiate(total, inputs)]
    rows = zip(*[_parts(one, results) for one in found])
    shaped = [
        [reshape(one, [*result.shape, *inner.shape]) for one, inner in zip(row, inputs)]
        for row, result in zip(rows, results)
    ]
    return shaped, is_single, _others(mapping, others)


def _by_inputs(where, fn, args, positions, has_aux):
    """Rows of Jacobians, one for each result; whether there is one; other results."""
    build, args = _trace.current(), list(args)
    units = _basis([args[one] for one in positions])
    mapping = Mapping(build, units[0].shape[0])
    with mapping:
        inputs = own_inputs(mapping, args, positions)
        results, is_single, others = _split(where, fn(*args), has_aux)
        factors = [mapping.own_input(ones(one.shape, dtype=one.dtype)) for one in results]
        pulled = mapping.differentiate(_products(where, results, factors), inputs)
        total = _products(where, pulled, [mapping.slice(one) for one in units])
        found = [mapping.whole(one) for one in mapping.differentiate(total, factors)]
    rows = []
    for one, result in zip(found, results):
        row = []
        for part, inner in zip(_parts(one, inputs), inputs):  # [elements of the input, *shape of the result]
            moved = transpose(part, [*range(1, part.ndim), 0])
            row.append(reshape(moved, [*result.shape, *inner.shape]))
        rows.append(row)
    return rows, is_single, _others(mapping, others)


class _Shapes(_trace.StepBuild):
    """A network that is never run, to find out which shapes results have. Tensors of other networks stand in it as
    inputs."""

    def __init__(self, groups):
        super().__init__(_core.Trace.of_types(seeds.seed_or_default(), groups), True, groups=groups)

    def do(self, key, action, *operands):
        made = super().do(key, action, *operands)
        for one in made if isinstance(made, (tuple, list)) else [made]:
            if one is not None:
                one._init = self  # what has another one is of another network
        return made

    def array_of(self, tensor):
        raise TypeError(
            f"[jacrev] a value is read, got one of a tensor of shape {tensor.shape}, expected ops on it within the "
            "function, such as ops.select"
        )

    def symbol(self, tensor):
        if tensor._init is self:
            return tensor._symbol
        if tensor._symbol is None:
            return super().symbol(tensor)
        if id(tensor) not in self._symbols:
            self._symbols[id(tensor)] = self.stand_in(tensor)
            self._kept.append(tensor)
        return self._symbols[id(tensor)]

    def stand_in(self, tensor):
        """An input of the shape and the element type of a tensor."""
        name = f"given{len(self._kept)}"
        return self.trace.network_input(name, tensor.dtype.core, list(tensor.shape), False)


def _shapes_of(fn, args):
    """The results of a function, as tensors that have shapes alone."""
    build = _Shapes(_trace.current().groups)
    with build:
        return fn(*args)
