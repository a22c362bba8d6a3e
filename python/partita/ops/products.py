"""Products of Jacobians and vectors, by reverse passes."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.composite import grad
from partita.ops.creation import zeros_like


def _tensors(where, what, given):
    """A tensor, or a tuple or a list of them, as a tuple."""
    found = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    for one in found:
        if not isinstance(one, Tensor):
            raise TypeError(f"[{where}] {what} are not tensors, got {type(one).__name__}, expected Tensor")
    return found


def _checked(where, vectors, like):
    """The vectors, if there is one of the shape and the element type of each tensor of `like`."""
    found = _tensors(where, "vectors", vectors)
    if len(found) != len(like):
        raise ValueError(f"[{where}] wrong number of vectors, got {len(found)}, expected {len(like)}")
    for one, other in zip(found, like):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise ValueError(
                f"[{where}] a vector does not fit, got {one.dtype} {one.shape}, expected {other.dtype} {other.shape}"
            )
    return found


def _split(where, value, has_aux):
    """The results that are differentiated, as they came and as a tuple, and the others."""
    if not has_aux:
        return value, _tensors(where, "results", value), ()
    if not isinstance(value, tuple) or len(value) < 2:
        raise ValueError(
            f"[{where}] the function returns nothing besides what is differentiated, got {type(value).__name__} of "
            "has_aux=True, expected a tuple"
        )
    return value[0], _tensors(where, "results", value[0]), tuple(value[1:])


def _product(ones, others):
    """The sum of the products of all elements of two tuples of tensors; integers are left out."""
    total = None
    for one, other in zip(ones, others):
        if mstype.is_float(one.dtype):
            part = (one * other).sum()
            total = part if total is None else total + part
    return total


def _pulled(where, fn, inputs, vectors, weights, has_aux):
    """The gradients of the product of `fn` and the vectors, by all inputs and by the weights."""

    def weighted(*args):
        return _product(_split(where, fn(*args), has_aux)[1], vectors)

    found = grad(weighted, tuple(range(len(inputs))), weights)(*inputs)
    of_inputs, *of_weights = (found,) if weights is None else found
    of_inputs = of_inputs if isinstance(of_inputs, tuple) else (of_inputs,)
    return (of_inputs, *of_weights) if of_weights else of_inputs


def _others(others):
    return others[0] if len(others) == 1 else others


def vjp(fn, *inputs, weights=None, has_aux=False):
    """Returns the results of `fn`, and a function of vectors, one for each result, that gives the products of them and
    the Jacobian: a tuple with one for each input, and with `weights` those of the parameters after it. With `has_aux`
    only the first result is differentiated, and the others come third."""
    _tensors("vjp", "inputs", inputs)
    value, results, others = _split("vjp", fn(*inputs), has_aux)

    def gradients(*vectors):
        return _pulled("vjp", fn, inputs, _checked("vjp", vectors, results), weights, has_aux)

    return (value, gradients, _others(others)) if has_aux else (value, gradients)


def jvp(fn, inputs, v, has_aux=False):
    """Returns the results of `fn`, and the product of the Jacobian and `v`, which has a tensor for each input. With
    `has_aux` only the first result is differentiated, and the others come third. A product of vectors and the Jacobian
    is linear in the vectors, so its gradient by them is the result: two reverse passes."""
    inputs = _tensors("jvp", "inputs", inputs)
    v = _checked("jvp", v, inputs)
    value, results, others = _split("jvp", fn(*inputs), has_aux)

    def pulled(*vectors):
        return _product(_pulled("jvp", fn, inputs, vectors, None, has_aux), v)

    tangents = grad(pulled, tuple(range(len(results))))(*(zeros_like(one) for one in results))
    if isinstance(value, Tensor):
        tangents = tangents[0] if isinstance(tangents, tuple) else tangents
    return (value, tangents, _others(others)) if has_aux else (value, tangents)
