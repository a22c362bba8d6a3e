"""Errors of cells that say what to use."""

import inspect

import numpy as np

from partita._hints import of_name
from partita.common.tensor import Tensor

PLAIN = frozenset(
    (int, float, complex, bool, str, bytes, type(None), list, tuple, dict, set, np.ndarray, *np.sctypeDict.values())
)  # classes of inputs that are no tensors
_OF_NN = (
    "activations channels convolution_base layer layers_of_parts lines loss made other_losses pools recurrent "
    "small_layers transposed usual_activations volumes"
)
_LAYERS = frozenset(
    (
        *(f"partita.nn.{one}" for one in _OF_NN.split()),
        *(f"partita.mint.nn{one}" for one in ("", ".convolutions", ".norms", ".of_functions", ".padding")),
    )
)  # modules whose cells compute with tensors
_OF_ANYTHING = frozenset(("Identity", "Dropout", "_Dropout", "Dropout2d"))  # cells that may return an input as it is


def no_attribute(cell, name):
    """The error for an attribute that is not there."""
    instead = of_name(cell._hinted, name)
    here = f": here it is {instead}" if instead else ""
    return AttributeError(f"'{type(cell).__name__}' object has no attribute '{name}'{here}")


def refuse_construct(cell):
    """Raises AttributeError for a cell that says nothing about what it computes."""
    forward = " and a method forward" if hasattr(type(cell), "forward") else ""
    raise AttributeError(
        f"[Cell] {type(cell).__name__} has no construct, got a call{forward}, expected a method construct(self, ..) "
        "that says what is computed"
    )


def require_tensors(cell, args, error):
    """Raises TypeError if an attribute that was not there is one of an input that is no tensor: such as a list."""
    for i, one in enumerate(args):
        if one is error.obj and not isinstance(one, Tensor) and not hasattr(one, "construct"):
            raise TypeError(
                f"[{type(cell).__name__}] input {i} is not a tensor, got {type(one).__name__} without '{error.name}', "
                "expected a Tensor, such as Tensor(x)"
            ) from error


def require_plain_allowed(cell, args):
    """Raises TypeError if one of the first two inputs of a layer of the library is a number, a list or the like, in
    place of a tensor. What a subclass of a script computes may take them, and so may the inputs after the first of
    layers other than losses."""
    construct = type(cell).construct
    if construct.__module__ not in _LAYERS or construct.__qualname__.split(".")[0] in _OF_ANYTHING:
        return
    is_loss = any(one.__name__.endswith("Loss") for one in type(cell).__mro__)
    for i, one in enumerate(args[: 2 if is_loss else 1]):
        if one.__class__ in PLAIN:
            raise TypeError(
                f"[{type(cell).__name__}] input {i} is not a tensor, got {type(one).__name__}, expected a Tensor, such "
                "as Tensor(x)"
            )


def inputs_before(function, options):
    """How many parameters of a function stand before those that are options of its layer; None if it takes any
    number."""
    parameters = list(inspect.signature(function).parameters.values())
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        return None
    return next((i for i, one in enumerate(parameters) if one.name in options), len(parameters))


def require_few(cell, inputs, most):
    """Raises TypeError for more inputs than a layer takes."""
    if most is not None and len(inputs) > most:
        raise TypeError(f"[{type(cell).__name__}] too many inputs, got {len(inputs)}, expected {most} at most")
