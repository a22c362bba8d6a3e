"""Gradients of functions: nodes that follow those of the function in one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from partita import _later, _trace
from partita._fresh import kept_for
from partita._program import Program
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops import creation
from partita.ops.named_gradients import with_ids


def _positions(grad_position):
    if grad_position is None:
        return None
    positions = list(grad_position) if isinstance(grad_position, (tuple, list)) else [grad_position]
    for one in positions:
        if not isinstance(one, int) or isinstance(one, bool) or one < 0:
            raise ValueError(f"[grad] bad grad_position, got {one!r}, expected integers from 0")
    if not positions:
        raise ValueError("[grad] no inputs, got grad_position=(), expected one position or more, or None")
    return positions


def _gradients(build, total, tensors):
    """d total / d each of the tensors."""
    return tuple(build.differentiate(total, tensors))


def own_inputs(build, args, places):
    """Returns the inputs by which a function is differentiated. In their places it gets others of the same values, so
    that hooks that it gives these stand between."""
    own = {i: build.own_input(args[i]) for i in places}
    for i, one in own.items():
        args[i] = build.own_input(one)
    return [own[i] for i in places]


def _differentiated(where, value, has_aux=False, sens=None):
    """Scalar that is differentiated: the sum of all results of the function, each times its `sens`; with `has_aux`, of
    the first result alone. Results of integers have no gradient and are left out. Raises TypeError or ValueError for
    results without a gradient, or `sens` that do not match them."""
    several = isinstance(value, (tuple, list))
    if has_aux and (not several or len(value) < 2):
        raise ValueError(
            f"[{where}] the function returns nothing besides the loss, got {type(value).__name__} of has_aux=True, "
            "expected a tuple of the loss and others"
        )
    outputs = list(value[:1] if has_aux else value) if several else [value]
    for one in outputs:
        if not isinstance(one, Tensor):
            raise TypeError(
                f"[{where}] the function does not return a tensor, got {type(one).__name__}, expected a loss, or a "
                "tuple of tensors; with has_aux=True only the first must be a loss"
            )
    factors = list(sens) if isinstance(sens, (tuple, list)) else [sens] * len(outputs)
    if len(factors) != len(outputs):
        raise ValueError(f"[{where}] wrong number of factors, got {len(factors)}, expected {len(outputs)}")
    total = None
    for one, factor in zip(outputs, factors):
        if not mstype.is_float(one.dtype):
            continue
        if isinstance(factor, Tensor) and factor.shape not in ((), one.shape):
            raise ValueError(f"[{where}] the factors have the wrong shape, got {factor.shape}, expected {one.shape}")
        scaled = one if factor is None else one * factor
        term = scaled.sum() if scaled.ndim > 0 else scaled
        total = term if total is None else total + term.astype(total.dtype)
    if total is None:
        raise TypeError(f"[{where}] nothing has a gradient, got {outputs[0].dtype}, expected floating-point numbers")
    return total


def _require_weights(where, weights):
    if weights is None:
        return None
    found = [weights] if isinstance(weights, Parameter) else list(weights)
    for one in found:
        if not isinstance(one, Parameter):
            raise TypeError(f"[{where}] a weight is not a parameter, got {type(one).__name__}, expected Parameter")
    return found


def _refuse(fn, sens_param):
    if not callable(fn):
        raise TypeError(f"[value_and_grad] not a function, got {type(fn).__name__}, expected a function or a cell")
    if sens_param:
        raise NotImplementedError(
            "[value_and_grad] factors of gradients cannot be inputs, got sens_param=True, expected False: see "
            "GradOperation"
        )


def value_and_grad(
    fn: Callable[..., object],
    grad_position: int | Sequence[int] | None = 0,
    weights: Parameter | Sequence[Parameter] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., tuple]:
    """A function that gives (what `fn` gives, gradients) with respect to inputs by their positions, to weights, or to
    both: (gradients of inputs, gradients of weights). The gradient of a single position is no tuple. Gradients have the
    shapes of what they are of, and are those of the sum of all that `fn` gives, with `has_aux` of the first alone.
    With `return_ids` each is a pair: the position or name of what it is of, and the gradient (see `get_grad`). Raises
    ValueError where there is nothing to differentiate by, TypeError for weights that are no parameters,
    NotImplementedError for `sens_param`."""
    _refuse(fn, sens_param)
    if return_ids:
        return _named(fn, grad_position, weights, has_aux)
    positions, parameters = _positions(grad_position), _require_weights("value_and_grad", weights)
    if positions is None and parameters is None:
        raise ValueError(
            "[value_and_grad] nothing to differentiate by, got grad_position=None and weights=None, expected one"
        )

    def both(*args, **kwargs):
        build = _trace.current()
        args = list(args)
        for position in positions or []:
            if position >= len(args) or not isinstance(args[position], Tensor):
                raise ValueError(
                    f"[value_and_grad] input out of range, got position {position} of {len(args)} inputs, expected a "
                    "tensor"
                )
        inputs = own_inputs(build, args, positions or [])
        made = None if inputs or kwargs else build.take_call(fn, args)
        with build.own_parameters(parameters or ()):
            value = fn(*args, **kwargs) if made is None else made
            total = _differentiated("value_and_grad", value, has_aux)
            found = _gradients(build, total, inputs + (parameters or []))
        of_inputs, of_weights = found[: len(inputs)], found[len(inputs) :]
        if positions is not None and len(positions) == 1:
            of_inputs = of_inputs[0]
        if isinstance(weights, Parameter):
            of_weights = of_weights[0]
        if parameters is None:
            return value, of_inputs
        return value, (of_weights if positions is None else (of_inputs, of_weights))

    key = "value_and_grad", tuple(positions or ()), positions is None, _ids(weights, parameters), has_aux
    program = program_of(fn, key, both)
    if positions is not None or not hasattr(type(fn), "take_gradients"):
        return program

    def call(*args, **kwargs):
        """Differentiates the last call of the cell, if it had these arguments."""
        made = None if kwargs or _trace.current() is not None else fn.take_gradients(args, parameters)
        if made is None:
            return program(*args, **kwargs)
        return made[0], made[1][0] if isinstance(weights, Parameter) else made[1]

    return call


def _named(fn, grad_position, weights, has_aux):
    """`value_and_grad` whose gradients are pairs of what they are of, and of themselves."""
    weights = weights if isinstance(weights, Parameter) else _require_weights("value_and_grad", weights)
    function = value_and_grad(fn, grad_position, weights, has_aux)

    def named(*args, **kwargs):
        value, found = function(*args, **kwargs)
        return value, with_ids(found, _positions(grad_position), weights)

    return named


def _ids(weights, parameters):
    """Weights, and the list of them, as a part of a key."""
    ids = None if parameters is None else tuple(id(one) for one in parameters)
    return isinstance(weights, Parameter), ids


def program_of(fn, key, function):
    """The program of a function that is made of `fn` as `key` says. A cell keeps it. Programs of functions are shared
    by those of the same code, so that they are compiled once if functions are made anew in every step. `function` holds
    the parameters whose identities are in the key."""
    if hasattr(type(fn), "take_gradients"):
        return fn._program(key, lambda: Program(function))
    return Program(function, kept=kept_for(fn, key))


def grad(
    fn: Callable[..., object],
    grad_position: int | Sequence[int] | None = 0,
    weights: Parameter | Sequence[Parameter] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[..., object]:
    """A function that gives the gradients alone, in the shapes of what they are of, and with `has_aux` what else `fn`
    gives. See `value_and_grad`, whose arguments and errors are these: it raises ValueError where there is nothing to
    differentiate by, and TypeError for weights that are no parameters."""
    parameters = _require_weights("grad", weights)
    weights = weights if isinstance(weights, Parameter) else parameters
    inner = value_and_grad(fn, grad_position, weights, has_aux)

    def gradients(*args, **kwargs):
        value, found = inner(*args, **kwargs)
        return (found, tuple(value[1:])) if has_aux else found

    program = Program(gradients, kept=kept_for(fn, ("grad", repr(grad_position), _ids(weights, parameters), has_aux)))
    if not return_ids:
        return program

    def named(*args, **kwargs):
        made = program(*args, **kwargs)
        found = with_ids(made[0] if has_aux else made, _positions(grad_position), weights)
        return (found, made[1]) if has_aux else found

    return named


class GradOperation:
    """Makes the function of the gradients: of the first input, of all inputs, or of the parameters of a list, in the
    shapes of what they are of. With `sens_param` the last argument is the factor of the results, in their shape. Raises
    TypeError for options that are no bools, ValueError where there is nothing to differentiate by."""

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False) -> None:
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise TypeError(f"[GradOperation] {name} is not a bool, got {value!r}, expected True or False")
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn, weights=None):
        parameters = _require_weights("GradOperation", weights)
        if self.get_by_list and parameters is None:
            parameters = fn.trainable_params() if hasattr(type(fn), "trainable_params") else None
            if parameters is None:
                raise ValueError("[GradOperation] no parameters, got get_by_list=True without weights, expected some")

        def gradients(*args):
            build = _trace.current()
            args, sens = (args[:-1], args[-1]) if self.sens_param else (args, None)
            args, places = list(args), [i for i, one in enumerate(args) if isinstance(one, Tensor)]
            if not places and not self.get_by_list:
                raise ValueError("[GradOperation] nothing to differentiate by, got no tensors, expected an input")
            places = places if self.get_all else [] if self.get_by_list else places[:1]
            inputs = own_inputs(build, args, places)
            wanted = parameters if self.get_by_list else []
            made = None if inputs else build.take_call(fn, args)
            with build.own_parameters(wanted):
                total = _differentiated("GradOperation", fn(*args) if made is None else made, sens=sens)
                found = _gradients(build, total, inputs + wanted)
            of_inputs, of_weights = found[: len(inputs)], found[len(inputs) :]
            if self.get_by_list:
                _accumulate(fn, parameters, of_weights)
                return (of_inputs, of_weights) if self.get_all else of_weights
            return of_inputs if self.get_all else of_inputs[0]

        key = "GradOperation", self.get_all, self.get_by_list, self.sens_param, _ids(weights, parameters)
        program = program_of(fn, key, gradients)
        if self.get_all or not self.get_by_list or not hasattr(type(fn), "take_gradients"):
            return program
        if _accumulates(fn, parameters):
            return program

        def call(*args):
            """Differentiates the last call of the cell, if it had these arguments."""
            if _trace.current() is not None:
                return program(*args)
            inputs, sens = (args[:-1], args[-1]) if self.sens_param else (args, None)
            made = fn.take_gradients(inputs, parameters)
            return program(*args) if made is None else _times(made[1], sens)

        return call


def _accumulates(fn, parameters):
    """Whether gradients of a function by parameters are added to their accumulators: it is a cell that divides its
    batches, and clones of the parameters were made for this."""
    if all([one.accumulator is None for one in parameters]) or not hasattr(type(fn), "cells_and_names"):
        return False
    return any(getattr(inner, "divides_batches", False) for _, inner in fn.cells_and_names())


def _accumulate(fn, parameters, gradients):
    """Adds gradients of a cell that divides its batches to the accumulators of the parameters, as its documented
    program does."""
    if not _accumulates(fn, parameters):
        return
    for one, gradient in zip(parameters, gradients):
        if one.accumulator is not None:
            one.accumulator.set_data(one.accumulator + gradient.astype(one.accumulator.dtype))


def _times(gradients, sens):
    """Gradients times the factor of the loss, a tensor of one element, a number, or None."""
    if sens is None:
        return gradients
    factor = sens.asnumpy().reshape(()).item() if isinstance(sens, Tensor) else float(sens)
    return gradients if factor == 1 else tuple(one * factor for one in gradients)


def ones_like(x):
    """Returns ones in the shape and the type of a tensor, the number 1 for an integer, True for a bool, None for None;
    for a tuple or a list, which may have others within, a tuple of these of each element. Raises TypeError for what
    has none."""
    if isinstance(x, (tuple, list)):
        return tuple(ones_like(one) for one in x)
    if x is None or isinstance(x, int):
        return None if x is None else type(x)(1)
    if not isinstance(x, Tensor):
        raise TypeError(f"[ones_like] no ones of this type, got {type(x).__name__}, expected tensors or integers")
    return creation.ones_like(x)


_OTHERS = (
    "batch_dot count_nonzero cummin dot gamma laplace matmul mm normal poisson repeat_elements repeat_interleave"
    " sequence_mask tensor_dot uniform vecdot zeros_like"
)
_PLACES = {"multitype_ops": "partita.ops.multitype_ops", **dict.fromkeys(_OTHERS.split(), "partita.ops.functional")}
__getattr__, __dir__ = _later.names_later(globals(), _PLACES)
