"""Gradients with the positions or names of what they are of."""

from __future__ import annotations

import numbers

from partita._names import refuse_missing
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor


def with_ids(found, positions, weights):
    """Gradients of `value_and_grad` as (position or name, gradient), in the nesting that they have there.

    `positions`: those of the inputs, None where there are none. `weights`: a Parameter, a list of them, or None."""
    if weights is None:
        return _of_inputs(found, positions)
    of_inputs, of_weights = (None, found) if positions is None else found
    if isinstance(weights, Parameter):
        named = weights.name, of_weights
    else:
        named = tuple((one.name, value) for one, value in zip(weights, of_weights))
    return named if positions is None else (_of_inputs(of_inputs, positions), named)


def _of_inputs(found, positions):
    return (positions[0], found) if len(positions) == 1 else tuple(zip(positions, found))


def get_grad(gradients: tuple, identifier: int | Parameter) -> Tensor:
    """Returns the gradient of one input or parameter, of what `grad` gives with `return_ids=True`: `identifier` is the
    position of the input, or the parameter. Raises TypeError for other identifiers, RuntimeError where the gradients
    have none of it.

    >>> x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])
    >>> ops.get_grad(ops.grad(lambda a, b: a * b, (0, 1), return_ids=True)(x, y), 1).asnumpy().tolist()
    [1.0, 2.0]
    """
    if isinstance(identifier, bool) or not isinstance(identifier, (numbers.Integral, Parameter)):
        raise TypeError(
            f"[get_grad] not an identifier, got {type(identifier).__name__}, expected a position or a Parameter"
        )
    wanted = identifier.name if isinstance(identifier, Parameter) else int(identifier)
    known = {}
    _collect(gradients, known)
    if wanted not in known:
        raise RuntimeError(f"[get_grad] no gradient of it, got {wanted!r}, expected one of {list(known)}")
    return known[wanted]


def _collect(gradients, known):
    """Fills {position or name: gradient} from nested pairs. Raises TypeError for gradients without identifiers."""
    if not isinstance(gradients, (tuple, list)):
        raise TypeError(
            f"[get_grad] gradients without identifiers, got {type(gradients).__name__}, expected the result of "
            "grad(.., return_ids=True)"
        )
    if len(gradients) == 2 and isinstance(gradients[0], (int, str)):
        known[gradients[0]] = gradients[1]
        return
    for one in gradients:
        _collect(one, known)


__getattr__ = refuse_missing(globals())
