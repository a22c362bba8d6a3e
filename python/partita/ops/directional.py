"""Derivatives of functions along directions, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from partita.common.tensor import Tensor
from partita.ops.composite import grad
from partita.ops.creation import ones_like
from partita.ops.elementwise import add, cast, mul
from partita.ops.reductions import reduce_sum

__all__ = ("jvp", "linearize", "vjp")


def _several(where, what, given):
    found = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not found or not all(isinstance(one, Tensor) for one in found):
        raise TypeError(f"[{where}] {what} are no tensors, got {given!r}, expected a Tensor or a tuple of them")
    return found


def _called(where, fn, inputs, has_aux):
    """(results that are differentiated, whether there is one, other results)."""
    value = fn(*inputs)
    if not has_aux:
        return (value, False, ()) if isinstance(value, tuple) else ((value,), True, ())
    if not isinstance(value, tuple) or len(value) < 2:
        raise ValueError(f"[{where}] the function returns nothing besides what is differentiated, expected a tuple")
    return value[:1], True, value[1:]


def _product(results, factors):
    """The sum of the products of all elements."""
    total = None
    for one, factor in zip(results, factors):
        part = reduce_sum(mul(one, factor))
        total = part if total is None else add(total, cast(part, total.dtype))
    return total


def _require_alike(where, given, wanted):
    if [one.shape for one in given] != [one.shape for one in wanted]:
        raise ValueError(
            f"[{where}] the directions do not fit, got shapes {[one.shape for one in given]}, expected "
            f"{[one.shape for one in wanted]}"
        )


def _gradients(fn, count, args):
    """The gradients of the first inputs, as a tuple."""
    found = grad(fn, tuple(range(count)))(*args)
    return found if isinstance(found, tuple) else (found,)


def vjp(fn: Callable[..., object], *inputs: Tensor, weights: object | None = None, has_aux: bool = False) -> tuple:
    """(what fn(*inputs) gives, the function of directions of its results that gives the gradients of the inputs as a
    tuple). With `weights`, parameters, it gives (gradients of the inputs, of the parameters). With `has_aux` only the
    first result is differentiated, and the others come last."""
    inputs = _several("vjp", "inputs", inputs)
    results, is_single, others = _called("vjp", fn, inputs, has_aux)
    count = len(inputs)

    def along(*v):
        directions = _several("vjp", "directions", v[0] if len(v) == 1 else v)
        _require_alike("vjp", directions, results)

        def total(*args):
            return _product(_called("vjp", fn, args[:count], has_aux)[0], args[count:])

        if weights is None:
            return _gradients(total, count, (*inputs, *directions))
        return grad(total, tuple(range(count)), weights)(*inputs, *directions)

    value = results[0] if is_single else results
    if not has_aux:
        return value, along
    return value, along, others[0] if len(others) == 1 else others


def jvp(
    fn: Callable[..., object], inputs: Tensor | Sequence[Tensor], v: Tensor | Sequence[Tensor], has_aux: bool = False
) -> tuple:
    """(what fn(*inputs) gives, its derivatives along the directions `v` of the inputs), by two reverse passes. With
    `has_aux` only the first result is differentiated, and the others come last."""
    inputs, directions = _several("jvp", "inputs", inputs), _several("jvp", "v", v)
    _require_alike("jvp", directions, inputs)
    results, is_single, others = _called("jvp", fn, inputs, has_aux)
    made, count = len(results), len(inputs)

    def pulled(*args):
        factors, places, along = args[:made], args[made : made + count], args[made + count :]

        def total(*xs):
            return _product(_called("jvp", fn, xs[:count], has_aux)[0], xs[count:])

        return _product(_gradients(total, count, (*places, *factors)), along)

    found = _gradients(pulled, made, (*(ones_like(one) for one in results), *inputs, *directions))
    value, tangent = (results[0], found[0]) if is_single else (results, tuple(found))
    if not has_aux:
        return value, tangent
    return value, tangent, others[0] if len(others) == 1 else others


def linearize(fn: Callable[..., object], inputs: Tensor | Sequence[Tensor]) -> tuple[object, Callable[..., object]]:
    """(what fn(*inputs) gives, the function of directions of the inputs that gives its derivatives along them)."""
    given = _several("linearize", "inputs", inputs)
    return fn(*given), lambda *v: jvp(fn, given, v[0] if len(v) == 1 else v)[1]
